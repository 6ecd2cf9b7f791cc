// Weighted dominant share: the largest part that a project uses of any kind of resource, now and in the past, divided by
// its weight. In millionths of the healthy capacity, whole numbers.
import { none, type ProjectAmounts } from './project-amounts.ts';
import type { Projects } from './projects.ts';
import type { Ask } from './resource-keys.ts';

/** Of the whole subtree, or of the project's own runs when they stand beside its children. */
export function shareOf({ counted, amounts }: Projects, project: number, own: boolean): number {
  const { keys, healthy } = counted;
  const { ownKept } = amounts;
  const use = own ? amounts.ownUse : amounts.use;
  const past = own ? amounts.ownPast : amounts.past;
  const row = project * amounts.width;
  let dominant = 0;
  for (let i = 0; i < keys.length; i++) {
    const at = row + keys[i]!;
    const amount = use[at]! + past[at]! + (own ? ownKept[at]! : 0);
    const share = millionths(amount, healthy[i]!);
    if (share > dominant) dominant = share;
  }
  return own ? dominant : Math.floor((dominant * 1000) / amounts.weightMilli[project]!);
}

const exactBelow = 9_000_000_000;

/** `amount / capacity` in millionths, rounded down; exact for all amounts, because long division keeps within 2^53. */
export function millionths(amount: number, capacity: number): number {
  return amount < exactBelow ? Math.floor((amount * 1_000_000) / capacity) : byDivision(amount, capacity);
}

function byDivision(amount: number, capacity: number): number {
  const whole = Math.floor(amount / capacity);
  const rest = (amount % capacity) * 1000;
  const thousandths = Math.floor(rest / capacity);
  return (whole * 1000 + thousandths) * 1000 + Math.floor(((rest % capacity) * 1000) / capacity);
}

/** Whether the project stays within its guarantee with this: every key asked for that has one, and at least one has. */
export function staysWithin(all: ProjectAmounts, project: number, { keys, amounts }: Ask): boolean {
  const { guaranteed, use } = all;
  const row = project * all.width;
  let any = false;
  for (let i = 0; i < keys.length; i++) {
    const at = row + keys[i]!;
    if (guaranteed[at] === none) continue;
    if (use[at]! + amounts[i]! > guaranteed[at]!) return false;
    any = true;
  }
  return any;
}
