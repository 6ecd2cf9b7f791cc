// How fast room is taken back: by a project for what it is guaranteed, and by a tier that may preempt another.
import type { Plan } from '@muster/model';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { bareVictims } from './bare.ts';
import type { FedEngine } from './fed-engine.ts';
import { fleetNodes } from './place-rows.ts';
import { medianMs } from './timing.ts';
import { filledWorld, fullPolicy, gpuDemand, gpusOnNode, quota } from './worlds.ts';

export class NotBuilt extends Error {
  override readonly name = 'NotBuilt';
}

const reclaimNodes = 500;
const reclaimJobs = reclaimNodes * gpusOnNode;

/** Full of one-GPU jobs of a project that borrows everything. */
function borrowedWorld(): FedEngine {
  const policy = fullPolicy(reclaimNodes, [quota('owner', reclaimJobs), quota('guest', 0)]);
  return filledWorld(reclaimNodes, policy, { project: 'guest', gpus: [1] });
}

function preempting(plan: Plan): number {
  return plan.units.filter((unit) => unit.kind === 'preempt').length;
}

/** Cycles until the owner runs: victims are chosen, end, and their places are taken. */
function reclaimAll(fed: FedEngine): void {
  let started = 0;
  for (let cycles = 0; started < reclaimJobs; cycles++) {
    if (cycles > 100) throw new Error(`after 100 cycles ${started} of ${reclaimJobs} jobs run`);
    const plan = fed.decide();
    if (cycles === 0 && preempting(plan) === 0) throw new NotBuilt('nothing was reclaimed');
    started += plan.units.filter((unit) => unit.kind === 'start').length;
    fed.commit(plan);
    fed.endVictims(plan);
  }
}

function bareVictimsMs(runs: number, count: number): number {
  const damage = Float64Array.from({ length: runs }, (_, i) => (i * 7919) % runs);
  return medianMs({
    prepare: () => damage,
    run: (all) => void bareVictims(all, count),
    repetitions: 9,
    warmUps: 3,
  });
}

export function reclaimRow({ quick }: BenchOptions): ToldRow {
  const ms = medianMs({
    prepare: () => {
      const fed = borrowedWorld();
      for (let i = 0; i < reclaimJobs; i++) fed.submit({ project: 'owner', demand: gpuDemand(1) });
      return fed;
    },
    run: reclaimAll,
    repetitions: quick ? 1 : 3,
  });
  return row({
    name: 'reclaim_s',
    value: ms / 1000,
    unit: 's',
    reference: ['a bare sort of all running by damage', bareVictimsMs(reclaimJobs, reclaimJobs) / 1000],
    about: `${reclaimJobs} one-GPU jobs of a project within its guarantee replace ${reclaimJobs} that borrow, on ${reclaimNodes} x ${gpusOnNode}: all cycles and events`,
    aim: '< 0.5 s (best published 59 s)',
  });
}

export function reclaimGangRow({ quick }: BenchOptions): ToldRow {
  const fed = borrowedWorld();
  const ms = planMs(fed, { project: 'owner', tasks: 50, tier: 'standard' }, quick ? 3 : 9);
  return row({
    name: 'reclaim_gang_ms',
    value: ms,
    unit: 'ms',
    reference: ['one pass over the damage of all running, cheapest kept', bareVictimsMs(reclaimJobs, 400)],
    about: `The plan by which a gang of 50 x ${gpusOnNode} GPUs reclaims on ${reclaimNodes} x ${gpusOnNode} full of one-GPU jobs`,
    aim: '< 50 ms (the best peer takes 28.8 s)',
  });
}

export function preemptRow({ quick }: BenchOptions): ToldRow {
  const policy = fullPolicy(fleetNodes, []);
  const fed = filledWorld(fleetNodes, policy, { project: 'low', tier: 'spot', gpus: [1, 1, 2, 4, 8] });
  const ms = planMs(fed, { project: 'high', tasks: 128, tier: 'critical' }, quick ? 3 : 9);
  return row({
    name: 'preempt_1024_ms',
    value: ms,
    unit: 'ms',
    reference: [
      'one pass over the damage of all running, cheapest kept',
      bareVictimsMs(fed.started.size, 1024),
    ],
    about: `The plan by which a gang of 128 x ${gpusOnNode} GPUs preempts in a full ${fleetNodes} x ${gpusOnNode}`,
    aim: '< 100 ms',
  });
}

function planMs(
  fed: FedEngine,
  { project, tasks, tier }: { readonly project: string; readonly tasks: number; readonly tier: string },
  repetitions: number,
): number {
  return medianMs({
    prepare: () => fed.submit({ project, tier, demand: gpuDemand(gpusOnNode, tasks) }),
    run: (job) => {
      const plan = fed.decide();
      if (preempting(plan) === 0) throw new NotBuilt('nothing was preempted');
      fed.cancel(job);
    },
    repetitions,
    warmUps: 2,
  });
}
