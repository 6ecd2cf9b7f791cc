// Hands outbox rows to the server that holds their node's connection. "Attempted" is committed before the command
// leaves, so that a row that was never attempted is known never to have been sent. A start whose run is over or being
// stopped by now is not sent any more: a cancelled run is never started.
import {
  type JobId,
  type JobSpec,
  layoutRun,
  type NodeId,
  type RunId,
  type StopCommand,
  type TaskPlacement,
} from '@muster/model';
import type { NodeSession, OutboxCommand } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { CommitUnknown } from '../failure.ts';
import { Changes, type RunRecord, type TaskRecord } from '../rules/records.ts';
import { attemptRun, endTasks, isOver, stopOf } from '../rules/run-rules.ts';
import { hashRunToken, mintRunToken } from '../run-token.ts';
import { applyChanges } from './apply.ts';
import { lockRuns } from './load.ts';

interface Row {
  readonly id: number;
  readonly epoch: number;
  readonly node: NodeId;
  readonly run: RunId;
  readonly kind: 'start' | 'stop';
  readonly stop: Omit<StopCommand, 'run'> | null;
  readonly session: string;
}

interface Candidate {
  readonly id: number;
  readonly run: RunId;
  readonly session: string;
}

// From the rows, which are few, to their nodes; never from a thousand sessions, most of which have nothing to take.
const candidates = {
  name: 'outbox-candidates',
  text: `
SELECT o.id, o.run, n.session FROM outbox o CROSS JOIN LATERAL (SELECT session FROM node WHERE id = o.node OFFSET 0) n
WHERE n.session = ANY ($1::text[]) AND (o.attempted_session IS DISTINCT FROM n.session OR o.id = ANY ($3::bigint[]))
ORDER BY o.id LIMIT $2`,
};

// The session is checked again: between looking and taking, another server may have welcomed the node.
const take = {
  name: 'take-outbox',
  text: `
UPDATE outbox o SET attempted_session = c.session
FROM unnest($1::bigint[], $2::text[]) AS c (id, session), node n
WHERE o.id = c.id AND n.id = o.node AND n.session = c.session
  AND (o.attempted_session IS DISTINCT FROM c.session OR o.id = ANY ($3::bigint[]))
RETURNING o.id, o.epoch, o.node, o.run, o.kind, o.stop, c.session`,
};

type TakeOutbox = (sessions: readonly NodeSession[], limit: number) => Promise<readonly OutboxCommand[]>;

export function outboxTaker(database: Database): TakeOutbox {
  // Rows of a take whose COMMIT was not answered: perhaps marked as handed to this session, and never sent by it. Only
  // this process can know, so it takes them again; otherwise they would wait for the node's next session.
  const doubtful = new Set<number>();
  return async (sessions, limit) => {
    const names = sessions.map((session) => session.session);
    const again = [...doubtful];
    // Most looks find nothing; they cost one read and no transaction.
    const found = await database.query<Candidate>(candidates, [names, limit, again]);
    if (found.length === 0) return [];
    const ids = found.map((row) => row.id);
    try {
      const { value } = await database.write(
        async (tx) => {
          const { runs } = await lockRuns(
            tx,
            found.map((row) => row.run),
          );
          const taken = await tx.query<Row>(take, [ids, found.map((row) => row.session), again]);
          return deliverable(
            tx,
            taken.sort((a, b) => a.id - b.id),
            runs,
          );
        },
        { fenced: true, anySequence: true },
      );
      for (const id of ids) doubtful.delete(id);
      return value;
    } catch (error) {
      if (error instanceof CommitUnknown) for (const id of ids) doubtful.add(id);
      throw error;
    }
  };
}

async function deliverable(
  tx: Tx,
  rows: readonly Row[],
  runs: ReadonlyMap<RunId, RunRecord>,
): Promise<readonly OutboxCommand[]> {
  const changes = new Changes(tx.nowMs);
  const starts = new Map<number, RunRecord>();
  for (const row of rows.filter(({ kind }) => kind === 'start')) {
    const run = runs.get(row.run);
    if (run && stopOf(run.state) === null) {
      attemptRun(changes, run);
      starts.set(row.id, run);
    } else dropStart(changes, row, run);
  }
  const commands = await startCommands(tx, rows, starts);
  await applyChanges(tx, changes);
  const over = new Set(changes.endedRuns.map((run) => run.id));
  return rows.flatMap((row): OutboxCommand[] => {
    const { id, epoch, node, session } = row;
    if (over.has(row.run)) return [];
    if (row.kind === 'stop')
      return row.stop
        ? [{ id, epoch, node, session, kind: 'stop', command: { run: row.run, ...row.stop } }]
        : [];
    const command = commands.get(id);
    return command ? [{ id, epoch, node, session, kind: 'start', command }] : [];
  });
}

function dropStart(changes: Changes, row: Row, run: RunRecord | undefined): void {
  changes.closedRows.add(row.id);
  const stop = run ? stopOf(run.state) : null;
  if (!run || !stop) return;
  const unsent = run.tasks.filter((task) => task.node === row.node && !isOver(task));
  const errorClass = stop.result.outcome === 'succeeded' ? 'cancelled' : stop.result.class;
  endTasks(changes, run, unsent, {
    ok: false,
    class: errorClass,
    code: null,
    signal: null,
    reason: stop.reason,
  });
}

const specs = {
  name: 'specs-of-jobs',
  text: `
SELECT job.id, coalesce(job.spec, a.spec) AS spec, job.submitted_by AS "user"
FROM job LEFT JOIN job a ON a.id = job.member_of WHERE job.id = ANY ($1::text[])`,
};
const addresses = {
  name: 'addresses-of-nodes',
  text: `
SELECT n.id, n.name, i.inventory ->> 'address' AS address
FROM node n JOIN inventory i ON i.node = n.id WHERE n.id = ANY ($1::text[])`,
};

type StartCommandOf = Extract<OutboxCommand, { kind: 'start' }>['command'];

async function startCommands(
  tx: Tx,
  rows: readonly Row[],
  starts: ReadonlyMap<number, RunRecord>,
): Promise<ReadonlyMap<number, StartCommandOf>> {
  if (starts.size === 0) return new Map();
  const runs = [...new Set(starts.values())];
  const [jobs, nodes] = await Promise.all([
    tx.query<{ id: JobId; spec: JobSpec; user: string }>(specs, [runs.map((run) => run.job.id)]),
    tx.query<{ id: NodeId; name: string; address: string }>(addresses, [
      [...new Set(runs.flatMap((run) => run.tasks.map((task) => task.node)))],
    ]),
  ]);
  const jobById = new Map(jobs.map((job) => [job.id, job]));
  const nodeById = new Map(nodes.map((node) => [node.id as string, node]));
  const plans = new Map<RunId, RunStart>();
  for (const run of runs) {
    const job = jobById.get(run.job.id);
    if (job) plans.set(run.id, runStart(run, job, nodeById));
  }
  const commands = new Map<number, StartCommandOf>();
  const tokens = new Map<RunId, string>();
  for (const row of rows) {
    const plan = starts.has(row.id) && plans.get(row.run);
    if (!plan) continue;
    const token = tokens.get(row.run) ?? mintRunToken(row.run);
    tokens.set(row.run, token);
    commands.set(row.id, startCommand(plan, row.node, token));
  }
  await tx.query(addTokens, [[...tokens.keys()], [...tokens.values()].map(hashRunToken)]);
  return commands;
}

// A command that is handed out again has another token; the first may be in use.
const addTokens = {
  name: 'add-run-tokens',
  text: `
UPDATE run SET tokens = run.tokens || t.hash
FROM unnest($1::text[], $2::text[]) AS t (id, hash) WHERE run.id = t.id`,
};

interface StartedJob {
  readonly id: JobId;
  readonly spec: JobSpec;
  readonly user: string;
}

/** What all start commands of a run share, made once: a run may have thousands of nodes. */
interface RunStart {
  readonly run: RunRecord;
  readonly job: StartedJob;
  readonly env: (task: TaskPlacement) => Record<string, string>;
  readonly tasksOn: ReadonlyMap<NodeId, readonly TaskRecord[]>;
}

function runStart(
  run: RunRecord,
  job: StartedJob,
  nodes: ReadonlyMap<string, { readonly name: string; readonly address: string }>,
): RunStart {
  const { id, attempt, tasks, port } = run;
  const env = layoutRun({ job: job.id, run: id, attempt, spec: job.spec, tasks, nodes, port });
  const tasksOn = Map.groupBy(
    tasks.filter((task) => !isOver(task)),
    (task) => task.node,
  );
  return { run, job, env, tasksOn };
}

function startCommand({ run, job, env, tasksOn }: RunStart, node: NodeId, token: string): StartCommandOf {
  const { spec } = job;
  return {
    run: run.id,
    job: job.id,
    project: spec.project,
    user: job.user,
    stop: spec.stop,
    timeLimitMs: spec.timeLimitMs,
    stopAfterMs: run.stopAfterMs,
    outputLimitMib: spec.outputLimitMib,
    tasks: (tasksOn.get(node) ?? []).map((task) => ({
      rank: task.rank,
      command: spec.groups[task.group]?.command ?? [],
      env: { ...env(task), MUSTER_RUN_TOKEN: token },
      workdir: spec.workdir,
      devices: task.devices,
      cpuMilli: task.cpuMilli,
      memoryMib: task.memoryMib,
    })),
  };
}
