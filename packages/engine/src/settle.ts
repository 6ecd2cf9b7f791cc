// The units that claims make: those that are had start, those that are lost are given up, new ones stop their victims.
import { type JobId, type NodeGenerations, type PlanUnit, runId, type TaskPlacement } from '@muster/model';
import { type HeldClaim, isStuck, whyLost } from './claims.ts';
import { place } from './fit.ts';
import { type Placement, undo } from './ledger.ts';
import { compareText } from './order.ts';
import type { Preemptions } from './preempt.ts';
import { matchShape } from './shape.ts';
import type { State } from './state.ts';

/** In the order of job ids. Nothing here can get in another's way: claimed places are nobody else's. */
export function settleClaims(state: State): PlanUnit[] {
  const units: PlanUnit[] = [];
  const { unsettled } = state.claims;
  for (const held of unsettled) {
    const unit = settle(state, held);
    if (unit) units.push(unit);
    else if (!isStuck(state.fleets.live, held)) unsettled.delete(held);
  }
  return units.sort((a, b) => compareText(a.job, b.job));
}

/**
 * Claims that wait for a node that does not answer, and whose jobs would have a place in the room that this plan leaves: they are
 * given up, and the jobs start there in the next. Asked at the end of a walk, in the order of job ids; each takes its room in turn.
 */
export function releaseStuck(state: State): PlanUnit[] {
  const { live } = state.fleets;
  const stuck = [...state.claims.unsettled].filter((held) => isStuck(live, held));
  const placements: Placement[] = [];
  const units: PlanUnit[] = [];
  for (const { job: id } of stuck.sort((a, b) => compareText(a.job, b.job))) {
    const job = state.jobs.slotOf(id);
    const { shape } = state.queue.entryOf(job).lane;
    matchShape(shape, live.classes);
    const placement = place(live, shape, state.jobs.avoid(job));
    if (!placement) continue;
    placements.push(placement);
    units.push({ kind: 'release', ...baseOf(state, job, id), reason: roomElsewhere });
  }
  for (const placement of placements.reverse()) undo(live, placement);
  return units;
}

const roomElsewhere = {
  code: 'claim-lost',
  message: 'a node does not answer, and there is room elsewhere',
} as const;

function settle(state: State, held: HeldClaim): PlanUnit | null {
  const base = baseOf(state, state.jobs.slotOf(held.job), held.job);
  const reason = whyLost(state.fleets.live, held);
  if (reason) return { kind: 'release', ...base, reason };
  if (held.victimsLeft > 0) return null;
  const { exclusive, tasks, port, uses } = held.claim;
  return {
    kind: 'start',
    ...base,
    exclusive,
    tasks,
    port,
    uses,
    nodeGenerations: generationsOf(state, tasks),
  };
}

export function preemptUnits(state: State, { claims }: Preemptions): PlanUnit[] {
  return claims.map(({ job, id, claim }) => ({
    kind: 'preempt',
    ...baseOf(state, job, id),
    claim,
    nodeGenerations: generationsOf(state, claim.tasks),
  }));
}

/** A member that never started is decided on as its array stands. */
function baseOf({ jobs }: State, job: number, id: JobId) {
  const attempt = jobs.attempt[job]!;
  return { job: id, jobVersion: jobs.version[job]!, run: runId(id, attempt), attempt };
}

function generationsOf({ fleets }: State, tasks: readonly TaskPlacement[]): NodeGenerations {
  const { live } = fleets;
  const nodes = [...new Set(tasks.map((task) => task.node))].sort(compareText);
  return nodes.map((node) => [node, live.facts[live.slotOf(node)]!.generation] as const);
}
