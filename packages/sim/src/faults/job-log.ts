// Jobs and runs as the log tells them, event by event, and what it must never tell: a state that cannot follow from the one
// before, a run that is planned twice or while another of its job lives, a gang in part, a cancelled job planned again.
import type { ArraySize, EventBody, JobDemand, JobId, RunFacts, RunId } from '@muster/model';
import { parseMemberId, runId, submittedJob } from '@muster/model';

export interface LoggedJob {
  readonly id: JobId;
  readonly project: string;
  readonly demand: JobDemand;
  readonly array: ArraySize | null;
  state: 'queued' | 'held' | 'starting' | 'running' | 'stopping' | 'ended';
  version: number;
  /** The attempt that is next, or lives. */
  attempt: number;
  run: RunId | null;
  stopped: boolean;
}

export interface LoggedRun extends RunFacts {
  readonly project: string;
  ended: boolean;
}

export class Violation extends Error {
  override readonly name = 'Violation';
  readonly rule: string;

  constructor(rule: string, message: string) {
    super(`${rule}: ${message}`);
    this.rule = rule;
  }
}

export function must(holds: boolean, rule: string, message: () => string): asserts holds {
  if (!holds) throw new Violation(rule, message());
}

type JobEvent = Extract<EventBody, { readonly job: JobId }>;

/** Which events a job may be told of in which state, and the state it has then; null: unchanged. */
const follows: Readonly<
  Record<string, Readonly<Partial<Record<EventBody['kind'], LoggedJob['state'] | null>>>>
> = {
  queued: {
    'job.held': 'held',
    'job.released': 'queued',
    'job.claimed': null,
    'job.unclaimed': null,
    'run.planned': 'starting',
    'job.ended': 'ended',
  },
  held: { 'job.released': 'queued', 'job.held': null, 'job.ended': 'ended' },
  starting: {
    'run.running': 'running',
    'job.stopping': 'stopping',
    'job.requeued': 'queued',
    'job.ended': 'ended',
  },
  running: { 'job.stopping': 'stopping', 'job.requeued': 'queued', 'job.ended': 'ended' },
  stopping: { 'run.running': null, 'job.ended': 'ended' },
  ended: {},
};

export class JobLog {
  readonly jobs = new Map<JobId, LoggedJob>();
  readonly runs = new Map<RunId, LoggedRun>();

  read(body: EventBody): void {
    if (body.kind === 'job.submitted') {
      this.#submitted(body);
      return;
    }
    if (!('job' in body)) return;
    if ('run' in body && body.kind !== 'plan.dropped' && body.kind !== 'job.claimed') this.#run(body);
    if (!('version' in body)) return;
    const job = this.#job(body.job);
    if (job.array) this.#array(job, body);
    else this.#step(job, body);
  }

  /** A member is a job from its first event on. */
  #job(id: JobId): LoggedJob {
    const known = this.jobs.get(id);
    if (known) return known;
    const array = this.jobs.get(submittedJob(id));
    must(array?.array !== undefined && parseMemberId(id) !== null, 'S5', () => `${id} was never submitted`);
    const member: LoggedJob = { ...(array as LoggedJob), id, array: null, state: 'queued', version: 0 };
    this.jobs.set(id, member);
    return member;
  }

  #submitted(body: Extract<EventBody, { kind: 'job.submitted' }>): void {
    const { job: id, project, demand, held, version, array = null } = body;
    must(!this.jobs.has(id), 'S5', () => `${id} is submitted twice`);
    const state = held ? 'held' : 'queued';
    this.jobs.set(id, { id, project, demand, array, state, version, attempt: 1, run: null, stopped: false });
  }

  /** An array only counts its members; what it is told is what people do to it, and its end. */
  #array(array: LoggedJob, body: JobEvent & { readonly version: number }): void {
    must(array.state !== 'ended', 'S5', () => `${body.kind} of ${array.id}, which has ended`);
    must(
      body.version === array.version + 1,
      'S5',
      () => `${body.kind}: version ${body.version} of ${array.id} after ${array.version}`,
    );
    array.version = body.version;
    if (body.kind === 'job.ended') array.state = 'ended';
    if (body.kind === 'job.stopping') array.stopped = true;
  }

  #step(job: LoggedJob, body: JobEvent & { readonly version: number }): void {
    const next = follows[job.state]?.[body.kind];
    must(next !== undefined, 'S5', () => `${body.kind} of ${job.id}, which is ${job.state}`);
    // A job that is being cancelled does not become running; its run does.
    const version = body.kind === 'run.running' && next === null ? job.version : job.version + 1;
    must(
      body.version === version,
      'S5',
      () => `${body.kind}: version ${body.version} of ${job.id} after ${job.version}`,
    );
    job.version = body.version;
    job.state = next ?? job.state;
    if (body.kind === 'job.stopping') job.stopped = true;
    if (body.kind === 'job.requeued') {
      must(
        body.attempt === job.attempt + 1,
        'S5',
        () => `attempt ${body.attempt} of ${job.id} after ${job.attempt}`,
      );
      job.attempt = body.attempt;
    }
    if (body.kind === 'job.requeued' || body.kind === 'job.ended') job.run = null;
  }

  #run(body: Extract<EventBody, { readonly run: RunId }>): void {
    if (body.kind === 'run.planned') {
      this.#planned(body);
      return;
    }
    const run = this.runs.get(body.run);
    must(
      run !== undefined && !run.ended,
      'S5',
      () => `${body.kind} of ${body.run}, which ${run ? 'has ended' : 'was never planned'}`,
    );
    if (body.kind === 'run.ended') run.ended = true;
  }

  #planned(body: Extract<EventBody, { kind: 'run.planned' }>): void {
    const job = this.#job(body.job);
    const array = this.jobs.get(submittedJob(body.job));
    must(!this.runs.has(body.run), 'S3', () => `${body.run} is planned twice`);
    must(job.run === null, 'S3', () => `${body.run} is planned while ${job.run} lives`);
    must(
      !job.stopped && !array?.stopped,
      'S4',
      () => `${body.run} is planned although its job was cancelled`,
    );
    must(
      body.attempt === job.attempt && body.run === runId(job.id, body.attempt),
      'S3',
      () => `${body.run} is attempt ${body.attempt} of ${job.id}, whose next is ${job.attempt}`,
    );
    const asked = job.demand.groups.reduce((sum, group) => sum + group.tasks, 0);
    const ranks = new Set(body.tasks.map(({ rank }) => rank));
    must(
      ranks.size === asked && body.tasks.length === asked,
      'S2',
      () => `${body.run} has ${ranks.size} of ${asked} tasks`,
    );
    job.run = body.run;
    const { kind: _, version: __, epoch: ___, plannedMs: ____, ...facts } = body;
    this.runs.set(body.run, { ...facts, project: job.project, ended: false });
  }
}
