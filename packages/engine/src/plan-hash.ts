// The hash of a plan: everything it says, byte for byte, so that a replay can tell whether it decided the same.
import type { Plan, PlanUnit, Uses } from '@muster/model';
import { Hasher } from './hash.ts';
import { hashTasks, hashUses } from './state-hash.ts';

/** Its nodes are in its tasks; their generations are hashed beside them, in the order of their ids. */
function hashUnit(hasher: Hasher, unit: PlanUnit): void {
  hasher.text(unit.kind).text(unit.job).number(unit.attempt).number(unit.jobVersion);
  if (unit.kind === 'release') {
    hasher.text(unit.reason.code);
    return;
  }
  if (unit.kind === 'start') hashTasks(hasher, unit);
  else {
    hashTasks(hasher, unit.claim);
    for (const { run, right } of unit.claim.victims) hasher.text(run).text(right);
  }
  const { nodeGenerations } = unit;
  hasher.number(nodeGenerations.length);
  for (let i = 0; i < nodeGenerations.length; i++) hasher.number(nodeGenerations[i]![1]);
}

export type PlanHead = Pick<Plan, 'sequence' | 'nowMs' | 'policyVersion' | 'engineVersion' | 'wakeAtMs'>;

/** Takes a plan piece by piece, in its order: what it says of itself and how many units it has, the units, the verdicts. */
export class PlanHasher {
  readonly #hasher: Hasher;
  /** What the last unit uses, and its hash. */
  #uses: Uses | null = null;
  #a = 0;
  #b = 0;

  constructor({ sequence, nowMs, policyVersion, engineVersion, wakeAtMs }: PlanHead, units: number) {
    this.#hasher = new Hasher().number(sequence).number(nowMs).number(policyVersion);
    this.#hasher.text(engineVersion).optional(wakeAtMs).number(units);
  }

  /** Very many units of one plan use the same: what they use is a hash of its own, made once for as long as it is the same. */
  unit(unit: PlanUnit): void {
    hashUnit(this.#hasher, unit);
    if (unit.kind === 'release') return;
    const { uses } = unit.kind === 'start' ? unit : unit.claim;
    if (uses !== this.#uses) this.#hashUses(uses);
    this.#hasher.number(this.#a).number(this.#b);
  }

  #hashUses(uses: Uses): void {
    const own = new Hasher();
    hashUses(own, uses);
    [this.#a, this.#b] = own.lanes();
    this.#uses = uses;
  }

  digest(verdicts: Plan['verdicts']): string {
    for (const { entry, verdict } of verdicts) this.#hasher.text(entry).text(JSON.stringify(verdict));
    return this.#hasher.digest();
  }
}

export function planHash(plan: Omit<Plan, 'hash'>): string {
  const hasher = new PlanHasher(plan, plan.units.length);
  for (const unit of plan.units) hasher.unit(unit);
  return hasher.digest(plan.verdicts);
}
