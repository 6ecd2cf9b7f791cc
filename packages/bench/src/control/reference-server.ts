// A child process: the least that can still be called a durable submit over HTTP. Bare Fastify, no authentication, no
// validation, and one connection that writes all requests which arrived meanwhile in one transaction. Also a read by
// primary key, as the least a GET can cost.
import { randomUUID } from 'node:crypto';
import fastify from 'fastify';
import pg from 'pg';
import { createTables, insertReference, type ReferenceJob, referenceJob } from './reference-rows.ts';
import { trainingJob } from './sample-jobs.ts';

interface Waiting {
  readonly job: ReferenceJob;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const writer = new pg.Client({ connectionString: process.env.DATABASE_URL });
const readers = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 8 });
await writer.connect();
await writer.query(createTables);

let waiting: Waiting[] = [];
let busy = false;

async function drain(): Promise<void> {
  busy = true;
  await Promise.resolve();
  while (waiting.length > 0) {
    const group = waiting;
    waiting = [];
    try {
      await insertReference(
        writer,
        group.map(({ job }) => job),
      );
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
  busy = false;
}

function submit(job: ReferenceJob): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.push({ job, resolve, reject });
    if (!busy) void drain();
  });
}

const make = Array.from({ length: 8 }, (_, i) => referenceJob(trainingJob(i)));
let next = 0;
const app = fastify();
app.post('/v1/jobs', async (request, reply) => {
  const key = request.headers['idempotency-key'];
  const job = (make[next++ % make.length] as (typeof make)[number])(
    typeof key === 'string' ? key : randomUUID(),
  );
  await submit(job);
  reply.code(201).header('content-type', 'application/json').send(`{"id":"${job.id}","repeated":false}`);
});
const one = {
  name: 'one',
  text: 'SELECT id, spec, state, submitted_by, submitted_ms FROM reference.job WHERE id = $1',
};
app.get<{ Params: { id: string } }>('/v1/jobs/:id', async ({ params }, reply) => {
  const { rows } = await readers.query({ ...one, values: [params.id] });
  reply.code(rows.length === 1 ? 200 : 404).send(rows[0]);
});
await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
process.send?.({ port: typeof address === 'object' && address ? address.port : 0 });
process.on('disconnect', () => process.exit());
