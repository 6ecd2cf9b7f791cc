// From what a run left in its directory and what Slurm lists, to what is reported of its tasks. Identity is the key in a job's name
// and comment, together with the id that claimed it: ids are used again after the controller was killed, and a name any number of times.
import type { ErrorClass, RunId, TaskExit } from '@muster/model';
import type { ListedReport } from '../listing-driver.ts';
import { signalOf } from '../signal-names.ts';
import type { JobState, SlurmJob } from './listing.ts';
import type { Evidence, StopFacts } from './run-directory.ts';

export function jobsOf(run: RunId, jobs: readonly SlurmJob[]): SlurmJob[] {
  return jobs.filter(({ name, comment }) => name === run && comment === run);
}

/**
 * Nothing is reported of a run that nobody claimed and Slurm does not list: it was never taken, or forgotten, and may be
 * submitted. `settled`: what Slurm does not list does not run on its nodes either.
 */
export function reportsOf(
  run: RunId,
  evidence: Evidence,
  jobs: readonly SlurmJob[],
  settled: boolean,
  controller: ControllerLife | null = null,
): ListedReport[] {
  const own = jobsOf(run, jobs);
  const job = evidence.claim === null ? newest(own) : claimant(evidence.claim.job, own);
  if (evidence.claim === null && !job) return [];
  return evidence.tasks.map(({ rank, node }) => {
    const began = evidence.started.has(rank);
    const exit = exitOf(rank, evidence, job, settled, controller);
    if (exit) return { run, rank, node, began, state: 'ended', exit };
    return { run, rank, node, began, state: began ? 'running' : 'accepted', exit: null };
  });
}

/** The job that has the key. One that has it and did not yet say so is the only one that lives. */
function claimant(id: number | null, own: readonly SlurmJob[]): SlurmJob | undefined {
  return id === null ? own.find(({ phase }) => phase !== 'over') : own.find((job) => job.id === id);
}

function newest(own: readonly SlurmJob[]): SlurmJob | undefined {
  const live = own.find(({ phase }) => phase !== 'over');
  return live ?? own.toSorted((a, b) => b.submittedS - a.submittedS || b.id - a.id)[0];
}

function exitOf(
  rank: number,
  { claim, started, exits, stop }: Evidence,
  job: SlurmJob | undefined,
  settled: boolean,
  controller: ControllerLife | null,
): TaskExit | null {
  const told = exits.get(rank);
  if (told) return exitOfCode(told.code, told.stopped ? stop : null, started.has(rank), job);
  // A stop had the key before any job: whatever comes later finds it claimed.
  if (stop && claim?.job === null) return failed(stop.class, stop.code, stop.reason);
  if (job?.phase === 'over')
    return stop === null && endedByRestart(job, claim !== null, controller)
      ? forgotten
      : exitOfState(job.state, stop);
  if (job || !settled) return null;
  return failed(
    'infrastructure',
    'forgotten',
    'Slurm lost the job: it lists no job of this key, and its nodes run none',
  );
}

/** The present life of the controller. */
export interface ControllerLife {
  readonly bootS: number;
  readonly slurmdTimeoutMs: number;
}

/** Nodes have reported by then, and what they report that the controller did not expect has been ended. */
const reportsAfterS = 60;

/**
 * A controller that was killed comes back with jobs as it last wrote them, finds them on nodes that it did not expect, and cancels
 * them itself; and it gives ids again that a node still has a job of, which refuses the new one as a duplicate. It does not say who did
 * it; so a cancel soon after its start, of a job from before or one that never began, is taken for its own.
 */
function endedByRestart(
  { state, submittedS, endS }: SlurmJob,
  began: boolean,
  controller: ControllerLife | null,
): boolean {
  if (state !== 'CANCELLED' || controller === null) return false;
  const untilS = controller.bootS + controller.slurmdTimeoutMs / 1000 + reportsAfterS;
  const mayBeItsOwn = !began || submittedS <= controller.bootS;
  return mayBeItsOwn && endS >= controller.bootS && endS <= untilS;
}

/** The script saw the end. What Slurm says of the whole job explains a signal that nobody else asked for. */
function exitOfCode(
  code: number | null,
  stop: StopFacts | null,
  started: boolean,
  job: SlurmJob | undefined,
): TaskExit | null {
  const signal = code === null ? null : signalOf(code);
  const ending = { code: signal === null ? code : null, signal };
  if (stop)
    return { ok: false, class: stop.class, ...ending, reason: { code: 'stopped', message: stop.reason } };
  if (code === null) return failed('infrastructure', 'node-failed', 'the node of the task failed');
  if (code === 0) return { ok: true };
  if (!started)
    return failed('infrastructure', 'step-failed', `srun could not start the step (code ${code})`);
  // Slurm is ending the whole job; why is known when it is over.
  if (signal !== null && job?.state === 'COMPLETING') return null;
  const whole = job && whys[job.state];
  if (whole) return { ok: false, class: whole[0], ...ending, reason: { code: whole[1], message: whole[2] } };
  const reason =
    signal === null
      ? { code: 'exit-code', message: `exited with code ${code}` }
      : { code: 'signal', message: `killed by ${signal}` };
  return { ok: false, class: 'user', ...ending, reason };
}

/** The script did not live to see the end of this task. */
function exitOfState(state: JobState, stop: StopFacts | null): TaskExit | null {
  // It ran to its last line, so the exit is written; a shared file system may be slow to show it.
  if (state === 'COMPLETED') return null;
  if (stop && state === 'CANCELLED') return failed(stop.class, 'stopped', stop.reason);
  const why =
    whys[state] ?? (['infrastructure', 'script-failed', `the job's script failed (${state})`] as const);
  return failed(...why);
}

const forgotten = failed(
  'infrastructure',
  'forgotten',
  'Slurm cancelled the job itself when its controller was started again',
);

const whys: Partial<Record<JobState, readonly [ErrorClass, string, string]>> = {
  CANCELLED: ['cancelled', 'cancelled-in-slurm', 'cancelled in Slurm, not through Muster'],
  TIMEOUT: ['timeout', 'time-limit', 'time limit reached'],
  DEADLINE: ['timeout', 'deadline', "Slurm's deadline of the job was reached"],
  OUT_OF_MEMORY: ['out-of-memory', 'out-of-memory', 'ran out of memory'],
  NODE_FAIL: ['infrastructure', 'node-failed', 'a node of the job failed'],
  BOOT_FAIL: ['infrastructure', 'node-failed', 'a node of the job did not boot'],
  PREEMPTED: ['preemption', 'preempted-in-slurm', 'preempted by Slurm for another job'],
};

function failed(errorClass: ErrorClass, code: string, message: string): TaskExit {
  return { ok: false, class: errorClass, code: null, signal: null, reason: { code, message } };
}
