// Runs of which each alone, by ending, would let a job start. There may be very many runs, so those whose known end is soonest
// are tried first, and trying ends with the steps.
import { type Ends, type HelpfulEnd, type LiveRun, noEnds, taskCount, tierNamed } from '@muster/model';
import { compareText } from './order.ts';
import { type Steps, startsNow } from './starts-now.ts';
import type { State } from './state.ts';
import { classesOf, supposeEnded, usesClasses } from './suppose.ts';
import { fitsNow } from './verdict.ts';

/** More are counted, not listed. */
const listedMax = 5;
/** Of very many runs only so many are looked at, the soonest. */
const triedMax = 1024;
const never = Number.MAX_SAFE_INTEGER;

interface Known {
  readonly run: LiveRun;
  readonly endMs: number;
}

/** `lacking`: at least so many tasks more must find room; 0 when that is not known. */
export function helpfulEnds(state: State, job: number, lacking: number, steps: Steps): Ends {
  const { fleets, queue, jobs } = state;
  const { shape } = queue.entryOf(job).lane;
  const fits = shape.blocked === null && fitsNow(fleets, shape);
  if (!fits && lacking > taskCount(shape.demand)) return noEnds;
  const helps = (run: LiveRun): boolean =>
    fits || (usesClasses(shape, classesOf(state, run)) && couldHold(state, job, run) >= lacking);
  const found: HelpfulEnd[] = [];
  let count = 0;
  const { soonest, left } = soonestEnds(state, helps);
  for (const { run, endMs } of soonest) {
    const putBack = supposeEnded(state, run);
    const started = startsNow(state, job, steps);
    putBack();
    if (steps.ranOut) break;
    // An end that must be helped by stopping others is no help by itself.
    if (started?.victims !== 0) continue;
    count++;
    const { project } = queue.entryOf(jobs.slotOf(run.job)).lane;
    if (found.length < listedMax)
      found.push({
        job: run.job,
        project: project.path,
        run: run.run,
        endMs: endMs === never ? null : endMs,
      });
  }
  if (left > 0) steps.ranOut = true;
  return { count, runs: found };
}

/** Tasks of the job that the run's nodes hold when they are empty. */
function couldHold({ fleets, queue }: State, job: number, run: LiveRun): number {
  const { live } = fleets;
  const { shape } = queue.entryOf(job).lane;
  let room = 0;
  for (const slot of new Set(run.tasks.map(({ node }) => live.slotOf(node)))) {
    let most = 0;
    for (const { options } of shape.groups)
      for (const { fits } of options)
        for (const { classId, tasksMax } of fits)
          if (classId === live.classOf[slot]) most = Math.max(most, tasksMax);
    room += most;
  }
  return room;
}

/** The soonest of the runs that could help, by known end, then by id; and how many more there are. */
function soonestEnds(state: State, helps: (run: LiveRun) => boolean): { soonest: Known[]; left: number } {
  const all: Known[] = [];
  for (const run of state.runs.values()) if (helps(run)) all.push({ run, endMs: endOf(state, run) });
  all.sort((a, b) => a.endMs - b.endMs || compareText(a.run.run, b.run.run));
  return { soonest: all.slice(0, triedMax), left: Math.max(0, all.length - triedMax) };
}

function endOf({ queue, jobs, policy }: State, { job, startedMs }: LiveRun): number {
  if (startedMs === null) return never;
  const { durationMs, tier } = queue.entryOf(jobs.slotOf(job)).facts;
  const lengthMs = durationMs ?? tierNamed(policy, tier)?.durationMs;
  return lengthMs === undefined ? never : startedMs + lengthMs;
}
