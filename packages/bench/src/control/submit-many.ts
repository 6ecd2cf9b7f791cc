// Fills a queue: many jobs in batches, with the ids the server gave them.
import type { JobSpecInput } from '@muster/model';
import { expectOk, HttpConnection, requestText } from '../load/http-connection.ts';
import { batchBody } from './sample-jobs.ts';
import type { ControlPlane } from './system.ts';

const batchSize = 1000;
const lanes = 2;

type BatchAnswer = {
  readonly items: readonly ({ readonly ok: true; readonly id: string } | { readonly ok: false })[];
};

/** At most `count`, and no more than there is time for. */
export async function submitMany(
  { target, token }: ControlPlane,
  count: number,
  job: (i: number) => JobSpecInput,
  withinMs = 60_000,
): Promise<string[]> {
  const endMs = performance.now() + withinMs;
  const ids: string[] = [];
  let sent = 0;

  function nextRequest(): string {
    const size = Math.min(batchSize, count - sent);
    const specs = Array.from({ length: size }, (_, i) => JSON.stringify(job(sent + i)));
    sent += size;
    return requestText({ method: 'POST', path: '/v1/jobs/batch', token, body: batchBody(specs) });
  }

  async function lane(): Promise<void> {
    const connection = await HttpConnection.open(target);
    try {
      while (sent < count && performance.now() < endMs) {
        const text = nextRequest();
        const answer = expectOk(await connection.send(text), text);
        for (const item of (JSON.parse(answer.body.toString()) as BatchAnswer).items) {
          if (!item.ok) throw new Error(`an item of a batch was refused: ${JSON.stringify(item)}`);
          ids.push(item.id);
        }
      }
    } finally {
      connection.close();
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  return ids;
}
