// `true` jobs from submit to proven end, as many a second as one agent and the control plane manage, beside the same supervisor
// driven without a server, beside the bare process starts of Node.
import { spawn } from 'node:child_process';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { bareSupervisorRate } from './bare-supervisor.ts';
import { quiet } from './child.ts';
import { openLogTail } from './log-tail.ts';
import { trueJob } from './sample-jobs.ts';
import { submitMany } from './submit-many.ts';
import type { Bed, ControlPlane } from './system.ts';

/** Cores the agent declares; each job asks for one, so this many run at once. */
export const declaredCpus = 64;
const withinMs = 90_000;
const spawnsAtOnce = 8;

export async function measureThroughput(
  bed: Bed,
  server: ControlPlane,
  options: BenchOptions,
): Promise<ToldRow[]> {
  const bare = await bareSpawnRate(options.quick ? 1500 : 3000);
  options.progress(`bare process starts: ${bare.toFixed(0)}/s`);
  const supervisor = await bareSupervisorRate(bed, options.quick ? 2000 : 5000, declaredCpus);
  options.progress(`bare supervisor: ${supervisor.toFixed(0)}/s`);
  // About as many as take that long if half the limit is reached.
  const jobs = Math.max(declaredCpus * 4, Math.round((supervisor / 2) * (options.quick ? 4 : 10)));
  const value = await endToEndRate(server, jobs);
  await quiet(server.child.pid, 5000);
  return [
    row({
      name: 'jobs_per_s',
      value,
      unit: '1/s',
      reference: ['the supervisor alone starting `true`, as many at once', supervisor],
      about: `\`true\` jobs a second from submit to end, ${jobs} in one go on an agent with ${declaredCpus} declared cores`,
      aim: '>= 50 % of the limit',
    }),
    row({
      name: 'bare_true_per_s',
      value: bare,
      unit: '1/s',
      reference: null,
      about: `child_process.spawn('true') until its exit, ${spawnsAtOnce} at once: what the machine itself can do`,
      aim: null,
    }),
  ];
}

async function endToEndRate(server: ControlPlane, count: number): Promise<number> {
  const tail = await openLogTail(server.databaseUrl);
  try {
    const startedMs = performance.now();
    const [ids] = await Promise.all([submitMany(server, count, () => trueJob), untilEnded(tail, count)]);
    if (ids.length !== count) throw new Error(`${ids.length} of ${count} jobs were accepted`);
    return count / ((performance.now() - startedMs) / 1000);
  } finally {
    await tail.close();
  }
}

function untilEnded(tail: Awaited<ReturnType<typeof openLogTail>>, count: number): Promise<void> {
  let ended = 0;
  return tail.until(({ body }) => {
    if (body.kind !== 'job.ended') return false;
    if (body.result.outcome !== 'succeeded')
      throw new Error(`a \`true\` job did not succeed: ${JSON.stringify(body.result)}`);
    return ++ended === count;
  }, withinMs);
}

async function bareSpawnRate(durationMs: number): Promise<number> {
  const startedMs = performance.now();
  let count = 0;
  const lane = async (): Promise<void> => {
    for (; performance.now() < startedMs + durationMs; count++) {
      const child = spawn('true', { stdio: 'ignore' });
      await new Promise<void>((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', () => resolve());
      });
    }
  };
  await Promise.all(Array.from({ length: spawnsAtOnce }, lane));
  return count / ((performance.now() - startedMs) / 1000);
}
