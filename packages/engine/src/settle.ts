// The units that claims make: those that are had start, those that are lost are given up, new ones stop their victims.
import { type JobId, type NodeGenerations, type PlanUnit, runId, type TaskPlacement } from '@muster/model';
import { type HeldClaim, whyLost } from './claims.ts';
import { compareText } from './order.ts';
import type { Preemptions } from './preempt.ts';
import type { State } from './state.ts';

/** In the order of job ids. Nothing here can get in another's way: claimed places are nobody else's. */
export function settleClaims(state: State): PlanUnit[] {
  const units: PlanUnit[] = [];
  const { unsettled } = state.claims;
  for (const held of unsettled) {
    const unit = settle(state, held);
    if (unit) units.push(unit);
    else unsettled.delete(held);
  }
  return units.sort((a, b) => compareText(a.job, b.job));
}

function settle(state: State, held: HeldClaim): PlanUnit | null {
  const base = baseOf(state, held.job);
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
  return claims.map(({ job, claim }) => ({
    kind: 'preempt',
    ...baseOf(state, state.jobs.ids[job]!),
    claim,
    nodeGenerations: generationsOf(state, claim.tasks),
  }));
}

function baseOf({ jobs }: State, id: JobId) {
  const job = jobs.slotOf(id);
  const attempt = jobs.attempt[job]!;
  return { job: id, jobVersion: jobs.version[job]!, run: runId(id, attempt), attempt };
}

function generationsOf({ fleets }: State, tasks: readonly TaskPlacement[]): NodeGenerations {
  const { live } = fleets;
  const nodes = [...new Set(tasks.map((task) => task.node))].sort(compareText);
  return nodes.map((node) => [node, live.facts[live.slotOf(node)]!.generation] as const);
}
