// From what a run left in its directory and what Slurm lists (keyed-jobs.ts), to what is reported of its tasks.
import type { ErrorClass, RunId, TaskExit } from '@muster/model';
import type { ListedReport } from '../listing-driver.ts';
import { signalOf } from '../signal-names.ts';
import { type Account, type Accounting, noAccounting } from './accounting.ts';
import type { KeyedJobs } from './keyed-jobs.ts';
import type { JobState, SlurmJob } from './listing.ts';
import type { Evidence, StepExit, StopFacts } from './run-directory.ts';

/** What else is known of the cluster when its jobs are judged. */
export interface Circumstances {
  /** What Slurm does not list does not run on its nodes either. */
  readonly settled: boolean;
  readonly controller: ControllerLife | null;
  readonly accounting: Accounting;
  /** Nodes of which a word that something is over is not believed. */
  readonly silent: ReadonlySet<string>;
}

export const nothingKnown: Circumstances = {
  settled: false,
  controller: null,
  accounting: noAccounting,
  silent: new Set(),
};

/** Nothing is reported of a run that nobody claimed and Slurm does not list: it was never taken, or forgotten, and may be submitted. */
export function reportsOf(
  run: RunId,
  evidence: Evidence,
  jobs: KeyedJobs,
  circumstances: Circumstances = nothingKnown,
): ListedReport[] {
  const { claim } = evidence;
  const job = claim === null ? newest(jobs.of(run)) : claimant(run, claim.job, jobs);
  if (claim === null && !job) return [];
  return evidence.tasks.map(({ rank, node }) => {
    const began = evidence.started.has(rank);
    const isProven = isBelieved(rank, node, evidence, circumstances) && !mayLive(node, evidence, job, jobs);
    const exit = isProven ? exitOf(run, rank, evidence, job, circumstances) : null;
    if (exit) return { run, rank, node, began, state: 'ended', exit };
    return { run, rank, node, began, state: began ? 'running' : 'accepted', exit: null };
  });
}

/**
 * Of a node that does not answer nothing but a good end is believed: what Slurm gave up there may still run. The script may be on
 * another node, so a code that it was given may be srun's own. What never began there needs no proof.
 */
function isBelieved(
  rank: number,
  node: string,
  { claim, exits }: Evidence,
  { silent }: Circumstances,
): boolean {
  return !silent.has(node) || (claim?.job ?? null) === null || exits.get(rank)?.code === 0;
}

/** Nothing has the key, but the job that claimed it may still be there, under marks that somebody gave it. */
function mayLive(
  node: string,
  { claim, exits }: Evidence,
  job: SlurmJob | undefined,
  jobs: KeyedJobs,
): boolean {
  const id = claim?.job ?? null;
  return !job && id !== null && exits.size === 0 && jobs.mayLive(id, node);
}

/** The job that has the key. One that has it and did not yet say so is the only one that lives. */
function claimant(run: RunId, id: number | null, jobs: KeyedJobs): SlurmJob | undefined {
  return id === null ? jobs.of(run).find(({ phase }) => phase !== 'over') : jobs.claimant(run, id);
}

function newest(own: readonly SlurmJob[]): SlurmJob | undefined {
  const live = own.find(({ phase }) => phase !== 'over');
  return live ?? own.toSorted((a, b) => b.submittedS - a.submittedS || b.id - a.id)[0];
}

function exitOf(
  run: RunId,
  rank: number,
  { claim, started, exits, stop, again }: Evidence,
  job: SlurmJob | undefined,
  { settled, controller, accounting }: Circumstances,
): TaskExit | null {
  const told = exits.get(rank);
  const requeued = job !== undefined && job.id === claim?.job && wasRequeued(job);
  if (told && !(requeued && isSlurmsOwn(told))) {
    const whole = endOfWhole(run, told, claim?.job ?? null, job, accounting);
    return whole && exitOfCode(told.code, told.stopped ? stop : null, started.has(rank), whole);
  }
  // A stop had the key before any job: whatever comes later finds it claimed.
  if (stop && claim?.job === null) return failed(stop.class, stop.code, stop.reason);
  if (job?.phase === 'over') {
    if (again && job.state === 'COMPLETED') return settled ? ranAgain(stop, job.restarts > 0) : null;
    if (stop !== null || job.state !== 'CANCELLED') return exitOfState(job.state, stop);
    if (endedByRestart(job, claim !== null, controller)) return forgotten;
    const account = accounting.of(run, job.id);
    return account && exitOfState(job.state, null, endedBy(account));
  }
  if (job || !settled) return null;
  const account = accounting.of(run, claim?.job ?? null);
  return account && exitOfForgotten(account, stop);
}

/** Somebody put it back into the queue (scontrol requeue), where it waits, or will find its key claimed and do nothing. */
const wasRequeued = ({ phase, restarts }: SlurmJob): boolean => phase === 'waits' || restarts > 0;

/** An end that Slurm may have made when it put the job back into the queue. */
const isSlurmsOwn = ({ code, stopped }: StepExit): boolean =>
  !stopped && (code === null || signalOf(code) !== null);

/** What became of the job that a task was part of. */
interface WholeJob {
  readonly state: JobState | null;
  readonly by: string | null;
}

/** Null while it is being asked. It only matters for a signal that nobody here sent. */
function endOfWhole(
  run: RunId,
  { code, stopped }: StepExit,
  id: number | null,
  job: SlurmJob | undefined,
  accounting: Accounting,
): WholeJob | null {
  const isSignal = code !== null && signalOf(code) !== null;
  if (stopped || !isSignal || (job && job.state !== 'CANCELLED'))
    return { state: job?.state ?? null, by: null };
  const account = accounting.of(run, job?.id ?? id);
  if (!account) return null;
  if (account.kind === 'nothing') return { state: job?.state ?? null, by: null };
  return { state: job?.state ?? account.job.state, by: account.job.endedBy };
}

const endedBy = (account: Account): string | null => (account.kind === 'ended' ? account.job.endedBy : null);

/** The controller knows nothing of it any more, and no node runs it. */
function exitOfForgotten(account: Account, stop: StopFacts | null): TaskExit {
  const lost = 'Slurm lost the job: it lists no job of this key, and its nodes run none';
  if (account.kind === 'nothing') return failed('infrastructure', 'forgotten', `${lost}; ${account.why}`);
  const { state } = account.job;
  const why = `${lost}; by its accounting it ended as ${state}, and left no exit code`;
  return exitOfState(state, stop, endedBy(account)) ?? failed('infrastructure', 'forgotten', why);
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
  { state, by }: WholeJob,
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
  if (signal !== null && state === 'COMPLETING') return null;
  const whole = state === null ? undefined : whyOf(state, by);
  if (whole) return { ok: false, class: whole[0], ...ending, reason: { code: whole[1], message: whole[2] } };
  const reason =
    signal === null
      ? { code: 'exit-code', message: `exited with code ${code}` }
      : { code: 'signal', message: `killed by ${signal}` };
  return { ok: false, class: 'user', ...ending, reason };
}

/** The script did not live to see the end of this task. `by`: who asked for its end, where that is known. */
export function exitOfState(
  state: JobState,
  stop: StopFacts | null,
  by: string | null = null,
): TaskExit | null {
  // It ran to its last line, so the exit is written; a shared file system may be slow to show it.
  if (state === 'COMPLETED') return null;
  if (stop && state === 'CANCELLED') return failed(stop.class, stop.code, stop.reason);
  const why =
    whyOf(state, by) ?? (['infrastructure', 'script-failed', `the job's script failed (${state})`] as const);
  return failed(...why);
}

type Why = readonly [ErrorClass, string, string];

function whyOf(state: JobState, by: string | null): Why | undefined {
  if (by === null || state !== 'CANCELLED') return whys[state];
  return ['cancelled', 'cancelled-in-slurm', `cancelled in Slurm by ${by}, not through Muster`];
}

/** The controller had lost that the job began, and its nodes ended what it did not expect there when they registered; or somebody wanted it so. */
function ranAgain(stop: StopFacts | null, requeued: boolean): TaskExit {
  if (stop) return failed(stop.class, 'stopped', stop.reason);
  const byHand = 'put back into the queue in Slurm, not through Muster, which ended what ran of it';
  if (requeued) return failed('infrastructure', 'requeued-in-slurm', byHand);
  const why = 'Slurm lost that the job had begun, ended it, and ran it again for nothing';
  return failed('infrastructure', 'forgotten', why);
}

const forgotten = failed(
  'infrastructure',
  'forgotten',
  'Slurm cancelled the job itself when its controller was started again',
);

const whys: Partial<Record<JobState, Why>> = {
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
