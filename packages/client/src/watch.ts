// A job as it changes, until it ends. Events say when to look again, so that a state is seen as soon as it is written; a
// slow look in between catches what has no event (the reason for waiting) and stands in when the stream is down.
import type { JobDetail } from '@muster/model';
import { type Backoff, backoffMs, sleep } from './backoff.ts';
import { doorbell } from './doorbell.ts';
import type { eventsApi } from './events.ts';
import type { JobsApi } from './jobs.ts';
import { passes } from './stream.ts';

export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
  readonly lookEveryMs?: number | undefined;
  /** Told before each new try while the server is away; the next state is handed out again even when it is the same. */
  readonly onReconnect?: ((error: Error, waitMs: number) => void) | undefined;
}

/** A job that was seen outlives its server, so the watch waits for the next one as the streams do. */
const awayBackoff: Backoff = { baseMs: 500, capMs: 10_000 };

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
    for (let failures = 0; ; ) {
      const job = await api.jobs.get(id, { signal }).catch((error: unknown) => {
        if (!listening || signal.aborted || !passes(error)) throw error;
        return error;
      });
      if (job instanceof Error) {
        failures += 1;
        const waitMs = backoffMs(awayBackoff, failures);
        options.onReconnect?.(job, waitMs);
        seen = '';
        await sleep(waitMs, signal);
        continue;
      }
      failures = 0;
      const shape = JSON.stringify(job);
      if (shape !== seen) yield job;
      seen = shape;
      if (job.state === 'ended') return;
      if (!listening) {
        listening = true;
        void listen(api.events, id, bell.ring, signal);
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
): Promise<void> {
  try {
    // A stream tells what comes after it began: what came between the last look and that is looked for once.
    for await (const _ of events.follow({ job }, { signal, onOpen: ring })) ring();
  } catch {
    // Without the stream the slow look goes on; what is truly wrong shows there.
  }
}
