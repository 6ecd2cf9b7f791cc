// Output of a task: bytes from an offset, or a stream that follows (log-stream.ts). Output is bytes from anywhere: it is
// never parsed, and is sent so that no browser takes it for a page.
import { isArray, maxReadBytes } from '@muster/model';
import type { JobRow } from '@muster/store';
import * as z from 'zod';
import { countParam, flagParam } from './check-input.ts';
import type { Api } from './deps.ts';
import { visibleJob } from './jobs.ts';
import { forwardedHeader, forwardRequest } from './log-forward.ts';
import { checkRank, type LogTask, placeOf, taskOf, unreachable } from './log-source.ts';
import { resumePoint, streamLogs } from './log-stream.ts';
import { notFound, refuse } from './problem.ts';
import { type Answer, header, route, streamed } from './route.ts';
import { wantsStream } from './sse.ts';

const query = z.strictObject({
  rank: countParam('which task; 0 when left out'),
  attempt: countParam('which attempt, from 1; the newest when left out'),
  offset: z
    .string()
    .max(30)
    .optional()
    .meta({ description: 'first byte, or the id of a stream event; 0 when left out' }),
  limit: countParam(`bytes at most; ${maxReadBytes} at most and when left out`),
  follow: flagParam('stream, and stay until the task has ended'),
});

export const jobLogs = route({
  id: 'jobLogs',
  method: 'GET',
  path: '/v1/jobs/:id/logs',
  tag: 'jobs',
  summary: 'Output of a task; with Accept: text/event-stream or follow=true as a stream',
  access: 'viewer',
  query,
  headers: { 'Last-Event-ID': 'where to resume a stream: the id of the last event received' },
  stream: true,
  answers: { 200: 'text/plain' },
  async handle(api, call) {
    const { query, request } = call;
    const row = await visibleJob(api, call);
    if (isArray(row.state))
      throw refuse(
        'bad-request',
        `${row.id} is an array, and its members write; ask for one, such as ${row.id}[0]`,
      );
    const rank = query.rank ?? 0;
    checkRank(row, rank);
    const live = query.follow === true || wantsStream(request);
    const resumed = resumePoint((live ? header(call, 'last-event-id') : null) ?? query.offset ?? null);
    const attempt = query.attempt ?? resumed?.attempt ?? null;
    const task = taskOf(await api.store.runs(row.id), rank, attempt);
    if (!task && query.attempt !== undefined) throw notFound(`attempt ${query.attempt} of job`, row.id);
    const place = task ? await placeOf(api, task.node, header(call, forwardedHeader) !== null) : null;
    if (task && place?.at === 'nowhere') throw unreachable(task);
    if (place?.at === 'elsewhere') return forwardRequest(api, call, place.server);
    const offset = resumed?.offset ?? 0;
    if (live) {
      await streamLogs(api, call, row, { rank, task, offset, pinned: query.attempt !== undefined });
      return streamed;
    }
    const limit = Math.max(1, Math.min(query.limit ?? maxReadBytes, maxReadBytes));
    return task ? piece(api, task, offset, limit) : nothingYet(row, offset);
  },
});

async function piece(
  api: Api,
  { node, run, rank, attempt }: LogTask,
  offset: number,
  maxBytes: number,
): Promise<Answer> {
  const read = await api.control.agents.readOutput({ node, run, rank, offset, maxBytes, waitMs: 0 });
  return {
    body: Buffer.from(read.data.buffer, read.data.byteOffset, read.data.byteLength),
    headers: {
      ...textHeaders(read.offset, read.offset + read.data.byteLength, read.size, read.end),
      'muster-attempt': String(attempt),
    },
  };
}

/** A job that never started has no output; one that still waits may have some later. */
function nothingYet(row: JobRow, offset: number): Answer {
  return { body: Buffer.alloc(0), headers: textHeaders(offset, offset, 0, row.state.state === 'ended') };
}

function textHeaders(offset: number, next: number, size: number, end: boolean): Record<string, string> {
  return {
    'content-type': 'text/plain; charset=utf-8',
    'muster-offset': String(offset),
    'muster-next-offset': String(next),
    'muster-size': String(size),
    'muster-end': String(end),
  };
}
