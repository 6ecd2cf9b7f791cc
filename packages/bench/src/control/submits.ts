// How many submits a second become durable: one job a request, and a thousand a request. Figure and limit take turns, so that what
// else the machine does meanwhile falls on both.
import { randomUUID } from 'node:crypto';
import { closedLoop } from '../load/closed-loop.ts';
import { type HttpTarget, requestText } from '../load/http-connection.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { median } from '../statistics.ts';
import { cpuMs, familyCpuMs, quiet } from './child.ts';
import { startReference } from './reference-process.ts';
import { bareBatchRate } from './reference-rows.ts';
import { batchBody, trainingJob } from './sample-jobs.ts';
import { type Bed, type ControlPlane, clientTokens } from './system.ts';

const connections = 64;
const batchSize = 1000;
const batchesInFlight = 3;
const quietWithinMs = 5000;
const batchSpecs = Array.from({ length: batchSize }, (_, i) => JSON.stringify(trainingJob(i)));

/** Turns of limit and figure. */
async function turns<T>(
  count: number,
  limit: () => Promise<T>,
  value: () => Promise<T>,
): Promise<{ readonly limits: readonly T[]; readonly values: readonly T[] }> {
  const limits: T[] = [];
  const values: T[] = [];
  for (let i = 0; i < count; i++) {
    limits.push(await limit());
    values.push(await value());
  }
  return { limits, values };
}

/** How fast it went, and what server and database worked for each: the second hardly depends on what else the machine does. */
interface Load {
  readonly perSecond: number;
  readonly cpuUs: number;
}

export async function measureSubmits(
  bed: Bed,
  server: ControlPlane,
  options: BenchOptions,
): Promise<ToldRow[]> {
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
  const load = async (target: HttpTarget, pid: number): Promise<Load> => {
    await quiet(server.child.pid, quietWithinMs);
    const cpuNowMs = (): number => cpuMs(pid) + familyCpuMs(bed.postgresPid);
    const beforeMs = cpuNowMs();
    let count = 0;
    const counted = (i: number): string => {
      count++;
      return request(i);
    };
    const perSecond = await closedLoop({ target, connections, durationMs: sliceMs, request: counted });
    // The engine hears of them a moment later.
    await quiet(server.child.pid, quietWithinMs);
    return { perSecond, cpuUs: ((cpuNowMs() - beforeMs) / count) * 1000 };
  };
  // The first requests of a process run uncompiled code.
  for (const target of [reference.target, server.target])
    await closedLoop({ target, connections, durationMs: sliceMs / 3, request });
  const taken = await turns(
    options.quick ? 1 : 3,
    () => load(reference.target, reference.child.pid),
    () => load(server.target, server.child.pid),
  );
  await reference.child.stop();
  const bare = 'a bare Fastify route that writes the same rows in groups, under the same load';
  const { limits, values } = taken;
  return [
    row({
      name: 'submits_per_s',
      value: median(values.map(({ perSecond }) => perSecond)),
      unit: '1/s',
      reference: [bare, median(limits.map(({ perSecond }) => perSecond))],
      about: `Durable submits a second, one job a request, ${connections} keep-alive clients`,
      aim: '>= 70 % of the limit',
    }),
    row({
      name: 'submit_cpu_us',
      value: median(values.map(({ cpuUs }) => cpuUs)),
      unit: 'us',
      reference: [bare, median(limits.map(({ cpuUs }) => cpuUs))],
      about: 'Time on a core that one such submit takes, of server, engine and database together',
      aim: null,
    }),
  ];
}

export async function measureBatches(server: ControlPlane, options: BenchOptions): Promise<ToldRow> {
  const sliceMs = options.quick ? 2000 : 3000;
  const inputs = Array.from({ length: batchSize }, (_, i) => trainingJob(i));
  await batchRate(server, 1000);
  const { limits, values } = await turns(
    options.quick ? 1 : 3,
    async () => {
      await quiet(server.child.pid, quietWithinMs);
      return bareBatchRate(server.databaseUrl, inputs, sliceMs);
    },
    () => batchRate(server, sliceMs),
  );
  return row({
    name: 'batch_submits_per_s',
    value: median(values),
    unit: '1/s',
    reference: ['bare inserts of the same rows, one connection, 1,000 a transaction', median(limits)],
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
