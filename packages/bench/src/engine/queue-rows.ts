// What a cycle costs when a million jobs wait: with nothing to do, after one change, and for questions.
import type { JobId } from '@muster/model';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { bareScan } from './bare.ts';
import type { FedEngine } from './fed-engine.ts';
import { fleetNodes } from './place-rows.ts';
import { medianMs, medianOfManyMs } from './timing.ts';
import { filledWorld, fullPolicy, projectName, queueJobs } from './worlds.ts';

const sizes = [8, 1, 1, 2, 4] as const;
/** They add up to what is guaranteed to each project on 1,000 nodes: there, and on any larger fleet, all have their own and in alike runs. */
const evenSizes = [4, 1, 1, 2] as const;

/** A full fleet, of which everybody has taken back what is guaranteed to them, with so many jobs waiting, all told why. */
export function waitingWorld(nodes: number, jobs: number): FedEngine {
  return settled(filledWorld(nodes, fullPolicy(nodes), { project: projectName(0), gpus: sizes }), jobs);
}

/** A full fleet of which everybody has what is guaranteed to them, with so many jobs waiting, all told why. */
export function sharedWorld(nodes: number, jobs: number): FedEngine {
  return settled(filledWorld(nodes, fullPolicy(nodes), { gpus: evenSizes }), jobs);
}

function settled(fed: FedEngine, jobs: number): FedEngine {
  queueJobs(fed, jobs);
  for (let plan = fed.decide(); plan.units.length > 0; plan = fed.decide()) {
    fed.commit(plan);
    fed.endVictims(plan);
  }
  return fed;
}

export function idleMs(fed: FedEngine, repetitions: number): number {
  return medianMs({ prepare: () => fed.nowMs++, run: () => void fed.decide(), repetitions, warmUps: 5 });
}

/** A run ends, and whoever is next takes its place. */
export function oneChangeMs(fed: FedEngine, repetitions: number): number {
  return medianMs({
    prepare: () => {
      fed.nowMs++;
      // Not always of the same node.
      const runs = [...fed.started.values()];
      return runs[(fed.engine.sequence * 7919) % runs.length]!;
    },
    run: (started) => {
      fed.end(started);
      const plan = fed.decide();
      if (plan.units.length === 0) throw new Error('a place was free and nobody took it');
      fed.commit(plan);
    },
    repetitions,
    warmUps: 5,
  });
}

export function queueRows(options: BenchOptions): ToldRow[] {
  const { quick, progress } = options;
  const jobs = quick ? 100_000 : 1_000_000;
  const repetitions = quick ? 5 : 25;
  const fed = waitingWorld(fleetNodes, jobs);
  progress(`${jobs} jobs wait on a full fleet`);
  const waiting = new Int32Array(jobs).fill(1);
  const scanMs = medianMs({ prepare: () => waiting, run: bareScan, repetitions: 9, warmUps: 3 });
  const took = new Int32Array(1024);
  const bareMs = medianOfManyMs(() => took.fill(1), 100, 9);
  const of = `${jobs} jobs wait on a full fleet of ${fleetNodes} x 8`;
  const scan = ['a bare loop over one word of every waiting job', scanMs] as const;
  return [
    row({
      name: 'idle_cycle_ms',
      value: idleMs(fed, repetitions),
      unit: 'ms',
      reference: scan,
      about: `A cycle with nothing to do while ${of}`,
      aim: '< 5 ms',
    }),
    row({
      name: 'one_change_ms',
      value: oneChangeMs(fed, repetitions),
      unit: 'ms',
      reference: ['a bare write of 4 KB', bareMs],
      about: `A run's end, the cycle that gives its place away and the start's event, while ${of}`,
      aim: null,
    }),
    ...questionRows(fed, jobs, scan, repetitions),
  ];
}

/** Some of the queue runs by now, because projects take back what they are guaranteed: what runs has little to explain. */
function middleOfWaiting({ engine }: FedEngine): JobId {
  const waiting = engine.rows().jobs.filter(({ state }) => state.state === 'queued' && state.claim === null);
  const middle = waiting[waiting.length >>> 1];
  if (!middle) throw new Error('nobody waits');
  return middle.job;
}

function questionRows(
  fed: FedEngine,
  jobs: number,
  scan: readonly [string, number],
  repetitions: number,
): ToldRow[] {
  const of = `while ${jobs} jobs wait`;
  const middle = middleOfWaiting(fed);
  const explainMs = medianMs({
    prepare: () => null,
    run: () => {
      if (fed.engine.explain(middle, fed.nowMs)?.verdict.kind !== 'waits')
        throw new Error(`${middle} does not wait`);
    },
    repetitions,
    warmUps: 3,
  });
  const forkMs = medianMs({ prepare: () => null, run: () => void fed.engine.fork(), repetitions: 5 });
  return [
    row({
      name: 'fork_ms',
      value: forkMs,
      unit: 'ms',
      reference: scan,
      about: `An independent copy of the engine ${of}`,
      aim: null,
    }),
    row({
      name: 'explain_ms',
      value: explainMs,
      unit: 'ms',
      reference: scan,
      about: `All reasons of a job in the middle of the queue and what would help it, ${of}`,
      aim: '< 50 ms',
    }),
  ];
}
