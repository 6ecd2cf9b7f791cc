// A tiny world around an engine: it keeps the rows a store would keep, turns plans into the events a store would log, and
// feeds them back. No faults and no time of its own; the tests choose what happens.
import {
  type ArraySize,
  type ArrayState,
  afterRun,
  countMember,
  countOf,
  defaultPolicy,
  dropMembers,
  type EngineRows,
  type EventBody,
  type Failures,
  freshArray,
  freshPast,
  holdArray,
  type IndexRange,
  invariant,
  type JobDemand,
  type JobFacts,
  type JobId,
  type JobState,
  type LiveRun,
  type LogEvent,
  movedResult,
  type NodeFacts,
  type NodeId,
  noFailures,
  type Plan,
  type PlanUnit,
  type Policy,
  type ProjectUsage,
  parseMemberId,
  pastOf,
  preemptedResult,
  type Reason,
  type RunFacts,
  type RunId,
  type RunResult,
  releaseArray,
  type StartUnit,
  savedMsOf,
  settledArray,
  stepJob,
  stopArray,
  takeMember,
  usageAfter,
  type Verdict,
  within,
} from '@muster/model';
import type { Engine, LoadEngine } from '../engine.ts';

type LiveState = Exclude<JobState, { state: 'ended' }>;
type JobRow = JobFacts & { state: LiveState; version: number; submittedSequence: number };
type ArrayRow = JobFacts & { array: ArraySize; state: ArrayState; submittedSequence: number };

const lost: RunResult = {
  outcome: 'failed',
  class: 'infrastructure',
  code: null,
  signal: null,
  reason: { code: 'node-lost', message: 'gone' },
  rank: null,
  node: null,
};

/** Jobs of this world may fail never, so that whatever is charged to them ends them. */
const noRetry = noFailures;

export class World {
  readonly engine: Engine;
  readonly log: LogEvent[] = [];
  readonly nodes = new Map<NodeId, NodeFacts>();
  readonly jobs = new Map<JobId, JobRow>();
  readonly arrays = new Map<JobId, ArrayRow>();
  readonly runs = new Map<RunId, LiveRun>();
  /** For whom runs are being stopped. */
  readonly preemptors = new Map<RunId, JobId | null>();
  /** The verdict of each entry as last told, as a store keeps it. */
  readonly told = new Map<string, Verdict>();
  /** Past use by project, as a store keeps it. */
  readonly usage = new Map<string, ProjectUsage>();
  nowMs = 1000;
  #sequence = 0;
  #policy: Policy = defaultPolicy;
  #policyVersion = 1;
  readonly #load: LoadEngine;

  constructor(load: LoadEngine, ...nodes: NodeFacts[]) {
    this.#load = load;
    this.engine = load(this.rows());
    for (const node of nodes) this.join(node);
  }

  /** What a store would hand out in one snapshot; given in reverse, because rows come in no particular order. */
  rows(): EngineRows {
    return {
      sequence: this.#sequence,
      policyVersion: this.#policyVersion,
      policy: this.#policy,
      nodes: [...this.nodes.values()].reverse(),
      arrays: ([...this.arrays.values()] as EngineRows['arrays'][number][]).reverse(),
      jobs: [...this.jobs.values()].reverse(),
      usage: [...this.usage.values()].reverse(),
      runs: [...this.runs.values()].reverse(),
    };
  }

  rebuilt(): Engine {
    return this.#load(this.rows());
  }

  tell(body: EventBody): void {
    this.#sequence++;
    const event = { sequence: this.#sequence, atMs: this.nowMs, body };
    this.log.push(event);
    this.engine.apply(event);
  }

  join(node: NodeFacts): void {
    const kind = this.nodes.has(node.node) ? 'node.changed' : 'node.joined';
    this.nodes.set(node.node, node);
    this.tell({ kind, ...node });
  }

  setNode(id: NodeId, state: 'ready' | 'silent' | 'lost' | 'removed'): void {
    const node = this.nodes.get(id)!;
    if (state === 'removed') this.nodes.delete(id);
    else this.nodes.set(id, { ...node, state });
    const { name } = node;
    if (state === 'lost')
      this.tell({ kind: 'node.lost', node: id, name, reason: { code: 'gone', message: '' } });
    else this.tell({ kind: `node.${state}`, node: id, name });
  }

  drain(id: NodeId, draining: boolean): void {
    const node = this.nodes.get(id)!;
    const drain = draining ? { by: 'ada', reason: 'repair', sinceMs: this.nowMs } : null;
    this.nodes.set(id, { ...node, drain });
    if (drain) this.tell({ kind: 'node.drained', node: id, name: node.name, drain });
    else this.tell({ kind: 'node.undrained', node: id, name: node.name, by: 'ada' });
  }

  trust(id: NodeId, trustMilli: number): void {
    const node = this.nodes.get(id)!;
    this.nodes.set(id, { ...node, trustMilli });
    this.tell({ kind: 'node.trusted', node: id, name: node.name, trustMilli, by: 'ada' });
  }

  submit(facts: JobFacts, held = false): void {
    if (facts.array) {
      const state = freshArray(facts.array, facts.submittedMs, held ? 'ada' : null);
      const submittedSequence = this.#sequence + 1;
      this.arrays.set(facts.job, { ...facts, array: facts.array, state, submittedSequence });
      this.tell({ kind: 'job.submitted', by: 'ada', held, ...facts });
      return;
    }
    const waiting = { attempt: 1, sinceMs: facts.submittedMs, notBeforeMs: 0, ...freshPast };
    const state: LiveState = held
      ? { state: 'held', by: 'ada', ...waiting }
      : { state: 'queued', claim: null, ...waiting };
    this.jobs.set(facts.job, { ...facts, state, submittedSequence: this.#sequence + 1 });
    this.tell({ kind: 'job.submitted', by: 'ada', held, ...facts });
  }

  hold(id: JobId): void {
    if (this.arrays.has(id)) {
      for (const member of this.#membersOf(id)) this.#unclaim(member, { code: 'held', message: '' });
      const version = this.#changeArray(id, (state) => holdArray(state, 'bob') as ArrayState);
      this.tell({ kind: 'job.held', job: id, version, by: 'bob' });
      return;
    }
    const { state } = this.jobs.get(id)!;
    invariant(state.state === 'queued', 'only a queued job is held');
    this.#unclaim(id, { code: 'held', message: '' });
    const { claim: _, ...rest } = state;
    const version = this.#setState(id, { ...rest, state: 'held', by: 'bob' });
    this.tell({ kind: 'job.held', job: id, version, by: 'bob' });
  }

  release(id: JobId): void {
    if (this.arrays.has(id)) {
      const version = this.#changeArray(id, (state) => releaseArray(state, this.nowMs) as ArrayState);
      this.tell({ kind: 'job.released', job: id, version, by: 'bob', sinceMs: this.nowMs });
      return;
    }
    const { state } = this.jobs.get(id)!;
    invariant(state.state === 'held', 'only a held job is released');
    const { by: _, ...rest } = state;
    const sinceMs = this.nowMs;
    const version = this.#setState(id, { ...rest, state: 'queued', claim: null, sinceMs });
    this.tell({ kind: 'job.released', job: id, version, by: 'bob', sinceMs });
  }

  /** Cancels a job that has not started, or an array; members that run are told to stop. */
  cancel(id: JobId): void {
    const array = this.arrays.get(id);
    if (!array) {
      this.#unclaim(id, { code: 'cancelled', message: '' });
      this.#end(id);
      return;
    }
    const version = this.#changeArray(id, (state) => stopArray(state, 'bob'));
    this.tell({ kind: 'job.stopping', job: id, version, by: 'bob' });
    this.#drop(id, [0, array.array.count - 1]);
    for (const member of this.#membersOf(id)) {
      const { state: row } = this.jobs.get(member)!;
      if ('run' in row) this.stop(row.run, member, null);
      if (row.state !== 'queued') continue;
      this.#unclaim(member, { code: 'cancelled', message: '' });
      this.#end(member);
    }
    this.#settle(id);
  }

  /** Members of the range that never started will not. */
  drop(id: JobId, range: IndexRange): void {
    this.#drop(id, range);
    this.#settle(id);
  }

  #drop(id: JobId, range: IndexRange): void {
    const members = within(this.arrays.get(id)!.state.waiting, range);
    if (countOf(members) === 0) return;
    const version = this.#changeArray(id, (state) => dropMembers(state, range, this.nowMs));
    this.tell({ kind: 'job.dropped', job: id, version, by: 'bob', members });
  }

  #membersOf(id: JobId): JobId[] {
    return [...this.jobs.keys()].filter((job) => parseMemberId(job)?.array === id);
  }

  #end(id: JobId): void {
    const { version, state } = this.jobs.get(id)!;
    this.jobs.delete(id);
    const result = { outcome: 'succeeded' } as const;
    this.tell({ kind: 'job.ended', job: id, version: version + 1, result });
    const member = parseMemberId(id);
    if (!member) return;
    const ended: JobState = { state: 'ended', attempt: 1, result, endedMs: this.nowMs };
    this.#countMember(member.array, state, ended);
    this.#settle(member.array);
  }

  /** The array is over once its last member is. */
  #settle(id: JobId): void {
    const row = this.arrays.get(id);
    if (!row) return;
    const state = settledArray(row.state, row.array, this.nowMs);
    this.arrays.set(id, { ...row, state });
    if (state.state !== 'ended') return;
    this.arrays.delete(id);
    this.tell({ kind: 'job.ended', job: id, version: row.version + 1, result: state.result });
  }

  #changeArray(id: JobId, change: (state: ArrayState) => ArrayState): number {
    const row = this.arrays.get(id)!;
    this.arrays.set(id, { ...row, state: change(row.state), version: row.version + 1 });
    return row.version + 1;
  }

  #countMember(id: JobId, from: JobState, to: JobState): void {
    const row = this.arrays.get(id)!;
    this.arrays.set(id, { ...row, state: countMember(row.state, from, to) });
  }

  /** The job's row; a member that never started gets one. */
  #row(id: JobId): JobRow {
    const known = this.jobs.get(id);
    if (known) return known;
    const { array: arrayId, index } = parseMemberId(id)!;
    const row = this.arrays.get(arrayId)!;
    const { array: _, state, ...facts } = row;
    const sinceMs = 'sinceMs' in state ? state.sinceMs : 0;
    const waiting = { attempt: 1, sinceMs, notBeforeMs: 0, ...freshPast };
    const member: JobRow = {
      ...facts,
      job: id,
      version: 0,
      state: { state: 'queued', claim: null, ...waiting },
    };
    this.arrays.set(arrayId, { ...row, state: takeMember(state, index) });
    this.jobs.set(id, member);
    return member;
  }

  /** A member of a cancelled array does not wait again. */
  #isStopping(id: JobId): boolean {
    const member = parseMemberId(id);
    return member !== null && this.arrays.get(member.array)?.state.state === 'stopping';
  }

  setPolicy(policy: Policy): void {
    this.#policy = policy;
    this.#policyVersion++;
    this.tell({ kind: 'policy.changed', version: this.#policyVersion, policy, by: 'ada' });
  }

  decide(): Plan {
    const plan = this.engine.decide(this.nowMs);
    for (const { entry, verdict } of plan.verdicts) this.told.set(entry, verdict);
    return plan;
  }

  /** Applies the units that `keep` says, as commitPlan would. */
  commit(plan: Plan, keep: (unit: PlanUnit) => boolean = () => true): void {
    for (const unit of plan.units) {
      if (keep(unit)) this.#apply(unit);
      else this.tell({ kind: 'plan.dropped', job: unit.job, run: unit.run, refusal: 'job-changed' });
    }
  }

  #apply(unit: PlanUnit): void {
    if (unit.kind === 'start') {
      this.#start(unit);
      return;
    }
    const { state } = this.#row(unit.job);
    invariant(state.state === 'queued', 'only a queued job has a claim');
    if (unit.kind === 'release') {
      this.#unclaim(unit.job, unit.reason);
      return;
    }
    for (const { run: id, job } of unit.claim.victims) this.stop(id, job, unit.job);
    const version = this.#setState(unit.job, { ...state, claim: unit.claim });
    this.tell({ kind: 'job.claimed', job: unit.job, version, run: unit.run, claim: unit.claim });
  }

  /** The run is told to stop; for another job, or because somebody asked. */
  stop(id: RunId, job: JobId, preemptor: JobId | null): void {
    const run = this.runs.get(id);
    if (!run || run.stopping) return;
    this.runs.set(id, { ...run, stopping: true });
    this.preemptors.set(id, preemptor);
    this.tell({ kind: 'run.stopping', run: id, job, reason: { code: 'stop', message: '' }, preemptor });
  }

  checkpoint(id: RunId): void {
    const run = this.runs.get(id)!;
    this.runs.set(id, { ...run, checkpointMs: this.nowMs });
    const { job } = run;
    this.tell({ kind: 'run.checkpointed', run: id, job, checkpointMs: this.nowMs, step: 1, path: null });
  }

  /** A run that was stopped for another job is over. What becomes of its job is for the rules of the store to say. */
  preempted(id: RunId): void {
    const result = preemptedResult('for another');
    const savedMs = savedMsOf(this.runs.get(id)!);
    const { job } = this.#endRun(id, result);
    const { state } = this.jobs.get(job)!;
    const then = afterRun(noRetry, state.failures, state.avoid, result);
    const preemptor = this.preemptors.get(id) ?? null;
    const { nowMs } = this;
    const stepped = stepJob(state, { kind: 'run-end', run: id, result, then, preemptor, savedMs, nowMs });
    invariant(stepped.ok, 'a job steps on when its run ends');
    if (stepped.next.state !== 'queued') {
      this.#end(job);
      return;
    }
    const { state: _, claim: __, ...waiting } = stepped.next;
    const version = this.#setState(job, stepped.next);
    this.tell({ kind: 'job.requeued', job, version, because: result, ...waiting });
  }

  #unclaim(job: JobId, reason: Reason): void {
    const { state } = this.jobs.get(job)!;
    if (state.state !== 'queued' || state.claim === null) return;
    const version = this.#setState(job, { ...state, claim: null });
    this.tell({ kind: 'job.unclaimed', job, version, reason });
  }

  cycle(): Plan {
    const plan = this.decide();
    this.commit(plan);
    return plan;
  }

  running(id: RunId): void {
    const { job } = this.runs.get(id)!;
    const { state } = this.jobs.get(job)!;
    if (state.state !== 'starting') return;
    const version = this.#setState(job, { ...state, state: 'running', startedMs: this.nowMs });
    this.runs.set(id, { ...this.runs.get(id)!, startedMs: this.nowMs });
    this.tell({ kind: 'run.running', run: id, job, version, startedMs: this.nowMs });
  }

  finish(id: RunId): void {
    const { job } = this.#endRun(id, { outcome: 'succeeded' });
    this.#end(job);
  }

  /** The run failed and its job waits again. */
  requeue(id: RunId, delayMs = 0, avoid: readonly NodeId[] = []): void {
    const own = savedMsOf(this.runs.get(id)!);
    const { job, attempt } = this.#endRun(id, lost);
    if (this.#isStopping(job)) {
      this.#end(job);
      return;
    }
    const { failures: before, preempted, savedMs } = this.jobs.get(job)!.state;
    const failures: Failures = { ...before, infrastructure: before.infrastructure + 1 };
    const notBeforeMs = delayMs === 0 ? 0 : this.nowMs + delayMs;
    const past = { failures, failedMs: this.nowMs, avoid, preempted, savedMs: savedMs + own };
    const waiting = { attempt: attempt + 1, sinceMs: this.nowMs, notBeforeMs, ...past };
    const version = this.#setState(job, { state: 'queued', claim: null, ...waiting });
    this.tell({ kind: 'job.requeued', job, version, because: lost, ...waiting });
  }

  /** The run was stopped because somebody wants the job elsewhere: it waits again, and asks for this. */
  moved(id: RunId, demand: JobDemand): void {
    const { job, attempt } = this.#endRun(id, movedResult('elsewhere'));
    const row = this.jobs.get(job)!;
    this.jobs.set(job, { ...row, demand });
    const waiting = { attempt: attempt + 1, sinceMs: this.nowMs, notBeforeMs: 0, ...pastOf(row.state) };
    const version = this.#setState(job, { state: 'queued', claim: null, ...waiting });
    this.tell({ kind: 'job.requeued', job, version, because: movedResult('elsewhere'), ...waiting, demand });
  }

  /** The waiting job asks for this from now on. */
  unmoved(job: JobId, demand: JobDemand): void {
    this.#unclaim(job, { code: 'unmoved', message: '' });
    const row = this.jobs.get(job)!;
    this.jobs.set(job, { ...row, demand, version: row.version + 1 });
    this.tell({ kind: 'job.unmoved', job, version: row.version + 1, by: 'ada', demand });
  }

  #start(unit: StartUnit): void {
    const { run, job, attempt, exclusive, tasks, port, uses } = unit;
    const { state } = this.#row(job);
    const facts = { run, job, attempt, exclusive, tasks, port, uses };
    this.runs.set(run, {
      ...facts,
      plannedMs: this.nowMs,
      startedMs: null,
      checkpointMs: null,
      stopping: false,
    });
    this.#count(facts, 1);
    const version = this.#setState(job, { state: 'starting', attempt, run, ...pastOf(state) });
    this.tell({ kind: 'run.planned', epoch: 1, version, plannedMs: this.nowMs, ...facts });
  }

  #endRun(id: RunId, result: RunResult): RunFacts {
    const run = this.runs.get(id)!;
    this.runs.delete(id);
    this.#count(run, -1);
    this.tell({ kind: 'run.ended', run: id, job: run.job, result, endedMs: this.nowMs });
    return run;
  }

  #count({ job, uses }: RunFacts, sign: 1 | -1): void {
    const { project } = this.jobs.get(job)!;
    const before = this.usage.get(project) ?? { project, keys: {} };
    this.usage.set(project, usageAfter(before, uses, sign, this.nowMs, this.#policy.share.halfLifeMs));
  }

  #setState(id: JobId, state: LiveState): number {
    const row = this.jobs.get(id)!;
    this.jobs.set(id, { ...row, state, version: row.version + 1 });
    const member = parseMemberId(id);
    if (member) {
      this.#countMember(member.array, row.state, state);
      this.#settle(member.array);
    }
    return row.version + 1;
  }
}
