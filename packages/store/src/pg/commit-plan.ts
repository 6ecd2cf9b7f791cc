// commitPlan: the one way from decision to fact. It proves the epoch by holding the leader's row, checks the policy version, locks jobs and nodes
// in id order, applies each unit whole or drops it with a reason, and writes runs, tasks, capacity, start rows,
// verdicts, the decision and the events in one transaction: a handful of statements, however many units.
//
// Countable resources of domains and ceilings are not summed up again here; the engine held them, and nothing else adds to them:
// use grows only by plans (and by what operators change: a policy's version is checked, a node that moved to another rack
// took its use along before anybody could ask), only the holder of the epoch makes plans, and it reads the log to its end
// after a commit before it decides again. That leaves a commit whose answer was lost and that takes effect after the next
// plan was made: its jobs are in that plan too and are dropped by their versions, so that more is given than a domain has
// only if they were placed elsewhere the second time. Devices, cores and memory are summed up, because selling those twice
// breaks runs, and more power or quota than was meant does not.
import type { DecisionTrace, NodeId, Plan, PlanUnit, RunId, StartUnit } from '@muster/model';
import type { Outcome, PlanCommitted } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { applyUnits, committedOf, roomsOf } from '../rules/apply-plan-rules.ts';
import { deltasOf } from '../rules/capacity-rules.ts';
import type { NodeRoom } from '../rules/plan-rules.ts';
import { Changes, type RunRecord } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { arrayText, changeCapacity } from './capacity.ts';
import { writeDecision } from './decisions.ts';
import { entryHash } from './entries.ts';
import { loadRuns, lockJobs } from './load.ts';

type Refusal = 'stale-epoch' | 'stale-policy';
type Judged = Outcome<PlanCommitted, Refusal>;

export async function commitPlan(
  database: Database,
  epoch: number,
  plan: Plan,
  trace: DecisionTrace | null,
): Promise<Judged> {
  const { value, sequence } = await database.write<PlanCommitted | Refusal>(
    async (tx) => {
      if (tx.epoch !== epoch) return 'stale-epoch';
      const [policy] = await tx.query<{ version: number }>(policyVersion);
      if (policy?.version !== plan.policyVersion) return 'stale-policy';
      return applyPlan(tx, plan, trace);
    },
    { fenced: true },
  );
  return typeof value === 'string'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

const policyVersion = { name: 'policy-version', text: 'SELECT max(version) AS version FROM policy' };

async function applyPlan(tx: Tx, plan: Plan, trace: DecisionTrace | null): Promise<PlanCommitted> {
  const victims = plan.units.flatMap((unit) => (unit.kind === 'preempt' ? unit.claim.victims : []));
  const { jobs, arrays } = await lockJobs(
    tx,
    [...plan.units, ...victims].map(({ job }) => job),
  );
  const runs = await loadRuns(
    tx,
    jobs,
    victims.map(({ run }) => run),
  );
  const nodes = await lockRooms(tx, plan.units, runs);
  const changes = new Changes(tx.nowMs);
  const { applied, dropped } = applyUnits(changes, plan.units, {
    jobs,
    arrays,
    runs,
    nodes,
    epoch: tx.epoch,
  });
  const started = applied.filter((unit) => unit.kind === 'start');
  await Promise.all([
    writeRuns(tx, started),
    writeVerdicts(tx, plan),
    writeDecision(tx, plan, trace, applied.length),
    applyChanges(tx, changes),
  ]);
  return committedOf({ applied, dropped });
}

const lockRoomsText = {
  name: 'lock-rooms',
  text: `
SELECT id, generation, state_name = 'ready' AND drain IS NULL AS placeable, cpu_milli AS "cpuMilli",
  cpu_milli_used AS "cpuMilliUsed", memory_mib AS "memoryMib", memory_mib_used AS "memoryMibUsed", devices,
  devices_used AS "devicesUsed", ports_used AS "portsUsed", runs, exclusive_run AS "exclusiveRun"
FROM node WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE`,
};

async function lockRooms(
  tx: Tx,
  units: readonly PlanUnit[],
  runs: ReadonlyMap<RunId, RunRecord>,
): Promise<Map<NodeId, NodeRoom>> {
  type Row = Omit<NodeRoom, 'portsUsed'> & { portsUsed: number[] };
  const rows = await tx.query<Row>(lockRoomsText, [roomsOf(units, runs)]);
  return new Map(rows.map((row) => [row.id, { ...row, portsUsed: new Set(row.portsUsed) }]));
}

const insertRuns = {
  name: 'insert-runs',
  text: `
INSERT INTO run (id, job, attempt, epoch, exclusive, port, uses, stop_after_ms, planned_ms, state, state_name)
SELECT r.id, r.job, r.attempt, $6, r.exclusive, r.port, r.uses::jsonb, (job.spec ->> 'stopAfterMs')::bigint, $7,
  '{"state":"planned"}', 'planned'
FROM unnest($1::text[], $2::text[], $3::int[], $4::boolean[], $5::int[], $8::text[])
  AS r (id, job, attempt, exclusive, port, uses)
JOIN job ON job.id = split_part(r.job, '[', 1)`,
};

const insertTasks = {
  name: 'insert-tasks',
  text: `
INSERT INTO task (run, rank, group_index, node, cpu_milli, memory_mib, devices, device_milli, state, state_name)
SELECT run, rank, group_index, node, cpu, memory, devices::int[], milli, '{"state":"planned"}', 'planned'
FROM unnest($1::text[], $2::int[], $3::int[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::int[])
  AS t (run, rank, group_index, node, cpu, memory, devices, milli)`,
};

const insertStarts = {
  name: 'insert-start-rows',
  text: `
INSERT INTO outbox (epoch, node, run, kind)
SELECT $1, node, run, 'start' FROM unnest($2::text[], $3::text[]) AS s (node, run)`,
};

async function writeRuns(tx: Tx, units: readonly StartUnit[]): Promise<void> {
  if (units.length === 0) return;
  const tasks = units.flatMap((unit) => unit.tasks.map((task) => ({ run: unit.run, task })));
  const starts = units.flatMap((unit) =>
    [...new Set(unit.tasks.map((task) => task.node))].map((node) => ({ run: unit.run, node })),
  );
  await Promise.all([
    tx.query(insertRuns, [
      units.map((unit) => unit.run),
      units.map((unit) => unit.job),
      units.map((unit) => unit.attempt),
      units.map((unit) => unit.exclusive),
      units.map((unit) => unit.port),
      tx.epoch,
      tx.nowMs,
      units.map((unit) => JSON.stringify(unit.uses)),
    ]),
    tx.query(insertTasks, [
      tasks.map(({ run }) => run),
      tasks.map(({ task }) => task.rank),
      tasks.map(({ task }) => task.group),
      tasks.map(({ task }) => task.node),
      tasks.map(({ task }) => task.cpuMilli),
      tasks.map(({ task }) => task.memoryMib),
      tasks.map(({ task }) => arrayText(task.devices)),
      tasks.map(({ task }) => task.deviceMilli),
    ]),
    changeCapacity(
      tx,
      deltasOf(
        units.map((unit) => ({ ...unit, id: unit.run })),
        1,
      ),
    ),
    tx.query(insertStarts, [tx.epoch, starts.map(({ node }) => node), starts.map(({ run }) => run)]),
  ]);
}

// Also when it is the same as before: that it was told again, and when, is what a reader goes by.
const upsertVerdicts = {
  name: 'upsert-verdicts',
  text: `
INSERT INTO entry (hash, verdict, seen_ms)
SELECT hash, verdict::jsonb, $3 FROM unnest($1::uuid[], $2::text[]) AS v (hash, verdict)
ON CONFLICT (hash) DO UPDATE SET verdict = excluded.verdict, seen_ms = excluded.seen_ms`,
};

async function writeVerdicts(tx: Tx, { verdicts }: Plan): Promise<void> {
  if (verdicts.length === 0) return;
  // The last word of an entry counts; ordered, because two plans may not lock the rows in different orders.
  const byHash = new Map(verdicts.map(({ entry, verdict }) => [entryHash(entry), JSON.stringify(verdict)]));
  const rows = [...byHash].sort(([a], [b]) => (a < b ? -1 : 1));
  await tx.query(upsertVerdicts, [rows.map(([hash]) => hash), rows.map(([, verdict]) => verdict), tx.nowMs]);
}
