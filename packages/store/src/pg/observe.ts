// Observations of many nodes in one transaction. Only the session that holds the node may speak for it; what it says
// of tasks that are over or unknown here is ignored: late news is normal weather. What it says of a live run's tasks on
// other nodes is not taken either, and told to the caller: no correct agent does that.
import type { NodeId } from '@muster/model';
import type { Observed } from '../contract.ts';
import type { Database, Reader } from '../database.ts';
import type { SessionAnswer } from '../outcomes.ts';
import { type ObserveCall, observeCalls } from '../rules/node-rules.ts';
import { Changes, type RunRecord } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { lockRuns } from './load.ts';

export function commitObservations(database: Database) {
  return async (calls: readonly ObserveCall[]): Promise<SessionAnswer<Observed>[]> => {
    const { value, sequence } = await database.write(
      async (tx) => {
        const { runs } = await lockRuns(
          tx,
          calls.flatMap((call) => call.items.map((item) => item.run)),
        );
        const sessions = await lockSessions(tx, involvedNodes(calls, runs.values()));
        const changes = new Changes(tx.nowMs);
        const observed = observeCalls(changes, calls, runs, (node) => sessions.get(node));
        await applyChanges(tx, changes);
        return observed;
      },
      { fenced: true },
    );
    return value.map((observed) => (observed ? { sequence, value: observed } : 'stale-session'));
  };
}

/** Every node a run may give back, so that all of them are locked at once, in order. */
function involvedNodes(calls: readonly ObserveCall[], runs: Iterable<RunRecord>): NodeId[] {
  const nodes = new Set(calls.map((call) => call.session.node));
  for (const run of runs) for (const task of run.tasks) nodes.add(task.node);
  return [...nodes];
}

const lockText = {
  name: 'lock-sessions',
  text: 'SELECT id, session FROM node WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
};

async function lockSessions(
  reader: Reader,
  nodes: readonly NodeId[],
): Promise<ReadonlyMap<NodeId, string | null>> {
  const rows = await reader.query<{ id: NodeId; session: string | null }>(lockText, [nodes]);
  return new Map(rows.map((row) => [row.id, row.session]));
}
