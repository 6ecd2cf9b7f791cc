// The nodes of a cluster, for what is asked of or done to all of them.
import { isName } from '@muster/model';
import type { NodeRow } from '@muster/store';
import type { Api } from './deps.ts';
import { notFound } from './problem.ts';

const pageNodes = 1000;

/** Those that were not removed; refused as not found where there is none. */
export async function nodesOfCluster(api: Api, cluster: string): Promise<NodeRow[]> {
  const nodes = await presentNodes(api, cluster);
  if (nodes.length === 0) throw notFound('cluster', cluster);
  return nodes;
}

/** None as well where there is no such cluster. */
export async function presentNodes(api: Api, cluster: string): Promise<NodeRow[]> {
  // What is no name may not even be text to the database.
  if (!isName(cluster)) return [];
  const nodes: NodeRow[] = [];
  for (let after: string | null = null; ; ) {
    const rows = await api.store.nodes({ cluster, after, limit: pageNodes });
    nodes.push(...rows.filter((row) => row.state.state !== 'removed'));
    after = rows.at(-1)?.name ?? null;
    if (rows.length < pageNodes) return nodes;
  }
}
