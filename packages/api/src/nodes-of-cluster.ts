// The nodes of a cluster, for what is asked of or done to all of them.
import { isName, type NodeId } from '@muster/model';
import type { Api } from './deps.ts';
import { notFound } from './problem.ts';

const pageNodes = 1000;

/** Those that were not removed; refused as not found where there is none. */
export async function nodesOfCluster(api: Api, cluster: string): Promise<NodeId[]> {
  // What is no name may not even be text to the database.
  if (!isName(cluster)) throw notFound('cluster', cluster);
  const ids: NodeId[] = [];
  for (let after: string | null = null; ; ) {
    const rows = await api.store.nodes({ cluster, after, limit: pageNodes });
    ids.push(...rows.filter((row) => row.state.state !== 'removed').map((row) => row.id));
    after = rows.at(-1)?.name ?? null;
    if (rows.length < pageNodes) break;
  }
  if (ids.length === 0) throw notFound('cluster', cluster);
  return ids;
}
