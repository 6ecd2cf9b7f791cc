// Clusters: what an operator connects, looks at, drains and removes. A cluster that exists by its agents alone is listed too, without
// a configuration. How a cluster is reached and who pays there is the operators' business, so every route is theirs.
import {
  type ClusterConfig,
  type ConfigRefusal,
  canonicalJson,
  clip,
  clusterConfigSchema,
  isName,
  nameRule,
  placeOfRuns,
  refusedFields,
} from '@muster/model';
import type { ClusterNotAdded, ClusterRow, ClusterSums, Outcome } from '@muster/store';
import * as z from 'zod';
import { defaultLimit, pageQuery } from './check-input.ts';
import { clusterSchema, clusterTestSchema } from './cluster-schemas.ts';
import { clusterView, type SeenCluster } from './cluster-views.ts';
import { pageByName } from './cursor.ts';
import type { Api } from './deps.ts';
import { committed } from './outcome.ts';
import { notFound, type RefusedError, refuse } from './problem.ts';
import { type Answer, type Call, param, route, sequenceHeader } from './route.ts';
import { pageOf } from './view-schemas.ts';

const tag = 'clusters';

async function seen(api: Api): Promise<SeenCluster[]> {
  const [rows, sums, leader] = await Promise.all([
    api.store.clusters(),
    api.store.clusterSums(),
    api.store.leader(),
  ]);
  const leaderUrl = leader.holder?.url ?? null;
  const rowOf = new Map<string, ClusterRow>(rows.map((row) => [row.name, row]));
  const sumOf = new Map<string, ClusterSums>(sums.map((sum) => [sum.cluster, sum]));
  const names = new Set([...rowOf.keys(), ...sumOf.keys()]);
  return [...names].map((name) => ({
    name,
    row: rowOf.get(name) ?? null,
    sums: sumOf.get(name) ?? null,
    leaderUrl,
  }));
}

const listClusters = route({
  id: 'listClusters',
  method: 'GET',
  path: '/v1/clusters',
  tag,
  summary: 'The clusters by name: those that were connected, and those that exist by their agents',
  access: 'operator',
  query: pageQuery,
  answers: { 200: pageOf(clusterSchema) },
  async handle(api, { query: { limit = defaultLimit, cursor } }) {
    const asked = { limit, cursor };
    const rows = await seen(api);
    return { body: await pageByName(api.cursors, 'clusters', rows, asked, ({ name }) => name, clusterView) };
  },
});

async function clusterOf(api: Api, call: Call): Promise<SeenCluster> {
  const name = param(call, 'name');
  const found = (await seen(api)).find((one) => one.name === name);
  if (!found) throw notFound('cluster', name);
  return found;
}

const getCluster = route({
  id: 'getCluster',
  method: 'GET',
  path: '/v1/clusters/:name',
  tag,
  summary: 'One cluster: its configuration, whether it answers, and what it has',
  access: 'operator',
  answers: { 200: clusterSchema },
  handle: async (api, call) => ({ body: clusterView(await clusterOf(api, call)) }),
});

const addCluster = route({
  id: 'addCluster',
  method: 'PUT',
  path: '/v1/clusters/:name',
  tag,
  summary: 'Connect a cluster; its nodes join as soon as it answers. Saying the same again changes nothing',
  access: 'operator',
  body: clusterConfigSchema,
  answers: { 200: clusterSchema, 201: clusterSchema },
  async handle(api, call) {
    const name = param(call, 'name');
    call.request.target = name;
    if (!isName(name)) throw refuse('invalid-field', `"${clip(name)}" is no name for a cluster: ${nameRule}`);
    const { caller, body: config } = call;
    const answer = await api.store.addCluster(name, config, caller.principal);
    const found = (await seen(api)).find((one) => one.name === name);
    const refused = answer.outcome === 'refused' ? answer.refusal : null;
    if (found?.row && refused === 'exists' && canonicalJson(found.row.config) === canonicalJson(config))
      return { body: clusterView(found) };
    const refusedAs = (refusal: ClusterNotAdded) => notAdded(refusal, name, config);
    const { sequence } = committed(answer, refusedAs, 'list the clusters to see');
    if (!found) throw refuse('internal', 'the cluster just added is not there');
    return { status: 201, body: clusterView(found), headers: sequenceHeader(sequence) };
  },
});

function notAdded(refusal: ClusterNotAdded, name: string, config: ClusterConfig): RefusedError {
  switch (refusal) {
    case 'exists':
      return refuse(
        'already-exists',
        `there is a cluster "${name}" already; change it (muster clusters set ${name}), or choose another name`,
      );
    case 'has-agents':
      return refuse(
        'conflict',
        `nodes with agents are in cluster "${name}"; choose another name, or remove those nodes first`,
      );
    case 'place-taken':
      return placeTaken(name, config);
  }
}

function placeTaken(name: string, config: ClusterConfig): RefusedError {
  const own = config.kind === 'slurm' ? 'directory' : 'namespace';
  return refuse(
    'conflict',
    `another cluster keeps its runs in ${placeOfRuns(config)} already, and the two would stop each other's; "${name}" needs a ${own} of its own`,
  );
}

/** One act on a cluster that was connected: look it up, do it, show it. */
async function act<Refusal>(
  api: Api,
  call: Call,
  write: (name: string) => Promise<Outcome<null, Refusal>>,
  refusedAs: (refusal: Refusal, name: string) => RefusedError,
): Promise<Answer> {
  const found = await clusterOf(api, call);
  const { name } = found;
  call.request.target = name;
  if (!found.row)
    throw refuse(
      'conflict',
      `cluster ${name} was never added and exists by its agents; its nodes are drained and removed one by one`,
    );
  const { sequence } = committed(
    await write(name),
    (refusal) => refusedAs(refusal, name),
    'list the clusters to see',
  );
  const now = (await seen(api)).find((one) => one.name === name) ?? found;
  return { body: clusterView(now), headers: sequenceHeader(sequence) };
}

const gone = (name: string): RefusedError => notFound('cluster', name);

const drainBody = z.strictObject({
  reason: z.string().trim().min(1).max(500).meta({ description: 'for whoever wonders why it is empty' }),
});

const drainCluster = route({
  id: 'drainCluster',
  method: 'POST',
  path: '/v1/clusters/:name/drain',
  tag,
  summary: 'Keep new work off all nodes of a cluster; what runs there goes on',
  access: 'operator',
  body: drainBody,
  answers: { 200: clusterSchema },
  handle: (api, call) => {
    const by = call.caller.principal;
    const { reason } = call.body;
    return act(
      api,
      call,
      (name) => api.store.drainCluster(name, { by, reason }, by),
      (_, name) => gone(name),
    );
  },
});

const undrainCluster = route({
  id: 'undrainCluster',
  method: 'POST',
  path: '/v1/clusters/:name/undrain',
  tag,
  summary: 'Let new work onto the nodes of a cluster again',
  access: 'operator',
  answers: { 200: clusterSchema },
  handle: (api, call) =>
    act(
      api,
      call,
      (name) => api.store.drainCluster(name, null, call.caller.principal),
      (_, name) => gone(name),
    ),
});

const setCluster = route({
  id: 'setCluster',
  method: 'PUT',
  path: '/v1/clusters/:name/config',
  tag,
  summary: 'Another configuration of a cluster that was added; what runs there goes on',
  access: 'operator',
  body: clusterConfigSchema,
  answers: { 200: clusterSchema },
  async handle(api, call) {
    const before = (await clusterOf(api, call)).row?.config;
    const { body: config } = call;
    return act(
      api,
      call,
      (name) => api.store.setCluster(name, config, call.caller.principal),
      (refusal, name) => {
        if (refusal === 'place-taken') return placeTaken(name, config);
        return refusal === 'not-found' || !before ? gone(name) : notChanged(name, before, config, refusal);
      },
    );
  },
});

function notChanged(
  name: string,
  before: ClusterConfig,
  after: ClusterConfig,
  refusal: ConfigRefusal,
): RefusedError {
  const fields = refusedFields(before, after, refusal).join(', ');
  const why = {
    'other-kind': `cluster ${name} is of the kind ${before.kind}, which never changes; remove it and add it again`,
    'has-nodes': `${fields} of cluster ${name} is kept with its nodes; remove the cluster and add it again`,
    'in-use': `${fields} of cluster ${name} may not change while runs are on it, because nobody would find them there; drain it and wait, or move what runs there (muster clusters drain ${name} --move)`,
  }[refusal];
  return refuse('conflict', `${why}; nothing was changed`);
}

const removeCluster = route({
  id: 'removeCluster',
  method: 'DELETE',
  path: '/v1/clusters/:name',
  tag,
  summary: 'Forget a cluster that holds no work, and its nodes with it',
  access: 'operator',
  answers: { 200: clusterSchema },
  handle: (api, call) =>
    act(
      api,
      call,
      (name) => api.store.removeCluster(name, call.caller.principal),
      (refusal, name) =>
        refusal === 'not-found'
          ? gone(name)
          : refuse(
              'conflict',
              `cluster ${name} still holds work; drain it and wait, or declare its nodes lost`,
            ),
    ),
});

async function tested(api: Api, config: ClusterConfig): Promise<Answer> {
  if (config.kind === 'agent')
    throw refuse(
      'conflict',
      'nodes with agents speak for themselves; "muster nodes" shows whether they are heard',
    );
  return { body: await api.control.testCluster(config) };
}

const testCluster = route({
  id: 'testCluster',
  method: 'POST',
  path: '/v1/clusters/:name/test',
  tag,
  summary: 'Look at a cluster now, from the server that is asked, and say what is found',
  access: 'operator',
  answers: { 200: clusterTestSchema },
  async handle(api, call) {
    const { name, row } = await clusterOf(api, call);
    call.request.target = name;
    return tested(api, row?.config ?? { kind: 'agent', pool: 'default', capacity: 'owned' });
  },
});

const testConfig = route({
  id: 'testClusterConfig',
  method: 'POST',
  path: '/v1/clusters/test',
  tag,
  summary: 'Look at a cluster that is not added yet',
  access: 'operator',
  body: clusterConfigSchema,
  answers: { 200: clusterTestSchema },
  handle: (api, { body }) => tested(api, body),
});

export const clusterRoutes = [
  listClusters,
  addCluster,
  setCluster,
  testConfig,
  getCluster,
  drainCluster,
  undrainCluster,
  testCluster,
  removeCluster,
];
