// The outbox: rows are handed to the session of their node, once each, and closed by that session's answer.
import type { NodeId, RunId } from '@muster/model';
import type { DispatchSession, NodeSession, OutboxCommand, OutboxDone } from '@muster/store';
import {
  Changes,
  closeRow,
  commandsOf,
  hashRunToken,
  type RunRecord,
  type StartedJob,
  sendableStarts,
  startCommands,
  type TakenRow,
} from '@muster/store/rules';
import { applyChanges } from './apply.ts';
import type { MemoryDatabase, Tx } from './database.ts';
import { loadWithRuns } from './load.ts';

/** Rows for these sessions that they were not handed yet, and `again` those of a take whose COMMIT was not answered. */
export function candidates(
  database: MemoryDatabase,
  sessions: readonly NodeSession[],
  limit: number,
  again: ReadonlySet<number>,
): number[] {
  const { tables } = database;
  const names = new Set(sessions.map(({ session }) => session));
  const found: number[] = [];
  for (const row of tables.outbox.values()) {
    const session = tables.nodes.get(row.node)?.session ?? null;
    if (session === null || !names.has(session)) continue;
    if (row.attemptedSession !== session || again.has(row.id)) found.push(row.id);
  }
  return found.sort((a, b) => a - b).slice(0, limit);
}

export function take(
  database: MemoryDatabase,
  ids: readonly number[],
  sessions: readonly DispatchSession[],
  again: ReadonlySet<number>,
): readonly OutboxCommand[] {
  const byName = new Map(sessions.map((one) => [one.session, one]));
  return database.write((tx) => {
    const rows = ids.flatMap((id): TakenRow[] => {
      const row = tx.tables.outbox.get(id);
      // The session is looked at again: another server may have welcomed the node meanwhile.
      const name = row && tx.tables.nodes.get(row.node)?.session;
      const session = name && byName.get(name);
      if (!row || !session) return [];
      if (row.attemptedSession === name && !again.has(id)) return [];
      const { epoch, node, run, kind, stop } = row;
      return [{ id, epoch, node, run, kind, stop, session: name, fenced: session.fenced }];
    });
    const { runs } = loadWithRuns(
      tx.tables,
      rows.map(({ run }) => run),
    );
    for (const { id, session } of rows) {
      const row = tx.tables.outbox.get(id);
      if (row) row.attemptedSession = session;
    }
    return deliverable(tx, database, rows, runs);
  }).value;
}

function deliverable(
  tx: Tx,
  database: MemoryDatabase,
  rows: readonly TakenRow[],
  runs: ReadonlyMap<RunId, RunRecord>,
): OutboxCommand[] {
  const { tables } = tx;
  const changes = new Changes(tx.nowMs);
  const starts = sendableStarts(changes, rows, runs);
  const started = [...new Set(starts.values())];
  const jobs = started.flatMap(({ job }): StartedJob[] => {
    const row = tables.jobs.get(job.id);
    return row ? [{ id: row.id, spec: tables.specOf(row), user: row.submittedBy }] : [];
  });
  const touched = new Set(started.flatMap((run) => run.tasks.map((task) => task.node)));
  const nodes = [...touched].flatMap((id: NodeId) => {
    const node = tables.nodes.get(id);
    return node ? [{ id, name: node.name, address: node.inventory?.address ?? '' }] : [];
  });
  const mint = (run: RunId) => `msr_${run}_${secret(database)}`;
  const { commands, tokens } = startCommands(rows, starts, jobs, nodes, mint);
  for (const [run, token] of tokens) tables.runs.get(run)?.tokens.push(hashRunToken(token));
  applyChanges(tx, changes);
  return commandsOf(changes, rows, commands);
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** As long as a real one, and from the seed. */
function secret(database: MemoryDatabase): string {
  return Array.from({ length: 43 }, () => letters[Math.floor(database.random() * letters.length)]).join('');
}

export function closeAll(database: MemoryDatabase, items: readonly OutboxDone[]): null[] {
  database.write((tx) => {
    const { tables, epoch } = tx;
    const rows = new Map(
      items.flatMap(({ id }) => {
        const row = tables.outbox.get(id);
        return row ? [[id, row] as const] : [];
      }),
    );
    const starts = [...rows.values()].filter(({ kind }) => kind === 'start');
    const { runs } = loadWithRuns(
      tables,
      starts.map(({ run }) => run),
    );
    const changes = new Changes(tx.nowMs);
    for (const item of items) {
      const row = rows.get(item.id);
      if (!row) continue;
      closeRow(changes, item, { ...row, session: row.attemptedSession }, runs);
      if (item.outcome !== 'stale-epoch' || row.attemptedSession !== item.session) continue;
      // No session's, and not null either: that would say that the command never left the database.
      row.attemptedSession = '';
      row.epoch = Math.max(row.epoch, epoch);
    }
    applyChanges(tx, changes);
  });
  return items.map(() => null);
}
