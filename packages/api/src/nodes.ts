// Nodes. Every authenticated token may look at them: reasons name nodes, and a reason nobody can follow is worth little.
// Changing one takes an admin of everything, because a node serves every project.
import { isName, type NodeId } from '@muster/model';
import type { NodeRow, Outcome } from '@muster/store';
import * as z from 'zod';
import { cursorParam, defaultLimit, limitParam } from './check-input.ts';
import type { Api } from './deps.ts';
import { committed } from './outcome.ts';
import { notFound, type RefusedError, refuse } from './problem.ts';
import { type Answer, type Call, param, route, sequenceHeader } from './route.ts';
import { nodeSchema, pageOf, thawedSchema } from './view-schemas.ts';
import { nodeView } from './views.ts';

const tag = 'nodes';

const listQuery = z.strictObject({
  cluster: z.string().refine(isName, 'must be a cluster name').optional(),
  limit: limitParam,
  cursor: cursorParam,
});

const listNodes = route({
  id: 'listNodes',
  method: 'GET',
  path: '/v1/nodes',
  tag,
  summary: 'List nodes by name',
  access: 'viewer',
  query: listQuery,
  answers: { 200: pageOf(nodeSchema) },
  async handle(api, { query }) {
    const limit = query.limit ?? defaultLimit;
    const after = query.cursor === undefined ? null : await api.cursors.read('nodes', query.cursor);
    const rows = await api.store.nodes({ cluster: query.cluster ?? null, after, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return {
      body: { items: page.map(nodeView), next: last ? await api.cursors.sign('nodes', last.name) : null },
    };
  },
});

/** The node of the path. */
export async function nodeOf(api: Api, call: Call): Promise<NodeRow> {
  const id = param(call, 'id');
  const row = /^[a-z0-9_-]{1,63}$/.test(id) ? await api.store.node(id) : null;
  if (!row) throw notFound('node', id);
  return row;
}

const getNode = route({
  id: 'getNode',
  method: 'GET',
  path: '/v1/nodes/:id',
  tag,
  summary: 'One node, by id or name',
  access: 'viewer',
  answers: { 200: nodeSchema },
  handle: async (api, call) => ({ body: nodeView(await nodeOf(api, call)) }),
});

/** One act on a node: look it up, do it, show it. */
async function act<Refusal>(
  api: Api,
  call: Call,
  write: (node: NodeId) => Promise<Outcome<null, Refusal>>,
  refusedAs: (refusal: Refusal, row: NodeRow) => RefusedError,
): Promise<Answer> {
  const row = await nodeOf(api, call);
  call.request.target = `${row.id} ${row.name}`;
  const { sequence } = committed(
    await write(row.id),
    (refusal) => refusedAs(refusal, row),
    `read node ${row.name} to see`,
  );
  const now = (await api.store.node(row.id)) ?? row;
  return { body: nodeView(now), headers: sequenceHeader(sequence) };
}

const gone = (row: NodeRow): RefusedError => notFound('node', row.name);

const drainBody = z.strictObject({
  reason: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .meta({ description: 'for whoever wonders why the node is empty' }),
});

const drainNode = route({
  id: 'drainNode',
  method: 'POST',
  path: '/v1/nodes/:id/drain',
  tag,
  summary: 'Keep new work off a node; what runs there goes on',
  access: 'operator',
  body: drainBody,
  answers: { 200: nodeSchema },
  handle: (api, call) => {
    const by = call.caller.principal;
    return act(
      api,
      call,
      (node) => api.store.drain(node, { by, reason: call.body.reason }, by),
      (_, row) => gone(row),
    );
  },
});

const undrainNode = route({
  id: 'undrainNode',
  method: 'POST',
  path: '/v1/nodes/:id/undrain',
  tag,
  summary: 'Let new work onto a node again',
  access: 'operator',
  answers: { 200: nodeSchema },
  handle: (api, call) =>
    act(
      api,
      call,
      (node) => api.store.drain(node, null, call.caller.principal),
      (_, row) => gone(row),
    ),
});

const trustBody = z.strictObject({
  trust: z
    .number()
    .min(0)
    .max(1)
    .refine((n) => Math.round(n * 1000) / 1000 === n, { message: 'must be in thousandths' })
    .meta({ description: '1 is full trust; at 0.8 a fifth of the price is added to the score of the node' }),
});

const trustNode = route({
  id: 'trustNode',
  method: 'POST',
  path: '/v1/nodes/:id/trust',
  tag,
  summary: 'Say how far work on a node is trusted to come to its end; jobs avoid what is not where they can',
  access: 'operator',
  body: trustBody,
  answers: { 200: nodeSchema },
  handle: (api, call) =>
    act(
      api,
      call,
      (node) => api.store.trust(node, Math.round(call.body.trust * 1000), call.caller.principal),
      (_, row) => gone(row),
    ),
});

const declareLost = route({
  id: 'declareNodeLost',
  method: 'POST',
  path: '/v1/nodes/:id/declare-lost',
  tag,
  summary: 'Your word that the machine is gone: everything on it counts as ended',
  access: 'operator',
  answers: { 200: nodeSchema },
  handle: (api, call) =>
    act(
      api,
      call,
      (node) => api.store.declareLost(node, call.caller.principal),
      (refusal, row) =>
        refusal === 'not-found'
          ? gone(row)
          : refuse(
              'conflict',
              `node ${row.name} is connected and renewing; stop its agent first if it is really gone`,
            ),
    ),
});

const removeNode = route({
  id: 'removeNode',
  method: 'DELETE',
  path: '/v1/nodes/:id',
  tag,
  summary: 'Forget a node that holds no work and takes none',
  access: 'operator',
  answers: { 200: nodeSchema },
  handle: (api, call) =>
    act(
      api,
      call,
      (node) => api.store.removeNode(node, call.caller.principal),
      (refusal, row) => notRemoved(refusal, row),
    ),
});

function notRemoved(refusal: 'not-found' | 'in-use' | 'takes-work', row: NodeRow): RefusedError {
  switch (refusal) {
    case 'not-found':
      return gone(row);
    case 'in-use':
      return refuse('conflict', `node ${row.name} still holds work; drain it and wait, or declare it lost`);
    case 'takes-work':
      return refuse(
        'conflict',
        `node ${row.name} is connected and takes work; drain it first (muster drain ${row.name} --reason ...), or stop its agent`,
      );
  }
}

const thawCluster = route({
  id: 'thawCluster',
  method: 'POST',
  path: '/v1/clusters/:name/thaw',
  tag,
  summary: 'Let a cluster that fell silent at once be rescheduled',
  access: 'operator',
  answers: { 200: thawedSchema },
  async handle(api, call) {
    const cluster = param(call, 'name');
    if (!isName(cluster)) throw notFound('cluster', cluster);
    const { sequence } = committed(
      await api.store.thaw(cluster, call.caller.principal),
      () => refuse('conflict', `cluster ${cluster} is not frozen; there is nothing to thaw`),
      'list its nodes to see',
    );
    return { body: { cluster, frozen: false }, headers: sequenceHeader(sequence) };
  },
});

export const nodeRoutes = [
  listNodes,
  getNode,
  drainNode,
  undrainNode,
  trustNode,
  declareLost,
  removeNode,
  thawCluster,
];
