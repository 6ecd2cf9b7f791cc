// Weighted dominant share: the largest part that a project uses of any kind of resource, now and in the past, divided by
// its weight. In millionths of the healthy capacity, whole numbers.
import { none, type Project, type Projects } from './projects.ts';
import type { Ask } from './resource-keys.ts';

/** Of the whole subtree, or of the project's own runs when they stand beside its children. */
export function shareOf(projects: Projects, project: Project, own: boolean): number {
  const { healthy, counted } = projects;
  const use = own ? project.ownUse : project.use;
  const past = own ? project.ownPast : project.past;
  let dominant = 0;
  for (let i = 0; i < counted.length; i++) {
    const key = counted[i]!;
    const amount = (use[key] ?? 0) + (own ? (project.ownKept[key] ?? 0) : 0) + (past[key] ?? 0);
    const share = millionths(amount, healthy[key]!);
    if (share > dominant) dominant = share;
  }
  return own ? dominant : Math.floor((dominant * 1000) / project.weightMilli);
}

const exactBelow = 9_000_000_000;

/** `amount / capacity` in millionths, rounded down; exact for all amounts, because long division keeps within 2^53. */
export function millionths(amount: number, capacity: number): number {
  if (amount < exactBelow) return Math.floor((amount * 1_000_000) / capacity);
  const whole = Math.floor(amount / capacity);
  const rest = (amount % capacity) * 1000;
  const thousandths = Math.floor(rest / capacity);
  return (whole * 1000 + thousandths) * 1000 + Math.floor(((rest % capacity) * 1000) / capacity);
}

/** Whether the project stays within its guarantee with this: every key asked for that has one, and at least one has. */
export function staysWithin(project: Project, { keys, amounts }: Ask): boolean {
  let any = false;
  for (let i = 0; i < keys.length; i++) {
    const guaranteed = project.guaranteed[keys[i]!] ?? none;
    if (guaranteed === none) continue;
    if ((project.use[keys[i]!] ?? 0) + amounts[i]! > guaranteed) return false;
    any = true;
  }
  return any;
}
