// From POST to a running process on an idle fleet, one job at a time. The way takes five commits that must follow each other
// (submit, plan, outbox taken, renewal that names the key, observation) and one process start; their sum is the limit.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectOk, HttpConnection, requestText } from '../load/http-connection.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { median, quantile } from '../statistics.ts';
import { type LogTail, openLogTail } from './log-tail.ts';
import { withClient } from './pg-client.ts';
import { trueJob } from './sample-jobs.ts';
import type { ControlPlane } from './system.ts';

const commitsOnTheWay = 5;
const warmUps = 10;
const startWithinMs = 20_000;
/** Let the end of one job be over before the next begins: the fleet is to be idle. */
const restMs = 25;
const body = JSON.stringify(trueJob);

export async function measureStart(server: ControlPlane, options: BenchOptions): Promise<ToldRow[]> {
  const effort: Effort = options.quick ? { count: 50, withinMs: 6000 } : { count: 200, withinMs: 25_000 };
  const { starts, commits, spawns } = await takeSamples(server, effort);
  const limit = (share: number): number =>
    commitsOnTheWay * quantile(commits, share) + quantile(spawns, share);
  const reference = `${commitsOnTheWay} sequential commits of one small row and one process start`;
  const about = 'From submit until run.running is committed, one `true` job at a time on an idle fleet';
  return [
    row({
      name: 'start_p50_ms',
      value: median(starts),
      unit: 'ms',
      reference: [reference, limit(0.5)],
      about: `${about}, median of ${starts.length}`,
      aim: '< 50 ms',
    }),
    row({
      name: 'start_p99_ms',
      value: quantile(starts, 0.99),
      unit: 'ms',
      reference: [reference, limit(0.99)],
      about: `${about}, 99th percentile`,
      aim: null,
    }),
  ];
}

/** So many, or as many as there is time for. */
interface Effort {
  readonly count: number;
  readonly withinMs: number;
}

interface Samples {
  readonly starts: number[];
  readonly commits: number[];
  readonly spawns: number[];
}

/** Each start is followed by a bare commit and a bare process start, so that all three see the same machine. */
async function takeSamples(server: ControlPlane, { count, withinMs }: Effort): Promise<Samples> {
  const tail = await openLogTail(server.databaseUrl);
  const connection = await HttpConnection.open(server.target);
  const samples: Samples = { starts: [], commits: [], spawns: [] };
  const endMs = performance.now() + withinMs;
  try {
    await withClient(server.databaseUrl, async (client) => {
      await client.query(smallTable);
      for (let i = -warmUps; i < count && (i <= 0 || performance.now() < endMs); i++) {
        const startMs = await startOne(server, tail, connection);
        await sleep(restMs);
        const commitMs = await timed(() => client.query(smallUpdate));
        const spawnMs = await spawnOne();
        if (i < 0) continue;
        samples.starts.push(startMs);
        samples.commits.push(commitMs);
        samples.spawns.push(spawnMs);
      }
    });
    return samples;
  } finally {
    connection.close();
    await tail.close();
  }
}

const smallTable = `
CREATE SCHEMA IF NOT EXISTS reference;
CREATE TABLE IF NOT EXISTS reference.small (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO reference.small VALUES (1, 0) ON CONFLICT DO NOTHING;`;
const smallUpdate = { name: 'small', text: 'UPDATE reference.small SET n = n + 1 WHERE id = 1' };

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await act();
  return performance.now() - startedMs;
}

async function startOne({ token }: ControlPlane, tail: LogTail, connection: HttpConnection): Promise<number> {
  const text = requestText({ method: 'POST', path: '/v1/jobs', token, key: randomUUID(), body });
  const startedMs = performance.now();
  const answered = connection.send(text).then((answer) => expectOk(answer, text));
  await tail.until((event) => event.body.kind === 'run.running', startWithinMs);
  const latencyMs = performance.now() - startedMs;
  await answered;
  await tail.until((event) => event.body.kind === 'job.ended', startWithinMs);
  return latencyMs;
}

async function spawnOne(): Promise<number> {
  const startedMs = performance.now();
  const child = spawn('true', { stdio: 'ignore' });
  let spawnedMs = 0;
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      spawnedMs = performance.now();
    });
    child.once('exit', () => resolve());
  });
  return spawnedMs - startedMs;
}
