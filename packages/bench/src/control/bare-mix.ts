// The least that requests like those of the loaded API can cost: half single-row writes, half single-row reads, through bare
// Fastify, at the same rate, with nothing else going on.
import { randomUUID } from 'node:crypto';
import { expectOk, HttpConnection, requestText } from '../load/http-connection.ts';
import { openLoop } from '../load/open-loop.ts';
import { quantile } from '../statistics.ts';
import { startReference } from './reference-process.ts';
import { trainingJob } from './sample-jobs.ts';
import type { Bed } from './system.ts';

export async function bareMixP99Ms(
  bed: Bed,
  databaseUrl: string,
  perSecond: number,
  durationMs: number,
): Promise<number> {
  const { child, target } = await startReference(bed, databaseUrl);
  const body = JSON.stringify(trainingJob(1));
  const post = (): string =>
    requestText({ method: 'POST', path: '/v1/jobs', token: 'none', key: randomUUID(), body });
  const connection = await HttpConnection.open(target);
  const first = post();
  const answer = expectOk(await connection.send(first), first);
  connection.close();
  const { id } = JSON.parse(answer.body.toString()) as { id: string };
  const read = requestText({ method: 'GET', path: `/v1/jobs/${id}`, token: 'none' });
  const request = (i: number) => (i % 2 ? { kind: 'submit', text: post() } : { kind: 'get', text: read });
  const latencies = await openLoop({ target, perSecond, durationMs, request });
  await child.stop();
  // The first second warms the process up.
  const warm = latencies.slice(perSecond).map(({ ms }) => ms);
  return quantile(warm, 0.99);
}
