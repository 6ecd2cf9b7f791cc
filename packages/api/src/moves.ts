// Moving work that runs: one job, or everything on a cluster or a node. The run is asked for a checkpoint and stopped with its grace;
// once its end is proven its job starts elsewhere, as the next attempt and charged nothing.
import { type Constraint, type MovedView, placeText } from '@muster/model';
import type { JobRow } from '@muster/store';
import * as z from 'zod';
import type { Api } from './deps.ts';
import { visibleJob } from './jobs.ts';
import { nodeOf } from './nodes.ts';
import { nodesOfCluster } from './nodes-of-cluster.ts';
import { jobFor } from './of-others.ts';
import { knownCluster, notUnmoved, orderMove, placeFor } from './order-move.ts';
import { committed } from './outcome.ts';
import { RefusedError, refuse } from './problem.ts';
import { param, route, sequenceHeader } from './route.ts';
import { jobViewSchema, moveAnswerSchema, movedSchema } from './view-schemas.ts';
import { jobView } from './views.ts';

const reason = z.string().trim().min(1).max(500);
const to = z
  .string()
  .min(1)
  .max(63)
  .meta({ description: 'the cluster it is to go to; any other when left out' });

const moveJob = route({
  id: 'moveJob',
  method: 'POST',
  path: '/v1/jobs/:id/move',
  tag: 'jobs',
  summary:
    'Stop the run of a job with its grace, and start it elsewhere from its checkpoint; charged nothing',
  access: 'member',
  body: z.strictObject({ to: to.optional(), reason: reason.optional() }),
  answers: { 200: moveAnswerSchema },
  async handle(api, call) {
    const row = await visibleJob(api, call);
    const { body, caller } = call;
    const place = await placeFor(api, row, body.to ?? null);
    const { sequence, waits } = await orderMove(api, row, place, body.reason ?? null, caller.principal);
    const now = (await api.store.job(row.id)) ?? row;
    return { body: { job: jobFor(caller, jobView(now)), waits }, headers: sequenceHeader(sequence) };
  },
});

const unmoveJob = route({
  id: 'unmoveJob',
  method: 'DELETE',
  path: '/v1/jobs/:id/move',
  tag: 'jobs',
  summary:
    'Take back where a job is to go; what is being stopped for it stays so, and starts wherever there is room',
  access: 'member',
  answers: { 200: jobViewSchema },
  async handle(api, call) {
    const row = await visibleJob(api, call);
    const answer = await api.store.unmove(row.id, call.caller.principal);
    const now = (await api.store.job(row.id)) ?? row;
    const { sequence } = committed(answer, (refusal) => notUnmoved(refusal, now), `read ${row.id} to see`);
    return { body: jobFor(call.caller, jobView(now)), headers: sequenceHeader(sequence) };
  },
});

/** Each by itself: one that cannot go keeps none of the others. */
async function moveAll(
  api: Api,
  rows: readonly JobRow[],
  place: Constraint,
  why: string,
  by: string,
): Promise<MovedView[]> {
  const items: MovedView[] = [];
  for (const row of rows) {
    const moving = 'move' in row.state && row.state.move && !row.state.move.over;
    // Whoever is on the way already goes where it was sent.
    if (moving)
      items.push({ job: row.id, moves: true, detail: `is moved ${placeText(row.state.move.place)} already` });
    else items.push(await moveOf(api, row, place, why, by));
  }
  return items;
}

async function moveOf(api: Api, row: JobRow, place: Constraint, why: string, by: string): Promise<MovedView> {
  try {
    const { waits } = await orderMove(api, row, place, why, by);
    return { job: row.id, moves: true, detail: waits };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { job: row.id, moves: false, detail: error.message };
  }
}

const moveCluster = route({
  id: 'moveCluster',
  method: 'POST',
  path: '/v1/clusters/:name/move',
  tag: 'clusters',
  summary: 'Move everything that runs on a cluster elsewhere; drain it first, or new work follows',
  access: 'operator',
  body: z.strictObject({ to: to.optional(), reason }),
  answers: { 200: z.object({ items: z.array(movedSchema) }) },
  async handle(api, call) {
    const name = param(call, 'name');
    const { body, caller } = call;
    call.request.target = name;
    const nodes = (await nodesOfCluster(api, name)).map(({ id }) => id);
    if (body.to !== undefined) await knownCluster(api, body.to);
    if (body.to === name)
      throw refuse('conflict', `${name} is where everything is already; nothing is moved`);
    const place: Constraint =
      body.to === undefined
        ? { label: 'cluster', op: 'not-in', values: [name] }
        : { label: 'cluster', op: 'in', values: [body.to] };
    const rows = await api.store.jobsOn(nodes);
    return { body: { items: await moveAll(api, rows, place, body.reason, caller.principal) } };
  },
});

const moveNode = route({
  id: 'moveNode',
  method: 'POST',
  path: '/v1/nodes/:id/move',
  tag: 'nodes',
  summary: 'Move everything that runs on a node elsewhere; drain it first, or new work follows',
  access: 'operator',
  body: z.strictObject({ reason }),
  answers: { 200: z.object({ items: z.array(movedSchema) }) },
  async handle(api, call) {
    const { id, name } = await nodeOf(api, call);
    const place: Constraint = { label: 'node', op: 'not-in', values: [name] };
    const rows = await api.store.jobsOn([id]);
    return { body: { items: await moveAll(api, rows, place, call.body.reason, call.caller.principal) } };
  },
});

export const moveRoutes = [moveJob, unmoveJob, moveCluster, moveNode];
