// Cancels every job that has not ended and waits until nothing runs. Queued ones too: they would start in the room that
// the others leave.
import type { Cli } from '@muster/cli';
import type { MusterClient } from '@muster/client';
import type { JobView } from '@muster/model';

const open: readonly JobView['state'][] = ['queued', 'starting', 'running', 'stopping'];
/** Longer than the usual grace of 30 s. */
const withinMs = 60_000;

export async function stopJobs(cli: Cli, client: MusterClient): Promise<void> {
  let told = false;
  for (const deadline = performance.now() + withinMs; ; ) {
    const { items } = await client.jobs.list({ state: open, limit: 1000 });
    if (items.length === 0) break;
    if (!told)
      cli.note(`Cancelling ${items.length} job${items.length === 1 ? '' : 's'} and waiting for their end.`);
    told = true;
    // Those without a run first, so that none of them starts meanwhile.
    const waiting = items.filter(({ state }) => state === 'queued');
    const placed = items.filter(({ state }) => state === 'starting' || state === 'running');
    for (const { id } of [...waiting, ...placed]) await client.jobs.cancel(id);
    if (performance.now() > deadline) {
      cli.note(
        `${items.length} jobs have not ended within ${withinMs / 1000} s; they are being stopped and end without us.`,
      );
      return;
    }
    await new Promise((wake) => setTimeout(wake, 200));
  }
  cli.note('No job runs. Stopping.');
}
