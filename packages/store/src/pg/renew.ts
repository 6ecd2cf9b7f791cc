// Renewals of many nodes in one transaction: one small update a node, however many tasks it has. The answer is read after
// the node's row is locked, which expiry locks too: a task is either renewed or expired, never both.
import type { NodeId, RunId } from '@muster/model';
import type { Renewal, Renewed } from '../contract.ts';
import type { Database } from '../database.ts';
import type { SessionAnswer } from '../outcomes.ts';
import { longestBeatMs, shortestBeatMs } from '../rules/beat.ts';

const lock = {
  name: 'lock-renewals',
  text: `
SELECT n.id, n.session FROM node n JOIN unnest($1::text[], $2::text[]) AS s (node, session) ON n.id = s.node AND n.session = s.session
ORDER BY n.id FOR NO KEY UPDATE OF n`,
};

/** How often a node beats: a fifth of the shortest stopAfter of the runs it holds. */
export const beatOfNodes = `
SELECT t.node, least(${longestBeatMs}, greatest(${shortestBeatMs}, min(r.stop_after_ms) / 5)) AS beat_ms
FROM task t JOIN run r ON r.id = t.run WHERE t.node = ANY ($1::text[]) AND NOT t.over GROUP BY t.node`;

// The beat is stored as told, because the next renewal is due by it. A stale beat message of the same session may be
// committed after a newer one; both are renewals.
const renew = {
  name: 'renew',
  text: `
WITH beat AS (${beatOfNodes})
UPDATE node SET renewed_ms = now_ms(), renewals = renewals + 1, beat_ms = coalesce(beat.beat_ms, ${longestBeatMs})
FROM unnest($1::text[]) AS s (id) LEFT JOIN beat ON beat.node = s.id
WHERE node.id = s.id
RETURNING node.id, node.beat_ms AS "beatMs"`,
};

// LATERAL with OFFSET keeps the planner from reading every live run once for each key.
const live = {
  name: 'live-keys',
  text: `
SELECT k.node, k.run, r.stop_after_ms AS "stopAfterMs"
FROM unnest($1::text[], $2::text[]) AS k (node, run)
CROSS JOIN LATERAL (SELECT stop_after_ms FROM run WHERE id = k.run AND ended_ms IS NULL OFFSET 0) r
WHERE EXISTS (SELECT FROM task t WHERE t.run = k.run AND t.node = k.node AND NOT t.over)`,
};

export function commitRenewals(database: Database) {
  return async (renewals: readonly Renewal[]): Promise<SessionAnswer<Renewed>[]> => {
    const { value, sequence } = await database.write(
      async (tx) => {
        const nodes = renewals.map((renewal) => renewal.node);
        const sessions = renewals.map((renewal) => renewal.session);
        const locked = await tx.query<{ id: NodeId; session: string }>(lock, [nodes, sessions]);
        const current = new Map(locked.map((row) => [row.id, row.session]));
        const kept = renewals.filter((renewal) => current.get(renewal.node) === renewal.session);
        const keys = kept.flatMap((renewal) => renewal.keys.map((run) => ({ node: renewal.node, run })));
        const [beats, lives] = await Promise.all([
          tx.query<{ id: NodeId; beatMs: number }>(renew, [[...current.keys()]]),
          tx.query<{ node: NodeId; run: RunId; stopAfterMs: number | null }>(live, [
            keys.map((key) => key.node),
            keys.map((key) => key.run),
          ]),
        ]);
        return {
          current,
          beats: new Map(beats.map((row) => [row.id, row.beatMs])),
          lives: Map.groupBy(lives, (row) => row.node),
        };
      },
      { anySequence: true },
    );
    return renewals.map(({ node, session, keys }) => {
      if (value.current.get(node) !== session) return 'stale-session';
      const asked = new Set(keys);
      const named = (value.lives.get(node) ?? []).filter((row) => asked.has(row.run));
      const alive = [...new Map(named.map(({ run, stopAfterMs }) => [run, { run, stopAfterMs }])).values()];
      return { sequence, value: { live: alive, beatMs: value.beats.get(node) ?? longestBeatMs } };
    });
  };
}
