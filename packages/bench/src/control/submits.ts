// How many submits a second become durable: one job a request, and a thousand a request. Figure and limit take turns, so that what
// else the machine does meanwhile falls on both.
import { randomUUID } from 'node:crypto';
import { closedLoop } from '../load/closed-loop.ts';
import { type HttpTarget, requestText } from '../load/http-connection.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { median } from '../statistics.ts';
import { quiet } from './child.ts';
import { startReference } from './reference-process.ts';
import { bareBatchRate } from './reference-rows.ts';
import { batchBody, trainingJob } from './sample-jobs.ts';
import { type Bed, type ControlPlane, clientTokens } from './system.ts';

const connections = 64;
const batchSize = 1000;
const batchesInFlight = 3;
const quietWithinMs = 5000;
const batchSpecs = Array.from({ length: batchSize }, (_, i) => JSON.stringify(trainingJob(i)));

interface Taken {
  readonly value: number;
  readonly limit: number;
}

/** Turns of limit and figure; the medians are compared. */
async function turns(
  count: number,
  limit: () => Promise<number>,
  value: () => Promise<number>,
): Promise<Taken> {
  const limits: number[] = [];
  const values: number[] = [];
  for (let i = 0; i < count; i++) {
    limits.push(await limit());
    values.push(await value());
  }
  return { value: median(values), limit: median(limits) };
}

export async function measureSubmits(
  bed: Bed,
  server: ControlPlane,
  options: BenchOptions,
): Promise<ToldRow> {
  const sliceMs = options.quick ? 1500 : 3000;
  const tokens = await clientTokens(server, connections);
  const reference = await startReference(bed, server.databaseUrl);
  const bodies = Array.from({ length: 256 }, (_, i) => JSON.stringify(trainingJob(i)));
  let next = 0;
  const request = (i: number): string =>
    requestText({
      method: 'POST',
      path: '/v1/jobs',
      token: tokens[i] ?? '',
      key: randomUUID(),
      body: bodies[next++ % bodies.length] ?? '',
    });
  const rate = async (target: HttpTarget): Promise<number> => {
    await quiet(server.child.pid, quietWithinMs);
    return closedLoop({ target, connections, durationMs: sliceMs, request });
  };
  // The first requests of a process run uncompiled code.
  for (const target of [reference.target, server.target])
    await closedLoop({ target, connections, durationMs: sliceMs / 3, request });
  const taken = await turns(
    options.quick ? 1 : 3,
    () => rate(reference.target),
    () => rate(server.target),
  );
  await reference.child.stop();
  return row({
    name: 'submits_per_s',
    value: taken.value,
    unit: '1/s',
    reference: ['a bare Fastify route that writes the same rows in groups, under the same load', taken.limit],
    about: `Durable submits a second, one job a request, ${connections} keep-alive clients`,
    aim: '>= 70 % of the limit',
  });
}

export async function measureBatches(server: ControlPlane, options: BenchOptions): Promise<ToldRow> {
  const sliceMs = options.quick ? 2000 : 3000;
  const inputs = Array.from({ length: batchSize }, (_, i) => trainingJob(i));
  await batchRate(server, 1000);
  const taken = await turns(
    options.quick ? 1 : 3,
    async () => {
      await quiet(server.child.pid, quietWithinMs);
      return bareBatchRate(server.databaseUrl, inputs, sliceMs);
    },
    () => batchRate(server, sliceMs),
  );
  return row({
    name: 'batch_submits_per_s',
    value: taken.value,
    unit: '1/s',
    reference: ['bare inserts of the same rows, one connection, 1,000 a transaction', taken.limit],
    about: `Durable submits a second in batches of ${batchSize}, ${batchesInFlight} requests in flight`,
    aim: '>= 20,000/s and >= 70 % of the limit',
  });
}

async function batchRate({ target, token }: ControlPlane, durationMs: number): Promise<number> {
  const request = (): string => {
    const body = batchBody(batchSpecs);
    return requestText({ method: 'POST', path: '/v1/jobs/batch', token, body });
  };
  return batchSize * (await closedLoop({ target, connections: batchesInFlight, durationMs, request }));
}
