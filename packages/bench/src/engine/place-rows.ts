// How fast tasks and gangs find a place on an empty fleet.
import type { JobId, Plan } from '@muster/model';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { bareGang, barePlan } from './bare.ts';
import { FedEngine } from './fed-engine.ts';
import { type Measured, medianMs, medianOfManyMs } from './timing.ts';
import {
  emptyWorld,
  fleetOf,
  fullPolicy,
  gpuDemand,
  gpusOnNode,
  nowMs,
  oneCore,
  projectCount,
  projectName,
  rackOf,
} from './worlds.ts';

export const fleetNodes = 12_500;
const rackPacking = { level: 'rack', mode: 'preferred' } as const;

/** Jobs of one device each, in all projects, on an empty fleet: one cycle places them all. */
export function placements(nodes: number, jobs: number): Measured<FedEngine> {
  return {
    prepare: () => {
      const fed = emptyWorld(nodes);
      const demand = gpuDemand(1);
      for (let i = 0; i < jobs; i++) fed.submit({ project: projectName(i % projectCount), demand });
      return fed;
    },
    run: (fed) => expectStarts(fed.decide(), jobs),
  };
}

function expectStarts(plan: Plan, jobs: number): void {
  const starts = plan.units.filter((unit) => unit.kind === 'start').length;
  if (starts !== jobs) throw new Error(`${starts} of ${jobs} jobs were placed`);
}

export function placementRow({ quick }: BenchOptions): ToldRow {
  const jobs = fleetNodes * gpusOnNode;
  const repetitions = quick ? 1 : 5;
  const ms = medianMs({ ...placements(fleetNodes, jobs), repetitions });
  const bareMs = medianMs({
    prepare: () => null,
    run: () => barePlan(jobs, fleetNodes, gpusOnNode),
    repetitions: 9,
    warmUps: 3,
  });
  return row({
    name: 'placements_per_s',
    value: (jobs / ms) * 1000,
    unit: '1/s',
    reference: [
      'a bare loop that gives each job the next free device and writes the plan',
      (jobs / bareMs) * 1000,
    ],
    about: `${jobs} one-GPU jobs of ${projectCount} projects placed on ${fleetNodes} x ${gpusOnNode} in one cycle`,
    aim: '>= 500,000/s, a twentieth of the bare loop or better',
  });
}

/** One gang that takes whole nodes, packed into few racks. */
export function gangPlaced(nodes: number, tasks: number): Measured<JobId> {
  const fed = emptyWorld(nodes);
  return {
    // Another project each time: nothing of the last answer is of use.
    prepare: () =>
      fed.submit({
        project: projectName(tasks % projectCount),
        demand: gpuDemand(gpusOnNode, tasks, rackPacking),
      }),
    run: (job) => {
      const [unit] = fed.decide().units;
      if (unit?.kind !== 'start' || unit.tasks.length !== tasks)
        throw new Error(`a gang of ${tasks} was not placed`);
      const racks = new Set(unit.tasks.map((task) => rackOf(task.node))).size;
      if (racks > Math.ceil(tasks / 16)) throw new NotPacked(`${tasks} nodes are spread over ${racks} racks`);
      fed.cancel(job);
    },
  };
}

/** What takes a fraction of a millisecond is run more often before the compiler is done with it. */
export function warmUpsOf(tasks: number): number {
  return tasks <= 64 ? 30 : 3;
}

export class NotPacked extends Error {
  override readonly name = 'NotPacked';
}

export function gangRow(tasks: number, { quick }: BenchOptions): ToldRow {
  const bareMs = medianOfManyMs(() => bareGang(tasks, fleetNodes), 20, 9);
  return row({
    name: `gang_${tasks}_ms`,
    value: medianMs({
      ...gangPlaced(fleetNodes, tasks),
      repetitions: quick ? 3 : 15,
      warmUps: warmUpsOf(tasks),
    }),
    unit: 'ms',
    reference: ['a bare loop that fills racks one after another and writes the nodes', bareMs],
    about: `A gang of ${tasks} nodes x ${gpusOnNode} GPUs with rack packing finds its place on ${fleetNodes} nodes`,
    aim: tasks === 4096 ? '< 50 ms' : null,
  });
}

const smallJobs = 32_000;
const smallNodes = 1000;

export function smallJobsRow({ quick }: BenchOptions): ToldRow {
  const ms = medianMs({
    prepare: () => {
      const fed = new FedEngine(fleetOf(smallNodes, 0, 64), fullPolicy(smallNodes), nowMs);
      for (let i = 0; i < smallJobs; i++)
        fed.submit({ project: projectName(i % projectCount), demand: oneCore });
      return fed;
    },
    run: (fed) => expectStarts(fed.decide(), smallJobs),
    repetitions: quick ? 1 : 5,
  });
  const bareMs = medianMs({
    prepare: () => null,
    run: () => barePlan(smallJobs, smallNodes, 32),
    repetitions: 9,
    warmUps: 3,
  });
  return row({
    name: 'place_32000_s',
    value: ms / 1000,
    unit: 's',
    reference: ['a bare loop that gives each job the next free core and writes the plan', bareMs / 1000],
    about: `${smallJobs} one-core jobs placed on ${smallNodes} nodes of 64 cores in one cycle`,
    aim: '< 0.1 s (best published 0.6 s on 16 threads)',
  });
}
