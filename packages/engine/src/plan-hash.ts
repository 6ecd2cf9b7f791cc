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

/** Very many units of one plan use the same: what they use is a hash of its own, made once for as long as it is the same. */
function hashUnits(hasher: Hasher, units: readonly PlanUnit[]): void {
  let last: Uses | null = null;
  let [a, b] = [0, 0];
  for (let i = 0; i < units.length; i++) {
    const unit = units[i]!;
    hashUnit(hasher, unit);
    if (unit.kind === 'release') continue;
    const { uses } = unit.kind === 'start' ? unit : unit.claim;
    if (uses !== last) {
      const own = new Hasher();
      hashUses(own, uses);
      [a, b] = own.lanes();
      last = uses;
    }
    hasher.number(a).number(b);
  }
}

export function planHash(plan: Omit<Plan, 'hash'>): string {
  const hasher = new Hasher().number(plan.sequence).number(plan.nowMs).number(plan.policyVersion);
  hasher.text(plan.engineVersion).optional(plan.wakeAtMs).number(plan.units.length);
  hashUnits(hasher, plan.units);
  for (const { entry, verdict } of plan.verdicts) hasher.text(entry).text(JSON.stringify(verdict));
  return hasher.digest();
}
