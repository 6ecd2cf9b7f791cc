// Writes back what the rules decided. What a node sells is checked first, as the CHECKs of its row would.
import {
  type ArrayState,
  type JobId,
  type NodeId,
  type ProjectUsage,
  parseMemberId,
  usageAfter,
  wholeDevice,
} from '@muster/model';
import {
  type ArrayRecord,
  type Changes,
  type Delta,
  deltasOf,
  entryHash,
  type JobRecord,
  type RunRecord,
  settleArrays,
  type UsageChange,
} from '@muster/store/rules';
import { check, type Tx } from './database.ts';
import { storeEntry } from './submit.ts';
import type { StoredJob, StoredNode, StoredRun, Tables } from './tables.ts';

export function applyChanges(tx: Tx, changes: Changes): void {
  const { tables } = tx;
  settleArrays(changes);
  changeCapacity(tables, deltasOf(changes.endedRuns, -1));
  for (const job of changes.jobs) writeJob(tables, job, changes.nowMs);
  for (const array of changes.arrays) updateJob(tables, array, changes.nowMs);
  for (const run of changes.runs) writeRun(tables, run);
  for (const { run, task } of changes.tasks) {
    const row = tables.runs.get(run.id)?.tasks.find(({ rank }) => rank === task.rank);
    check(row !== undefined, `task ${task.rank} of ${run.id} exists`);
    row.state = task.state;
  }
  for (const run of changes.checkpoints) {
    const row = runRow(tables, run);
    row.checkpoint = run.checkpoint;
    row.checkpointMs = run.checkpointMs;
  }
  for (const run of changes.halts) runRow(tables, run).halt = run.halt;
  writeOutbox(tx, changes);
  writeUsage(tx, changes.usage);
  tx.append(changes.events);
}

function writeJob(tables: Tables, job: JobRecord, nowMs: number): void {
  if (job.fresh && !tables.jobs.has(job.id)) insertMember(tables, job);
  else updateJob(tables, job, nowMs);
}

/** A member has what its array has, but for the spec, which is kept once. */
function insertMember(tables: Tables, { id, state, version, startedMs }: JobRecord): void {
  const member = parseMemberId(id);
  const array = member && tables.jobs.get(member.array);
  check(member !== null && array !== undefined, `${id} is a member of an array`);
  const memberOf = array?.id as JobId;
  tables.addJob({
    ...(array as StoredJob),
    id,
    spec: null,
    memberOf,
    memberIndex: member.index,
    state,
    version,
    startedMs,
  });
}

function updateJob(tables: Tables, job: JobRecord | ArrayRecord, nowMs: number): void {
  const row = tables.jobs.get(job.id);
  check(row !== undefined, `job ${job.id} exists`);
  row.state = job.state as StoredJob['state'] | ArrayState;
  if ('entry' in job && job.entry) {
    row.entry = entryHash(job.entry.key);
    storeEntry(tables, row.entry, job.entry.demand, nowMs);
  }
  row.version = job.version;
  row.startedMs = job.startedMs;
}

function writeRun(tables: Tables, run: RunRecord): void {
  runRow(tables, run).state = run.state;
  if (run.state.state === 'ended') tables.liveRuns.delete(run.id);
}

function runRow(tables: Tables, { id }: RunRecord): StoredRun {
  const row = tables.runs.get(id);
  check(row !== undefined, `run ${id} exists`);
  return row;
}

function writeOutbox({ tables, epoch }: Tx, changes: Changes): void {
  const over = new Set(changes.endedRuns.map((run) => run.id));
  for (const id of changes.closedRows) tables.outbox.delete(id);
  if (over.size > 0)
    for (const row of [...tables.outbox.values()]) if (over.has(row.run)) tables.outbox.delete(row.id);
  for (const { node, run, stop, again } of changes.stops) {
    if (over.has(run)) continue;
    const standing = tables.outboxRow(run, node, 'stop');
    if (!standing) tables.addOutbox({ epoch, node, run, kind: 'stop', stop });
    // Only a stop that no longer waits for a checkpoint takes the place of one that does.
    else if (standing.stop?.ask && !stop.ask) {
      standing.stop = stop;
      standing.attemptedSession = null;
    } else if (again) standing.attemptedSession = null;
  }
}

function writeUsage({ tables, nowMs }: Tx, changes: readonly UsageChange[]): void {
  const { halfLifeMs } = tables.policy().policy.share;
  for (const { project, uses, sign } of changes) {
    const before: ProjectUsage = tables.usage.get(project) ?? { project, keys: {} };
    tables.usage.set(project, usageAfter(before, uses, sign, nowMs, halfLifeMs));
  }
}

/** A release also pulls the limits of a node that shrank back down to what it has. */
export function changeCapacity(tables: Tables, deltas: ReadonlyMap<NodeId, Delta>): void {
  const changed = [...deltas].flatMap(([id, delta]) => {
    const node = tables.nodes.get(id);
    return node ? [{ node, next: capacityAfter(node, delta) }] : [];
  });
  for (const { node, next } of changed) Object.assign(node, next);
}

function capacityAfter(node: StoredNode, delta: Delta) {
  const cpuMilliUsed = node.cpuMilliUsed + delta.cpuMilli;
  const memoryMibUsed = node.memoryMibUsed + delta.memoryMib;
  const devicesUsed = Array.from(
    { length: Math.max(node.devicesUsed.length, delta.devices.length) },
    (_, i) => (node.devicesUsed[i] ?? 0) + (delta.devices[i] ?? 0),
  );
  const freed = new Set(delta.portsFreed);
  const next = {
    cpuMilliUsed,
    cpuMilliLimit: Math.max(node.cpuMilli, Math.min(node.cpuMilliLimit, cpuMilliUsed)),
    memoryMibUsed,
    memoryMibLimit: Math.max(node.memoryMib, Math.min(node.memoryMibLimit, memoryMibUsed)),
    devicesUsed,
    portsUsed: new Set([...[...node.portsUsed].filter((port) => !freed.has(port)), ...delta.portsTaken]),
    runs: node.runs + delta.runs,
    exclusiveRun: delta.exclusiveTaken ?? (delta.exclusiveFreed ? null : node.exclusiveRun),
  };
  check(cpuMilliUsed >= 0 && cpuMilliUsed <= next.cpuMilliLimit, `cores of ${node.name} oversold`);
  check(memoryMibUsed >= 0 && memoryMibUsed <= next.memoryMibLimit, `memory of ${node.name} oversold`);
  check(
    devicesUsed.every((milli) => milli >= 0 && milli <= wholeDevice),
    `a device of ${node.name} oversold`,
  );
  check(devicesUsed.length <= node.devicesLimit, `a device that ${node.name} does not have`);
  check(next.runs >= 0, `runs of ${node.name} counted`);
  check(next.exclusiveRun === null || next.runs === 1, `${node.name} for one run alone`);
  return next;
}
