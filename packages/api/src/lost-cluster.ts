// The operator's word that a whole cluster is gone: what a node's is for each of its nodes. It is proof of end for everything there, so
// it is taken only of a cluster of which nothing is heard, and what it would do can be asked first.
import type { ClusterLostView } from '@muster/model';
import * as z from 'zod';
import { flagParam } from './check-input.ts';
import type { Api } from './deps.ts';
import { nodesOfCluster } from './nodes-of-cluster.ts';
import { committed } from './outcome.ts';
import { type RefusedError, refuse } from './problem.ts';
import { param, route } from './route.ts';
import { clusterLostSchema } from './view-schemas.ts';

/** Nodes whose names are told. */
const namedMax = 4;

export const declareClusterLost = route({
  id: 'declareClusterLost',
  method: 'POST',
  path: '/v1/clusters/:name/declare-lost',
  tag: 'clusters',
  summary: 'Your word that a whole cluster is gone: everything on its nodes counts as ended',
  access: 'operator',
  query: z.strictObject({ dryRun: flagParam('say only what it would do; nothing is written') }),
  answers: { 200: clusterLostSchema },
  async handle(api, call) {
    const name = param(call, 'name');
    call.request.target = name;
    const nodes = await nodesOfCluster(api, name);
    const heard = nodes.filter(({ state }) => state.state === 'ready');
    if (heard.length > 0) throw stillHeard(name, heard, nodes.length);
    const gone = nodes.filter(({ state }) => state.state === 'silent');
    const jobs = (await api.store.jobsOn(gone.map(({ id }) => id))).map(({ id }) => id);
    const view: ClusterLostView = { cluster: name, nodes: gone.length, jobs, done: !call.query.dryRun };
    if (view.done) for (const node of gone) await declare(api, name, node, call.caller.principal);
    return { body: view };
  },
});

async function declare(
  api: Api,
  cluster: string,
  node: { readonly id: Parameters<Api['store']['declareLost']>[0]; readonly name: string },
  by: string,
): Promise<void> {
  const answer = await api.store.declareLost(node.id, by);
  // Removed meanwhile: nothing is there any more.
  if (answer.outcome === 'refused' && answer.refusal === 'not-found') return;
  committed(
    answer,
    () =>
      refuse(
        'conflict',
        `node ${node.name} of cluster ${cluster} is heard from again; look before you say more`,
      ),
    `list the nodes of ${cluster} to see`,
  );
}

function stillHeard(cluster: string, heard: readonly { readonly name: string }[], all: number): RefusedError {
  const names = heard
    .slice(0, namedMax)
    .map(({ name }) => name)
    .join(', ');
  const more = heard.length > namedMax ? ' and others' : '';
  return refuse(
    'conflict',
    `${heard.length} of ${all} nodes of cluster ${cluster} are heard from (${names}${more}), so it is not gone; drain it, or declare single nodes lost`,
  );
}
