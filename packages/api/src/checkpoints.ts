// A run tells that its work is saved (the checkpoint contract, docs/guide/checkpoints.md), and a store of checkpoints asks whose a token is
// (docs/guide/moving.md). The token that the run's start command carried is what authenticates; it is good for nothing else and dies
// with the run.
import { checkpointSchema, type OwnRunView } from '@muster/model';
import { unauthenticated } from './auth.ts';
import type { Api } from './deps.ts';
import { committed } from './outcome.ts';
import { type Call, header, route, sequenceHeader } from './route.ts';
import { text, view, whole } from './schema-parts.ts';

/** A program may report as often as it likes; more than this is dropped, and the next one tells more anyway. */
const reportLimit = { perSecond: 1, burst: 20 };

const reportCheckpoint = route({
  id: 'reportCheckpoint',
  method: 'POST',
  path: '/v1/runs/self/checkpoint',
  tag: 'jobs',
  summary: 'Tell that the work of this run is saved; with its own token, MUSTER_RUN_TOKEN',
  access: 'public',
  body: checkpointSchema,
  answers: { 204: 'none' },
  headers: { authorization: 'Bearer and the token in MUSTER_RUN_TOKEN' },
  audit: 'never',
  async handle(api, call) {
    const token = runToken(api, call);
    const { sequence } = committed(
      await api.store.checkpoint(token, call.body),
      unauthenticated,
      'report the next one; nothing depends on this one',
    );
    return { status: 204, headers: sequenceHeader(sequence) };
  },
});

const ownRunSchema = view<OwnRunView>('OwnRun', {
  job: text,
  run: text,
  attempt: whole.meta({ description: 'counts the attempts of the job from 1' }),
});

const ownRun = route({
  id: 'ownRun',
  method: 'GET',
  path: '/v1/runs/self',
  tag: 'jobs',
  summary: 'Whose a token is: the job, run and attempt of MUSTER_RUN_TOKEN; 401 once that run is over',
  access: 'public',
  answers: { 200: ownRunSchema },
  headers: { authorization: 'Bearer and the token in MUSTER_RUN_TOKEN' },
  async handle(api, call) {
    const own = await api.store.ownRun(runToken(api, call));
    if (!own) throw unauthenticated();
    return { body: own satisfies OwnRunView };
  },
});

function runToken(api: Api, call: Call): string {
  const token = bearer(header(call, 'authorization'));
  if (token === null) throw unauthenticated();
  api.buckets.take(`run ${token}`, reportLimit);
  return token;
}

function bearer(value: string | null): string | null {
  return value?.startsWith('Bearer msr_') && value.length <= 200 ? value.slice(7) : null;
}

export const checkpointRoutes = [reportCheckpoint, ownRun];
