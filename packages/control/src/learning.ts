// Learns how long jobs run from those that have ended, and says it of those that come. Every server does so by itself, from the same
// rows: the newest ended jobs when it starts, and then those that follow. What was said of a job is written with it and stays,
// so that servers need not agree. While the policy does not use it nothing is read and nothing is said.
import type { JobSpec, RunEstimate } from '@muster/model';
import { type JobTraits, RunTimes, saidOf } from '@muster/predict';
import type { EndedPlace, Store } from '@muster/store';
import { type Loop, startLoop } from './loop.ts';
import type { World } from './world.ts';

export interface LearningDeps {
  readonly world: World;
  readonly store: Pick<Store, 'policy' | 'endedJobs'>;
  readonly onBug: (error: unknown) => void;
}

export interface Learning extends Loop {
  /** What is known of a job that comes now; undefined where that is nothing, or nobody wants it. */
  estimate(spec: JobSpec, user: string): RunEstimate | undefined;
}

/** Enough to know the habits of a thousand users. */
const newestJobs = 5000;
/** Estimates that are a little old are as good. */
const everyMs = 2000;
/** How soon a policy that begins to use run times is noticed. */
const idleMs = 5000;

export function startLearning({ world, store, onBug }: LearningDeps): Learning {
  let times = new RunTimes();
  let place: EndedPlace | null = null;
  let isUsed = false;

  async function step(): Promise<number> {
    const { policy } = await store.policy();
    isUsed = policy.runTimes.use === 'learned';
    if (!isUsed) {
      // Used again, it begins anew with the newest: all that ended meanwhile may be millions.
      if (place !== null) times = new RunTimes();
      place = null;
      return idleMs;
    }
    const ended = await store.endedJobs(place, newestJobs);
    for (const { id, endedMs, spec, user, ranMs, estimate } of ended) {
      times.observe(traitsOf(spec, user), ranMs, estimate && { p50Ms: null, p90Ms: estimate.p90Ms });
      place = { endedMs, id };
    }
    return ended.length === newestJobs ? 0 : everyMs;
  }

  return {
    ...startLoop(world, { name: 'learning', step, onBug }),
    estimate(spec, user) {
      const estimate = isUsed ? times.estimate(traitsOf(spec, user)) : null;
      return estimate ? saidOf(estimate) : undefined;
    },
  };
}

function traitsOf({ project, name, timeLimitMs, groups }: JobSpec, user: string): JobTraits {
  let devices = 0;
  let tasks = 0;
  for (const { demand } of groups) {
    devices += demand.tasks * (demand.accelerators[0]?.milli ?? 0);
    tasks += demand.tasks;
  }
  return { user, project, name, devices: devices > 0 ? devices / 1000 : tasks, askedMs: timeLimitMs };
}
