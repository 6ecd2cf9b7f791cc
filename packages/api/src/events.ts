// The log as people and programs read it: pages, or a live tail that resumes where it was cut. A position is
// `<log id>.<sequence>`; the log id changes when the database is restored, and a position of another log is gone (410)
// rather than silently wrong.
import type { JobId } from '@muster/model';
import type { LogHead } from '@muster/store';
import * as z from 'zod';
import type { Caller } from './auth.ts';
import { pause } from './changes.ts';
import { defaultLimit, limitParam } from './check-input.ts';
import type { Api } from './deps.ts';
import { findJob } from './find-job.ts';
import { eventFor } from './of-others.ts';
import { refuse } from './problem.ts';
import { type Call, header, route, streamed } from './route.ts';
import { wantsStream } from './sse.ts';
import { eventSchema, pageOf } from './view-schemas.ts';

const position = z.string().max(200).optional();
const query = z.strictObject({
  after: position.meta({
    description:
      'a position `<log id>.<sequence>`, 0 for the beginning, or -n for n events before the end; a stream without one starts now',
  }),
  cursor: position.meta({ description: 'where the page before ended: its `next`; goes before `after`' }),
  job: z.string().max(64).optional().meta({ description: 'only events of this job' }),
  limit: limitParam,
});

export const listEvents = route({
  id: 'listEvents',
  method: 'GET',
  path: '/v1/events',
  tag: 'events',
  summary: 'Events in commit order; with Accept: text/event-stream a live tail',
  access: 'viewer',
  query,
  headers: { 'Last-Event-ID': 'the position to resume a stream after' },
  stream: true,
  answers: { 200: pageOf(eventSchema) },
  async handle(api, call) {
    const { query, caller, request } = call;
    const job = await jobFilter(api, caller, query.job);
    const head = await api.store.head();
    const live = wantsStream(request);
    const asked = (live ? header(call, 'last-event-id') : null) ?? query.cursor ?? query.after;
    const after = asked === undefined ? (live ? head.sequence : head.first - 1) : readPosition(asked, head);
    if (live) {
      await tail(api, call, head.logId, after, job);
      return streamed;
    }
    const limit = query.limit ?? defaultLimit;
    const events = await api.store.events({ scope: caller.project, after, job, limit });
    const more = events.length === limit;
    // Fewer than asked means everything up to the head was looked at.
    const reached = more
      ? (events.at(-1)?.sequence ?? after)
      : Math.max(head.sequence, events.at(-1)?.sequence ?? after);
    const next = `${head.logId}.${reached}`;
    return {
      body: {
        items: await Promise.all(events.map((event) => eventFor(api, caller, event))),
        next: more ? next : null,
      },
      headers: { 'muster-cursor': next },
    };
  },
});

async function jobFilter(api: Api, caller: Caller, id: string | undefined): Promise<JobId | null> {
  if (id === undefined) return null;
  return (await findJob(api, caller, id)).id;
}

function readPosition(text: string, head: LogHead): number {
  if (text === '0') return head.first - 1;
  if (/^-\d{1,9}$/.test(text)) return Math.max(head.first - 1, head.sequence + Number(text));
  const match = /^([A-Za-z0-9_-]{1,100})\.(\d{1,15})$/.exec(text);
  if (!match)
    throw refuse('bad-cursor', 'a position is `<log id>.<sequence>` as an event or page gave it, 0, or -n');
  const sequence = Number(match[2]);
  if (match[1] !== head.logId)
    throw refuse(
      'log-gone',
      'that position is of another log (the database was restored); start again from 0',
    );
  if (sequence < head.first - 1)
    throw refuse('log-gone', `the log holds events from ${head.first} on; start again from 0`);
  if (sequence > head.sequence) throw refuse('bad-cursor', 'that position is ahead of the log');
  return sequence;
}

const maxIdleMs = 1000;
const settleMs = 50;
const tellPositionMs = 10_000;
const pageSize = 500;

/**
 * Reads until there is nothing more, then waits for a hint or a second, whichever is first. The position is told at once and now
 * and then, without an event: a reader that is cut off before its first event, or sees few of many, then misses nothing
 * and does not read again what it need not.
 */
async function tail(api: Api, call: Call, logId: string, from: number, job: JobId | null): Promise<void> {
  const stream = api.streams.open(call.request, call.reply, call.caller);
  let after = from;
  let told = -1;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  const tellPosition = async (): Promise<void> => {
    if (after === told || performance.now() - toldAtMs < tellPositionMs) return;
    await stream.send('position', {}, `${logId}.${after}`);
    told = after;
    toldAtMs = performance.now();
  };
  try {
    while (!stream.signal.aborted) {
      await tellPosition();
      const changed = api.changes.next(maxIdleMs, stream.signal);
      const head = await api.store.head();
      if (head.logId !== logId) break;
      const events = await api.store.events({ scope: call.caller.project, after, job, limit: pageSize });
      for (const event of events) {
        const view = await eventFor(api, call.caller, event);
        await stream.send(event.body.kind, view, `${logId}.${event.sequence}`);
        after = event.sequence;
        told = after;
      }
      if (events.length === pageSize) continue;
      after = Math.max(after, head.sequence);
      await changed;
      await pause(settleMs, stream.signal);
    }
  } catch (error) {
    // The client comes back with its last id and gets the refusal in words.
    api.log.warn({ err: error }, 'an event stream was cut');
  } finally {
    stream.end();
  }
}
