// What the agents answered to their commands. Accepted: durably taken, the row has done its work. Refused: it never will
// be, so the tasks of a refused start are over. Stale epoch: the row is handed out again with its present epoch.
//
// An answer counts only for the session that has the row. A refusal of the last connection may be committed late (the database
// was away), after the next connection was handed the row and took it; believed, it would end a task that is about to
// run, and the next attempt would overlap with it until the agent's next beat (S3).
import type { OutboxDone } from '../contract.ts';
import type { Database } from '../database.ts';
import { type AnsweredRow, closeRow } from '../rules/outbox-rules.ts';
import { Changes } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { lockRuns } from './load.ts';

const look = {
  name: 'look-outbox',
  text: `
SELECT id, node, run, kind, attempted_session AS session FROM outbox WHERE id = ANY ($1::bigint[])`,
};
// No session's, and not null either: that would say that the command never left the database.
const reopen = {
  name: 'reopen-outbox',
  text: `
UPDATE outbox o SET attempted_session = '', epoch = greatest(epoch, $3)
FROM unnest($1::bigint[], $2::text[]) AS c (id, session) WHERE o.id = c.id AND o.attempted_session = c.session`,
};

export function commitOutboxDone(database: Database) {
  return async (items: readonly OutboxDone[]): Promise<null[]> => {
    await database.write(
      async (tx) => {
        const ids = items.map((item) => item.id);
        const before = await tx.query<AnsweredRow>(look, [ids]);
        const { runs } = await lockRuns(
          tx,
          before.filter((row) => row.kind === 'start').map((row) => row.run),
        );
        // Under the jobs' locks, which handing out takes too: a row that is gone by now has been answered for.
        const rows = new Map((await tx.query<AnsweredRow>(look, [ids])).map((row) => [row.id, row]));
        const changes = new Changes(tx.nowMs);
        for (const item of items) closeRow(changes, item, rows.get(item.id), runs);
        const stale = items.filter((item) => item.outcome === 'stale-epoch');
        if (stale.length > 0)
          await tx.query(reopen, [stale.map((item) => item.id), stale.map((item) => item.session), tx.epoch]);
        await applyChanges(tx, changes);
      },
      { fenced: true, anySequence: true },
    );
    return items.map(() => null);
  };
}
