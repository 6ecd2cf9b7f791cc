// A plan's units against the rows as they are now: each is applied whole, or dropped with a reason that becomes an event.
import {
  type JobId,
  type NodeId,
  type PlanUnit,
  type RunId,
  type StartUnit,
  submittedJob,
  type UnitRefusal,
} from '@muster/model';
import type { PlanCommitted } from '../contract.ts';
import { freshMember } from './array-rules.ts';
import { claimJob, unclaimJob } from './claim-rules.ts';
import { stepJobRecord } from './job-rules.ts';
import { type NodeRoom, placesOf, takeRoom, unitRefusal } from './plan-rules.ts';
import type { ArrayRecord, Changes, JobRecord, RunRecord } from './records.ts';

export interface PlanRows {
  readonly jobs: ReadonlyMap<JobId, JobRecord>;
  readonly arrays: ReadonlyMap<JobId, ArrayRecord>;
  /** The victims that have not ended. */
  readonly runs: ReadonlyMap<RunId, RunRecord>;
  readonly nodes: ReadonlyMap<NodeId, NodeRoom>;
  readonly epoch: number;
}

export interface UnitsApplied {
  readonly applied: readonly PlanUnit[];
  readonly dropped: PlanCommitted['dropped'];
}

/** Every node a plan touches, also those that a victim gives back at once, because its start was never sent. */
export function roomsOf(units: readonly PlanUnit[], runs: ReadonlyMap<RunId, RunRecord>): NodeId[] {
  const ids = new Set<NodeId>();
  for (const run of runs.values()) for (const task of run.tasks) ids.add(task.node);
  for (const unit of units) {
    if (unit.kind === 'release') continue;
    for (const task of placesOf(unit).tasks) ids.add(task.node);
    for (const [node] of unit.nodeGenerations) ids.add(node);
  }
  return [...ids];
}

export function applyUnits(changes: Changes, units: readonly PlanUnit[], rows: PlanRows): UnitsApplied {
  const { jobs, arrays, nodes, runs, epoch } = rows;
  const applied: PlanUnit[] = [];
  const dropped: { run: PlanUnit['run']; refusal: UnitRefusal }[] = [];
  for (const unit of units) {
    const job = jobs.get(unit.job) ?? freshMember(arrays, unit.job) ?? undefined;
    const refusal = unitRefusal(unit, job, nodes, runs);
    if (refusal === null) {
      applyUnit(changes, job as JobRecord, unit, nodes, runs, epoch);
      applied.push(unit);
    } else {
      dropped.push({ run: unit.run, refusal });
      const of = job ?? arrays.get(submittedJob(unit.job)) ?? null;
      changes.event(of, { kind: 'plan.dropped', job: unit.job, run: unit.run, refusal });
    }
  }
  return { applied, dropped };
}

export function committedOf({ applied, dropped }: UnitsApplied): PlanCommitted {
  const jobsOf = (kind: PlanUnit['kind']) =>
    applied.filter((unit) => unit.kind === kind).map((unit) => unit.job);
  return {
    applied: applied.filter((unit) => unit.kind === 'start').map((unit) => unit.run),
    claimed: jobsOf('preempt'),
    released: jobsOf('release'),
    dropped,
  };
}

function applyUnit(
  changes: Changes,
  job: JobRecord,
  unit: PlanUnit,
  nodes: ReadonlyMap<NodeId, NodeRoom>,
  runs: ReadonlyMap<RunId, RunRecord>,
  epoch: number,
): void {
  switch (unit.kind) {
    case 'start':
      takeRoom(unit, nodes);
      placeJob(changes, job, unit, epoch);
      break;
    case 'preempt':
      claimJob(changes, job, unit, runs);
      break;
    case 'release':
      unclaimJob(changes, job, unit.reason);
      break;
  }
}

function placeJob(changes: Changes, job: JobRecord, unit: StartUnit, epoch: number): void {
  stepJobRecord(changes, job, { kind: 'plan', run: unit.run });
  const { run, attempt, exclusive, tasks, port, uses } = unit;
  changes.usage.push({ project: job.project, uses, sign: 1 });
  changes.event(job, {
    kind: 'run.planned',
    job: job.id,
    run,
    attempt,
    exclusive,
    tasks,
    port,
    uses,
    version: job.version,
    epoch,
    plannedMs: changes.nowMs,
  });
}
