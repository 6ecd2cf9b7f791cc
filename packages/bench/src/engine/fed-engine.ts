// An engine fed with the events a store would log: what it plans is committed whole and comes back, runs start at once, and
// victims end when told. It keeps no rows of its own beyond what the events need, so that the engine's memory is what shows.
import { type Engine, loadEngine } from '@muster/engine';
import {
  type EventBody,
  freshPast,
  type JobDemand,
  type JobId,
  type NodeFacts,
  type Plan,
  type PlanUnit,
  type Policy,
  preemptedResult,
  type RunId,
} from '@muster/model';

export interface Ask {
  readonly project: string;
  readonly demand: JobDemand;
  readonly tier?: string;
  readonly priority?: number;
}

interface Started {
  readonly run: RunId;
  readonly job: JobId;
  readonly version: number;
  readonly attempt: number;
}

export class FedEngine {
  readonly engine: Engine;
  /** Runs that live, oldest first. */
  readonly started = new Map<RunId, Started>();
  nowMs: number;
  #jobs = 0;

  constructor(nodes: readonly NodeFacts[], policy: Policy, nowMs: number) {
    this.engine = loadEngine({
      sequence: 0,
      policyVersion: 1,
      policy,
      nodes,
      arrays: [],
      jobs: [],
      runs: [],
      usage: [],
    });
    this.nowMs = nowMs;
  }

  tell(body: EventBody): void {
    this.engine.apply({ sequence: this.engine.sequence + 1, atMs: this.nowMs, body });
  }

  submit({ project, demand, tier = 'standard', priority = 0 }: Ask): JobId {
    // As events come from a log: a text read from JSON is one piece, one put together here would be several until it is used.
    const job: JobId = JSON.parse(`"job_${String(this.#jobs++).padStart(18, '0')}"`);
    const facts = {
      job,
      version: 1,
      name: 'bench',
      project,
      tier,
      priority,
      user: 'bench',
      durationMs: null,
      deadlineMs: null,
      demand,
      submittedMs: this.nowMs,
    };
    this.tell({ kind: 'job.submitted', by: 'bench', held: false, ...facts });
    return job;
  }

  cancel(job: JobId): void {
    this.tell({ kind: 'job.ended', job, version: 2, result: { outcome: 'succeeded' } });
  }

  decide(): Plan {
    return this.engine.decide(this.nowMs);
  }

  commit(plan: Plan): void {
    for (const unit of plan.units) this.#commitUnit(unit);
  }

  end({ run, job, version }: Started): void {
    this.started.delete(run);
    const result = { outcome: 'succeeded' } as const;
    this.tell({ kind: 'run.ended', run, job, result, endedMs: this.nowMs });
    this.tell({ kind: 'job.ended', job, version: version + 1, result });
  }

  /** The victims of a plan are gone, and wait again. */
  endVictims(plan: Plan): void {
    for (const unit of plan.units)
      if (unit.kind === 'preempt') for (const { run } of unit.claim.victims) this.#requeue(run, unit.job);
  }

  #commitUnit(unit: PlanUnit): void {
    const version = unit.jobVersion + 1;
    const { job, run, attempt } = unit;
    if (unit.kind === 'start') {
      const { exclusive, tasks, port, uses } = unit;
      const places = { exclusive, tasks, port, uses };
      const plannedMs = this.nowMs;
      this.tell({ kind: 'run.planned', version, epoch: 1, plannedMs, run, job, attempt, ...places });
      this.tell({ kind: 'run.running', version: version + 1, run, job, startedMs: this.nowMs });
      this.started.set(run, { run, job, version: version + 1, attempt });
    } else if (unit.kind === 'preempt') {
      const reason = { code: 'preempted', message: '' };
      for (const victim of unit.claim.victims)
        this.tell({ kind: 'run.stopping', run: victim.run, job: victim.job, reason, preemptor: job });
      this.tell({ kind: 'job.claimed', job, version, run, claim: unit.claim });
    } else this.tell({ kind: 'job.unclaimed', job, version, reason: unit.reason });
  }

  #requeue(id: RunId, by: JobId): void {
    const { run, job, version, attempt } = this.started.get(id)!;
    this.started.delete(id);
    const because = preemptedResult('');
    const preempted = [{ atMs: this.nowMs, by }];
    this.tell({ kind: 'run.ended', run, job, result: because, endedMs: this.nowMs });
    this.tell({
      kind: 'job.requeued',
      job,
      version: version + 1,
      because,
      ...freshPast,
      preempted,
      attempt: attempt + 1,
      sinceMs: this.nowMs,
      notBeforeMs: 0,
    });
  }
}
