// From POST to a running process on an idle fleet, one job at a time. The way takes five commits that must follow each other
// (submit, plan, outbox taken, renewal that names the key, observation) and one process start; their sum is the limit.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectOk, HttpConnection, requestText } from '../load/http-connection.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { median, quantile } from '../statistics.ts';
import { openLogTail } from './log-tail.ts';
import { withClient } from './pg-client.ts';
import { trueJob } from './sample-jobs.ts';
import type { ControlPlane } from './system.ts';

const commitsOnTheWay = 5;
const warmUps = 10;
const startWithinMs = 20_000;
/** Let the end of one job be over before the next begins: the fleet is to be idle. */
const restMs = 25;

export async function measureStart(server: ControlPlane, options: BenchOptions): Promise<ToldRow[]> {
  const count = options.quick ? 50 : 200;
  const values = await startLatencies(server, warmUps + count, options.progress);
  const measured = values.slice(warmUps);
  const commits = await commitLatencies(server.databaseUrl, count);
  const spawns = await spawnLatencies(options.quick ? 50 : 100);
  const limit = (share: number): number =>
    commitsOnTheWay * quantile(commits, share) + quantile(spawns, share);
  const reference = `${commitsOnTheWay} sequential commits of one small row and one process start`;
  const about = 'From submit until run.running is committed, one `true` job at a time on an idle fleet';
  return [
    row({
      name: 'start_p50_ms',
      value: median(measured),
      unit: 'ms',
      reference: [reference, limit(0.5)],
      about: `${about}, median of ${count}`,
      aim: '< 50 ms',
    }),
    row({
      name: 'start_p99_ms',
      value: quantile(measured, 0.99),
      unit: 'ms',
      reference: [reference, limit(0.99)],
      about: `${about}, 99th percentile`,
      aim: null,
    }),
  ];
}

async function startLatencies(
  server: ControlPlane,
  count: number,
  progress: (line: string) => void,
): Promise<number[]> {
  const tail = await openLogTail(server.databaseUrl);
  const connection = await HttpConnection.open(server.target);
  const latencies: number[] = [];
  const body = JSON.stringify(trueJob);
  try {
    for (let i = 0; i < count; i++) {
      const text = requestText({
        method: 'POST',
        path: '/v1/jobs',
        token: server.token,
        key: randomUUID(),
        body,
      });
      const startedMs = performance.now();
      const answered = connection.send(text).then((answer) => expectOk(answer, text));
      await tail.until(({ body }) => body.kind === 'run.running', startWithinMs);
      latencies.push(performance.now() - startedMs);
      await answered;
      await tail.until(({ body }) => body.kind === 'job.ended', startWithinMs);
      await sleep(restMs);
      if (i === 0) progress(`the first job took ${latencies[0]?.toFixed(0)} ms to start`);
    }
    return latencies;
  } finally {
    connection.close();
    await tail.close();
  }
}

/** One connection, one small row, one commit at a time. */
function commitLatencies(url: string, count: number): Promise<number[]> {
  return withClient(url, async (client) => {
    await client.query('CREATE SCHEMA IF NOT EXISTS reference');
    await client.query('CREATE TABLE IF NOT EXISTS reference.small (id int PRIMARY KEY, n int NOT NULL)');
    await client.query('INSERT INTO reference.small VALUES (1, 0) ON CONFLICT DO NOTHING');
    const latencies: number[] = [];
    for (let i = 0; i < count; i++) {
      const startedMs = performance.now();
      await client.query({ name: 'small', text: 'UPDATE reference.small SET n = n + 1 WHERE id = 1' });
      latencies.push(performance.now() - startedMs);
    }
    return latencies;
  });
}

async function spawnLatencies(count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let i = 0; i < count; i++) {
    const startedMs = performance.now();
    const child = spawn('true', { stdio: 'ignore' });
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('spawn', () => {
        latencies.push(performance.now() - startedMs);
      });
      child.once('exit', () => resolve());
    });
  }
  return latencies;
}
