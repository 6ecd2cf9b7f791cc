// Replay of the decision log, for an admin of everything: it shows jobs of all projects. It runs in the second worker, one at a
// time a server; as an event stream it tells how far it is, and it ends when its reader leaves.
import {
  OperationalError,
  type Policy,
  parsePolicy,
  type ReplayRequest,
  type ReplayView,
} from '@muster/model';
import * as z from 'zod';
import type { Api } from './deps.ts';
import { replaySchema } from './engine-view-schemas.ts';
import { replayView } from './engine-views.ts';
import { fieldRefusal, notFound, problemOf, refuse } from './problem.ts';
import { type Call, route, streamed } from './route.ts';
import { type EventStream, wantsStream } from './sse.ts';

const sequence = z.int().min(0);
const defaultLimit = 1_000_000;

const body = z.strictObject({
  from: sequence.optional().meta({ description: 'decisions made at this event or later' }),
  sinceMs: z.int().min(1).optional().meta({ description: 'decisions of the last so many milliseconds' }),
  to: sequence.optional().meta({ description: 'decisions made at this event or before' }),
  policy: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'decide under this policy instead of those that were in force' }),
  policyVersion: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .optional()
    .meta({ description: 'decide under this version of the policy instead of those that were in force' }),
  count: z.boolean().default(false).meta({
    description: 'with a policy: go on after the first difference, each time from the recorded state',
  }),
  limit: z
    .int()
    .min(1)
    .max(10_000_000)
    .default(defaultLimit)
    .meta({ description: 'at most so many decisions' }),
});
type Asked = z.output<typeof body>;

/** The server that has one under way. */
const busy = new WeakSet<Api['control']>();

export const replay = route({
  id: 'replay',
  method: 'POST',
  path: '/v1/replay',
  tag: 'questions',
  summary: 'Make logged decisions again, and compare; as an event stream with progress',
  access: 'operator',
  body,
  bodyBytes: 4 * 1024 * 1024,
  stream: true,
  answers: { 200: replaySchema },
  async handle(api, call) {
    const request = await requestOf(api, call.body);
    if (busy.has(api.control))
      throw refuse('too-many', 'a replay is under way on this server; wait for its end');
    busy.add(api.control);
    try {
      if (!wantsStream(call.request)) return { body: await plain(api, call, request) };
      await streaming(api, api.streams.open(call.request, call.reply, call.caller), request);
      return streamed;
    } finally {
      busy.delete(api.control);
    }
  },
});

async function requestOf(api: Api, asked: Asked): Promise<ReplayRequest> {
  const { from, sinceMs, to, count, limit } = asked;
  const policy = await policyOf(api, asked);
  if (count && !policy)
    throw refuse('bad-request', 'count needs a policy: without one nothing differs but by a bug');
  return {
    fromSequence: from ?? null,
    fromMs: sinceMs === undefined ? null : (await api.store.nowMs()) - sinceMs,
    toSequence: to ?? null,
    policy,
    count,
    limit,
  };
}

async function policyOf(api: Api, { policy, policyVersion }: Asked): Promise<Policy | null> {
  if (policy !== undefined && policyVersion !== undefined)
    throw refuse('bad-request', 'give a policy or the version of one, not both');
  if (policyVersion !== undefined) {
    const row = await api.store.policyAt(policyVersion);
    if (!row) throw notFound('version of the policy', String(policyVersion));
    return row.policy;
  }
  const parsed = policy === undefined ? null : parsePolicy(policy);
  if (parsed && !parsed.ok) throw fieldRefusal(parsed.problems);
  return parsed?.policy ?? null;
}

/** A reader that leaves ends it. */
async function plain(api: Api, { request }: Call, asked: ReplayRequest): Promise<ReplayView> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  request.raw.socket.once('close', leave);
  try {
    return replayView(await api.control.replay(asked, () => {}, left.signal));
  } finally {
    request.raw.socket.off('close', leave);
  }
}

async function streaming(api: Api, stream: EventStream, asked: ReplayRequest): Promise<void> {
  try {
    const report = await api.control.replay(
      asked,
      (progress) => void stream.send('progress', progress),
      stream.signal,
    );
    await stream.send('report', replayView(report));
  } catch (error) {
    if (!(error instanceof OperationalError)) api.log.error({ err: error }, 'a replay failed');
    const told = error instanceof OperationalError ? error : refuse('internal', 'the replay failed');
    await stream.send('problem', problemOf(told.code, told.message));
  } finally {
    stream.end();
  }
}
