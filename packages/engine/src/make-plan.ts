// One cycle's decision, in this order:
//   1. Jobs whose backoff ended join their lines; shapes that a change could have helped are opened again.
//   2. Walk the open part of the queue in order and place what fits and is within its ceilings (pass.ts), then undo it:
//      nothing is decided until the committed plan comes back as events.
//   3. For each shape of which a job did not fit, find out why on the state as it is. If it fits that state, jobs ahead
//      took the room in this plan: it is `behind`, and stays open to be judged again when the plan has come back.
//      Otherwise it is blocked with its reason, and costs nothing until something could help it. This is sound because
//      fitting is monotone for one group: what does not fit does not fit into less. Gangs of several groups, and those that
//      ask for places of the topology, are placed greedily and are not; they are tried again in every cycle that tries
//      anything.
//      A lane that is over a ceiling is gated likewise, until use goes down or the ceiling goes up.
//      An entry for which there is only room that is kept for another job (reservations.ts) waits until anything happens.
//   4. Tell each entry whose binding reason is another than it was last told.
import type { Plan } from '@muster/model';
import { bringUp, lookedAgain, noteUnserved } from './bring-up.ts';
import { gateOver, judge } from './judge.ts';
import { undoPass, walk } from './pass.ts';
import { PlanHasher } from './plan-hash.ts';
import { startUnits } from './plan-units.ts';
import { preemptUnits, releaseStuck, settleClaims } from './settle.ts';
import { limitOf, type State } from './state.ts';
import { tell } from './tell.ts';
import { engineVersion } from './version.ts';
import { never } from './victims.ts';

export function decide(state: State, nowMs: number): Plan {
  bringUp(state, nowMs);
  lookedAgain(state);
  const settled = settleClaims(state);
  const looked = state.queue.open.size > 0;
  const pass = walk(state, null, { remembers: true });
  if (looked) state.keeps = pass.kept.size > 0;
  const claimed = preemptUnits(state, pass.preemptions);
  const released = releaseStuck(state);
  state.againMs = Math.min(state.againMs, pass.preemptions.againMs);
  const head = {
    sequence: state.sequence,
    // A question may have asked about a later time; jobs that were due then are due now.
    nowMs: state.clockMs,
    policyVersion: state.policyVersion,
    engineVersion,
    wakeAtMs: wakeAt(state),
  };
  const count = settled.length + pass.placed.length + claimed.length + released.length;
  const hasher = new PlanHasher(head, count);
  const units = settled;
  for (const unit of settled) hasher.unit(unit);
  startUnits(state, pass.placed, hasher, units);
  for (const unit of [...claimed, ...released]) {
    hasher.unit(unit);
    units.push(unit);
  }
  undoPass(state, pass);
  state.vain.until(pass.preemptions.againMs);
  for (const entry of pass.preemptions.wanting) state.wanting.add(entry);
  for (const { project, key } of pass.preemptions.limits()) state.limits.add(limitOf(project, key));
  state.claiming = pass.preemptions.claims.length > 0;
  noteUnserved(state, pass);
  const judged = judge(state, pass);
  gateOver(state, pass, judged);
  state.looking = state.wanting.size + state.vain.size + state.queue.gated > 0;
  const verdicts = tell(state, pass, judged);
  const { wakeAtMs, ...rest } = head;
  return { ...rest, units, verdicts, wakeAtMs, hash: hasher.digest(verdicts) };
}

/**
 * When a backoff ends, a job starves or a deadline presses. The latter two only change the order, so that a second more or
 * less does not matter and thousands of jobs do not wake anybody thousands of times.
 */
function wakeAt({ queue, jobs, ends, keeps, againMs }: State): number | null {
  const { delayed, starving, pressing } = queue;
  let wakeAtMs = againMs;
  if (delayed.size > 0) wakeAtMs = Math.min(wakeAtMs, jobs.notBeforeMs[delayed.at(0)]!);
  if (starving.size > 0) wakeAtMs = Math.min(wakeAtMs, nextSecond(queue.starvesAtMs(starving.at(0))));
  if (pressing.size > 0)
    wakeAtMs = Math.min(wakeAtMs, nextSecond(queue.entries[pressing.at(0)]!.latestStartMs));
  // A run that does not end when it was expected to moves the start that rests on it.
  if (keeps && ends.order.size > 0) wakeAtMs = Math.min(wakeAtMs, nextSecond(ends.firstMs()!));
  return wakeAtMs === never ? null : wakeAtMs;
}

function nextSecond(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}
