// What `npm run quickstart` shows: a whole Muster in a temporary folder, shown at work by the commands a person would type, and gone
// afterwards. Also the first test a newcomer runs: it ends with 0 only when everything it shows was true.
import { readFileSync } from 'node:fs';
import {
  ansiPaint,
  clean,
  measured,
  noPaint,
  type OutStream,
  type Paint,
  runCli,
  type Terminal,
} from '@muster/cli';
import type { MusterClient } from '@muster/client';
import { versionInfo } from '../version.ts';
import { prepareScene, type Scene } from './scene.ts';

const deadlineMs = 180_000;
const paint: Paint = process.stdout.isTTY && !process.env.NO_COLOR ? ansiPaint : noPaint;
/** The show goes on in its own promise after an interruption; from then on nobody wants to hear it. */
let over = false;
const stage: OutStream = {
  isTTY: process.stdout.isTTY,
  get columns() {
    return process.stdout.columns;
  },
  write: (data) => over || process.stdout.write(data),
};
const say = (text = ''): void => void stage.write(`${text}\n`);

class QuickstartFailure extends Error {
  override readonly name = 'QuickstartFailure';
}

const interruption = new QuickstartFailure('interrupted');

/** Runs a command as a person would, having printed it as a person would type it. */
async function muster(scene: Scene, args: readonly string[], expected = 0): Promise<void> {
  if (over) throw interruption;
  say(paint('bold', `$ muster ${args.map(shellWord).join(' ')}`));
  const terminal: Terminal = {
    stdin: process.stdin,
    stdout: stage,
    // Notes and output in the order they come.
    stderr: stage,
    env: scene.env,
    cwd: scene.work,
    nowMs: Date.now,
    // Ctrl-C ends the whole show, never one command of it.
    onInterrupt: () => () => undefined,
  };
  const code = await runCli(args, terminal, { version: versionInfo() });
  say();
  if (code !== expected)
    throw new QuickstartFailure(`"muster ${args.join(' ')}" ended with ${code} instead of ${expected}`);
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`;
}

function chapter(number: number, title: string): void {
  say(paint('cyan', `${number}. ${title}`));
  say();
}

async function show(scene: Scene, began: number): Promise<void> {
  const { url, client } = await scene.start();
  say(
    `A database, a server (${url}) and four agents are ready after ${measured(performance.now() - began)}.`,
  );
  say('Their GPUs are declared, not real, so this runs on any machine.');
  say();
  const run = (...args: string[]): Promise<void> => muster(scene, args);

  chapter(1, 'Four nodes with two GPUs each');
  await run('nodes');

  chapter(2, 'A gang: four ranks with two GPUs each start together, meet, and add up gradients over sockets');
  await run(
    'run',
    '--name',
    'allreduce',
    '--tasks',
    '4',
    '--gpus',
    'H100:2',
    '--',
    './node',
    'allreduce.mjs',
  );
  const times = await timesOf(client, 'allreduce');

  chapter(3, 'Where it ran, and what one rank wrote');
  await run('show', 'allreduce');
  await run('logs', 'allreduce', '--rank', '3');

  chapter(4, 'Why jobs wait: the fleet is full, and a wish nobody can grant');
  await run('run', '--detach', '--name', 'filler', '--tasks', '4', '--gpus', '2', '--', 'sleep', '600');
  await inState(client, 'filler', 'running');
  await run('run', '--detach', '--name', 'waiter', '--gpus', '1', '--', 'echo', 'my turn');
  await verdictOf(client, 'waiter');
  await run('why', 'waiter');
  await run('run', '--detach', '--name', 'dream', '--gpus', 'B200:16', '--', 'true');
  await verdictOf(client, 'dream');
  await run('why', 'dream');
  await run('ps');

  chapter(5, 'Room is made, and the waiting job runs');
  await run('cancel', 'filler', 'dream');
  await run('wait', 'waiter');
  await run('logs', 'waiter');

  say(paint('cyan', 'Times'));
  say();
  for (const [what, ms] of times) say(`  ${what.padEnd(44)} ${measured(ms).padStart(7)}`);
  say(`  ${'all of it'.padEnd(44)} ${measured(performance.now() - began).padStart(7)}`);
  say();
}

async function timesOf(client: MusterClient, name: string): Promise<[string, number][]> {
  const job = await newest(client, name);
  const at = (text: string | null): number => Date.parse(text ?? '');
  return [
    ['from submit to four ranks running', at(job.startedAt) - at(job.submittedAt)],
    ['from running to the end of the last rank', at(job.endedAt) - at(job.startedAt)],
  ];
}

async function newest(client: MusterClient, name: string) {
  const [job] = (await client.jobs.list({ name, limit: 1 })).items;
  if (!job) throw new QuickstartFailure(`job ${name} is gone`);
  return job;
}

async function inState(client: MusterClient, name: string, state: string): Promise<void> {
  const { id } = await newest(client, name);
  for await (const job of client.jobs.watch(id)) if (job.state === state || job.state === 'ended') return;
}

async function verdictOf(client: MusterClient, name: string): Promise<void> {
  const { id } = await newest(client, name);
  for await (const job of client.jobs.watch(id, { lookEveryMs: 200 })) if (job.verdict !== null) return;
}

function tellFailure(scene: Scene, error: unknown): void {
  const what = error instanceof Error ? error.message : String(error);
  process.stderr.write(`\nquickstart: failed: ${clean(what)}\n`);
  if (process.env.MUSTER_DEBUG === '1' && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  try {
    const lines = readFileSync(scene.logFile, 'utf8').trim().split('\n').slice(-15);
    process.stderr.write(
      `The last lines of its log (MUSTER_KEEP=1 keeps the folder):\n${lines.map((line) => `  ${line}\n`).join('')}`,
    );
  } catch {
    // There is no log yet.
  }
}

/** The exit code. */
export async function quickstart(): Promise<number> {
  // From the start of the process, loading included.
  const began = 0;
  const scene = prepareScene();
  say(paint('bold', 'Muster quickstart'));
  say(`Everything happens in ${scene.dir} and is gone when this ends.`);
  const interrupted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(interruption);
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
    setTimeout(
      () => reject(new QuickstartFailure(`not done within ${deadlineMs / 1000} s`)),
      deadlineMs,
    ).unref();
  });
  let code = 0;
  try {
    await Promise.race([show(scene, began), interrupted]);
  } catch (error) {
    over = true;
    code = error === interruption ? 130 : 1;
    if (error === interruption) process.stderr.write('\nquickstart: interrupted; stopping what it started\n');
    else tellFailure(scene, error);
  }
  const left = await scene.strike();
  if (left.length > 0) {
    process.stderr.write(`quickstart: these processes would not end: ${left.join(', ')}\n`);
    code ||= 1;
  }
  if (code === 0) {
    say('Everything is stopped and nothing is left running.');
    say(`A system that stays: ${paint('bold', 'npm run muster -- up')}`);
  } else process.stderr.write('quickstart: everything it started is stopped.\n');
  return code;
}
