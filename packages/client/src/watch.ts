// A job as it changes, until it ends. Events say when to look again, so that a state is seen as soon as it is written; a
// slow look in between catches what has no event (the reason for waiting) and stands in when the stream is down.
import type { JobDetail } from '@muster/model';
import { sleep } from './backoff.ts';
import { doorbell } from './doorbell.ts';
import type { eventsApi } from './events.ts';
import type { JobsApi } from './jobs.ts';

export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
  readonly lookEveryMs?: number | undefined;
  readonly onReconnect?: ((error: Error, waitMs: number) => void) | undefined;
}

const defaultLookEveryMs = 2000;
/** Several events of one commit need one look. */
const settleMs = 20;

export async function* watchJob(
  api: { readonly jobs: JobsApi; readonly events: ReturnType<typeof eventsApi> },
  id: string,
  options: WatchOptions = {},
): AsyncGenerator<JobDetail, void, void> {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([stop.signal, options.signal]) : stop.signal;
  const bell = doorbell();
  try {
    let seen = '';
    let listening = false;
    for (;;) {
      const job = await api.jobs.get(id, { signal });
      const shape = JSON.stringify(job);
      if (shape !== seen) yield job;
      seen = shape;
      if (job.state === 'ended') return;
      if (!listening) {
        listening = true;
        void listen(api.events, id, bell.ring, signal, options);
      }
      await Promise.race([bell.rung(), sleep(options.lookEveryMs ?? defaultLookEveryMs, signal)]);
      await sleep(settleMs, signal);
    }
  } catch (error) {
    if (!options.signal?.aborted) throw error;
  } finally {
    stop.abort();
  }
}

async function listen(
  events: ReturnType<typeof eventsApi>,
  job: string,
  ring: () => void,
  signal: AbortSignal,
  options: WatchOptions,
): Promise<void> {
  try {
    for await (const _ of events.follow({ job }, { signal, onReconnect: options.onReconnect })) ring();
  } catch {
    // Without the stream the slow look goes on; what is truly wrong shows there.
  }
}
