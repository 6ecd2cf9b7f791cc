// Hands outbox rows to the server that holds their node's connection. "Attempted" is committed before the command
// leaves, so that a row that was never attempted is known never to have been sent.
import type { NodeId, RunId } from '@muster/model';
import type { DispatchSession, OutboxCommand } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { CommitUnknown } from '../failure.ts';
import { commandsOf, sendableStarts, type TakenRow } from '../rules/outbox-rules.ts';
import { Changes, type RunRecord } from '../rules/records.ts';
import { type StartedJob, startCommands } from '../rules/start-command.ts';
import { hashRunToken, mintRunToken } from '../run-token.ts';
import { applyChanges } from './apply.ts';
import { lockRuns } from './load.ts';

interface Candidate {
  readonly id: number;
  readonly run: RunId;
  readonly session: string;
}

// Most looks find nothing, and a server may hold ten thousand sessions: only those of nodes with something to take are named.
const waiting = {
  name: 'outbox-nodes',
  text: `
SELECT DISTINCT o.node FROM outbox o CROSS JOIN LATERAL (SELECT session FROM node WHERE id = o.node OFFSET 0) n
WHERE o.attempted_session IS DISTINCT FROM n.session OR o.id = ANY ($1::bigint[])`,
};

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

type TakeOutbox = (sessions: readonly DispatchSession[], limit: number) => Promise<readonly OutboxCommand[]>;

export function outboxTaker(database: Database): TakeOutbox {
  // Rows of a take whose COMMIT was not answered: perhaps marked as handed to this session, and never sent by it. Only
  // this process can know, so it takes them again; otherwise they would wait for the node's next session.
  const doubtful = new Set<number>();
  return async (sessions, limit) => {
    const again = [...doubtful];
    const nodes = new Set((await database.query<{ node: NodeId }>(waiting, [again])).map(({ node }) => node));
    const wanted = sessions.filter(({ node }) => nodes.has(node));
    if (wanted.length === 0) return [];
    const names = wanted.map((session) => session.session);
    const fenced = new Set(wanted.flatMap((one) => (one.fenced ? [one.session] : [])));
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
          const rows = await tx.query<Omit<TakenRow, 'fenced'>>(take, [
            ids,
            found.map((row) => row.session),
            again,
          ]);
          const taken = rows.map((row) => ({ ...row, fenced: fenced.has(row.session) }));
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
  rows: readonly TakenRow[],
  runs: ReadonlyMap<RunId, RunRecord>,
): Promise<readonly OutboxCommand[]> {
  const changes = new Changes(tx.nowMs);
  const starts = sendableStarts(changes, rows, runs);
  const commands = starts.size === 0 ? new Map() : await makeCommands(tx, rows, starts);
  await applyChanges(tx, changes);
  return commandsOf(changes, rows, commands);
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

async function makeCommands(tx: Tx, rows: readonly TakenRow[], starts: ReadonlyMap<number, RunRecord>) {
  const runs = [...new Set(starts.values())];
  const [jobs, nodes] = await Promise.all([
    tx.query<StartedJob>(specs, [runs.map((run) => run.job.id)]),
    tx.query<{ id: NodeId; name: string; address: string }>(addresses, [
      [...new Set(runs.flatMap((run) => run.tasks.map((task) => task.node)))],
    ]),
  ]);
  const { commands, tokens } = startCommands(rows, starts, jobs, nodes, mintRunToken);
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
