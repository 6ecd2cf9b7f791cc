// commitPlan: epoch and policy first, then unit by unit, by the rules that the PostgreSQL store follows too.
import type { DecisionTrace, Plan, StartUnit } from '@muster/model';
import type { Outcome, PlanCommitted } from '@muster/store';
import {
  applyUnits,
  Changes,
  committedOf,
  deltasOf,
  entryHash,
  type NodeRoom,
  roomsOf,
} from '@muster/store/rules';
import { applyChanges, changeCapacity } from './apply.ts';
import { check, type MemoryDatabase, type Tx } from './database.ts';
import { loadJobs, loadRuns } from './load.ts';
import type { StoredNode } from './tables.ts';

type Refusal = 'stale-epoch' | 'stale-policy';

export function commitPlan(
  database: MemoryDatabase,
  epoch: number,
  plan: Plan,
  trace: DecisionTrace | null,
): Outcome<PlanCommitted, Refusal> {
  const { value, sequence } = database.write<PlanCommitted | Refusal>((tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    if (tx.tables.policy().version !== plan.policyVersion) return 'stale-policy';
    return applyPlan(tx, plan, trace);
  });
  return typeof value === 'string'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

function applyPlan(tx: Tx, plan: Plan, trace: DecisionTrace | null): PlanCommitted {
  const { tables, epoch, nowMs } = tx;
  const victims = plan.units.flatMap((unit) => (unit.kind === 'preempt' ? unit.claim.victims : []));
  const { jobs, arrays } = loadJobs(
    tables,
    [...plan.units, ...victims].map(({ job }) => job),
  );
  const runs = loadRuns(
    tables,
    jobs,
    victims.map(({ run }) => run),
  );
  const rooms = roomsOf(plan.units, runs).flatMap((id) => tables.nodes.get(id) ?? []);
  const nodes = new Map(rooms.map((node) => [node.id, roomOf(node)]));
  const changes = new Changes(nowMs);
  const units = applyUnits(changes, plan.units, { jobs, arrays, runs, nodes, epoch });
  const started = units.applied.filter((unit) => unit.kind === 'start');
  changeCapacity(
    tables,
    deltasOf(
      started.map((unit) => ({ ...unit, id: unit.run })),
      1,
    ),
  );
  for (const unit of started) insertRun(tx, unit);
  for (const { entry, verdict } of plan.verdicts) {
    const hash = entryHash(entry);
    tables.entries.set(hash, { demand: tables.entries.get(hash)?.demand ?? null, verdict, seenMs: nowMs });
  }
  logDecision(tx, plan, trace, units.applied.length);
  applyChanges(tx, changes);
  return committedOf(units);
}

function roomOf(node: StoredNode): NodeRoom {
  const { id, generation, cpuMilli, cpuMilliUsed, memoryMib, memoryMibUsed, devices, runs, exclusiveRun } =
    node;
  return {
    id,
    generation,
    placeable: node.state.state === 'ready' && node.drain === null,
    cpuMilli,
    cpuMilliUsed,
    memoryMib,
    memoryMibUsed,
    devices,
    devicesUsed: [...node.devicesUsed],
    portsUsed: new Set(node.portsUsed),
    runs,
    exclusiveRun,
  };
}

function insertRun({ tables, epoch, nowMs }: Tx, unit: StartUnit): void {
  const { run: id, job, attempt, exclusive, port, uses, tasks } = unit;
  const of = tables.jobs.get(job) ?? tables.jobs.get(job.split('[')[0] as typeof job);
  check(of !== undefined, `job ${job} exists`);
  check(!tables.runs.has(id), `run ${id} is new`);
  const row = {
    id,
    job,
    attempt,
    epoch,
    exclusive,
    port,
    stopAfterMs: tables.specOf(of).stopAfterMs,
    uses: { ...uses },
    plannedMs: nowMs,
    tasks: tasks.map((task) => ({
      ...task,
      devices: [...task.devices],
      state: { state: 'planned' } as const,
    })),
    tokens: [],
    state: { state: 'planned' } as const,
    checkpoint: null,
    halt: null,
    checkpointMs: null,
  };
  tables.runs.set(id, row);
  tables.liveRuns.set(id, row);
  for (const node of new Set(tasks.map((task) => task.node)))
    tables.addOutbox({ epoch, node, run: id, kind: 'start', stop: null });
}

function logDecision(
  { tables, epoch, nowMs }: Tx,
  plan: Plan,
  trace: DecisionTrace | null,
  applied: number,
): void {
  tables.decisions.push({
    id: (tables.decisions.at(-1)?.id ?? 0) + 1,
    epoch,
    sequence: plan.sequence,
    nowMs: plan.nowMs,
    policyVersion: plan.policyVersion,
    engineVersion: plan.engineVersion,
    hash: plan.hash,
    units: plan.units.length,
    verdicts: plan.verdicts.length,
    applied,
    life: trace?.life ?? 0,
    turn: trace?.turn ?? 0,
    quiet: [...(trace?.quiet ?? [])],
    replayable: trace !== null,
    committedMs: nowMs,
  });
}
