// The quickstart's system: a database, a server and four agents in a folder of their own, on free ports, for as long as it lasts.
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rememberProfile } from '@muster/cli';
import { type LocalSystem, startLocalSystem } from '../local-system.ts';
import { fileLog } from '../log.ts';
import { endProcessesOf } from './leftovers.ts';

export interface Scene {
  readonly dir: string;
  /** Where commands are run: has the example and a `node` in it. */
  readonly work: string;
  readonly logFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  start(): Promise<LocalSystem>;
  /** Ends everything, whatever state it is in. Returns the ids of processes that would not go. */
  strike(): Promise<number[]>;
}

const example = join(import.meta.dirname, '..', '..', 'examples', 'allreduce.mjs');
const portsPerAgent = 10;
const settleMs = 20_000;

export const machine = {
  devices: [{ kind: 'gpu', count: 2, model: 'H100', memoryMib: 80 * 1024 }],
  cpuMilli: 16_000,
  memoryMib: 256 * 1024,
  labels: { 'example.org/declared': 'yes' },
};
export const agentCount = 4;

export function prepareScene(): Scene {
  const dir = mkdtempSync(join(tmpdir(), 'muster-quickstart-'));
  // An agent of root runs tasks as another user, who must get to the work folder.
  chmodSync(dir, 0o711);
  const work = join(dir, 'work');
  mkdirSync(work);
  chmodSync(work, 0o755);
  copyFileSync(example, join(work, 'allreduce.mjs'));
  chmodSync(join(work, 'allreduce.mjs'), 0o644);
  putNode(join(work, 'node'));
  const env = {
    ...process.env,
    XDG_CONFIG_HOME: join(dir, 'config'),
    MUSTER_SERVER: undefined,
    MUSTER_PROFILE: undefined,
    MUSTER_TOKEN: undefined,
    MUSTER_TOKEN_FILE: undefined,
  };
  const logFile = join(dir, 'muster.log');
  const log = fileLog(logFile, 'info', process.stderr);
  let starting: Promise<LocalSystem> | null = null;

  async function start(): Promise<LocalSystem> {
    const count = agentCount * portsPerAgent;
    const ports = { first: await freePorts(count), count };
    const agents = { count: agentCount, machine, ports, name: 'node' };
    starting = startLocalSystem({ dir, databaseUrl: undefined, port: 0, agents, log });
    const system = await starting;
    rememberProfile(env, 'local', { server: system.url, token: system.token });
    return system;
  }

  async function strike(): Promise<number[]> {
    // What is half started cannot be stopped: it is let come to an end first, but not for ever.
    const settled = starting?.catch(() => null) ?? null;
    await (await Promise.race([settled, sleep(settleMs, null)]))?.stop();
    const left = await endProcessesOf(dir);
    if (process.env.MUSTER_KEEP !== '1') rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    return left;
  }

  return { dir, work, logFile, env, start, strike };
}

/** A link to this Node, or a copy where tasks' users cannot get to it (a checkout below /root). */
function putNode(path: string): void {
  if (process.getuid?.() === 0 && !everybodyMayPass(dirname(process.execPath))) {
    copyFileSync(process.execPath, path);
    chmodSync(path, 0o755);
  } else symlinkSync(process.execPath, path);
}

function everybodyMayPass(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/** The first of so many ports in a row of which the outer two are free now; plans use them a moment later. */
async function freePorts(count: number): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const first = 20_000 + Math.floor(Math.random() * 10_000);
    if ((await isFree(first)) && (await isFree(first + count - 1))) return first;
  }
  throw new Error('no free ports between 20000 and 30000');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
