// A run tells that its work is saved (the checkpoint contract, docs/guide/checkpoints.md). The token that its start command
// carried is what authenticates; it is good for nothing else and dies with the run.
import { checkpointSchema } from '@muster/model';
import { unauthenticated } from './auth.ts';
import { committed } from './outcome.ts';
import { header, route, sequenceHeader } from './route.ts';

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
    const token = bearer(header(call, 'authorization'));
    if (token === null) throw unauthenticated();
    api.buckets.take(`run ${token}`, reportLimit);
    const { sequence } = committed(
      await api.store.checkpoint(token, call.body),
      unauthenticated,
      'report the next one; nothing depends on this one',
    );
    return { status: 204, headers: sequenceHeader(sequence) };
  },
});

function bearer(value: string | null): string | null {
  return value?.startsWith('Bearer msr_') && value.length <= 200 ? value.slice(7) : null;
}

export const checkpointRoutes = [reportCheckpoint];
