// When everything that was submitted has been handed to its cluster and the cluster has said that it took it. Asked of the rows
// themselves, because no event tells it.
import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../control/pg-client.ts';

/** Often, but so that counting many rows takes little of the machine that is measured. */
const lookEveryMs = (jobs: number): number => Math.max(20, jobs / 100);
const runningEveryMs = 250;
const left = `
SELECT (SELECT count(*) FROM job WHERE state_name = 'queued')::int AS queued,
  (SELECT count(*) FROM outbox WHERE kind = 'start')::int AS open, (SELECT count(*) FROM job)::int AS jobs`;

interface Left {
  readonly queued: number;
  readonly open: number;
  readonly jobs: number;
}

const runningText = `SELECT count(*)::int AS running FROM job WHERE state_name = 'running'`;

/** So many are known to run, and so whoever comes next is told at once. */
export function untilKnownRunning(databaseUrl: string, jobs: number, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs;
  return withClient(databaseUrl, async (client) => {
    for (;;) {
      const running = (await client.query<{ running: number }>(runningText)).rows[0]?.running ?? 0;
      if (running >= jobs) return;
      if (performance.now() > endMs) throw new Error(`${running} of ${jobs} jobs run after ${withinMs} ms`);
      await sleep(runningEveryMs);
    }
  });
}

/** `jobs`: how many there are in all, so that one which is not yet submitted is waited for. */
export function untilDispatched(databaseUrl: string, jobs: number, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs;
  return withClient(databaseUrl, async (client) => {
    for (;;) {
      const [seen] = (await client.query<Left>(left)).rows;
      if (seen && seen.jobs >= jobs && seen.queued === 0 && seen.open === 0) return;
      if (performance.now() > endMs)
        throw new Error(
          `not all ${jobs} jobs were dispatched within ${withinMs} ms: ${JSON.stringify(seen)}`,
        );
      await sleep(lookEveryMs(jobs));
    }
  });
}
