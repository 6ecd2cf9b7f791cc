// The agent's supervisor without an agent and without a server: we speak its protocol over its socket, as the agent would, and
// keep it as busy as its declared cores allow. Everything it does for a real task it does here: journal, lease, output
// files, cleaning up.

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { eventually } from '@muster/drivers/testing';
import { freshId, runId } from '@muster/model';
import { repository, startChild } from './child.ts';
import type { Bed } from './system.ts';

interface FromSupervisor {
  readonly t: string;
  readonly id?: number;
  readonly run?: string;
  readonly rank?: number;
  readonly error?: string | null;
  readonly exit?: { readonly ok: boolean };
}

const main = join(repository, 'packages/agent/src/supervisor/main.ts');
const withinMs = 60_000;

export async function bareSupervisorRate(bed: Bed, durationMs: number, atOnce: number): Promise<number> {
  const dir = join(bed.dir, 'bare-supervisor');
  // Beside it: the user of the tasks must get there, and into nothing else.
  const scratch = join(bed.dir, 'bare-scratch');
  mkdirSync(scratch, { mode: 0o711 });
  for (const part of ['', 'output', 'pipes']) mkdirSync(join(dir, part), { recursive: true, mode: 0o700 });
  const config = { dir, node: 'bench', code: 'bench', cgroups: true, lingerMs: 60_000 };
  const child = startChild(bed.lifetime, { file: main, args: [JSON.stringify(config)] });
  // Written once it listens.
  const file = join(dir, 'supervisor.json');
  await eventually(`the supervisor listens (${child.output()})`, 10_000, () => existsSync(file));
  const socket = connect(join(dir, 'supervisor.sock'));
  const startedMs = performance.now();
  const count = await Promise.race([
    drive(socket, durationMs, atOnce, scratch),
    new Promise<never>((_, reject) =>
      child.process.once('exit', () => reject(new Error(`it ended: ${child.output()}`))),
    ),
  ]);
  const rate = count / ((performance.now() - startedMs) / 1000);
  socket.destroy();
  await child.stop();
  return rate;
}

/** Claims, leases and acknowledges like an agent; a new task follows each that ends. Answers how many ended. */
function drive(socket: Socket, durationMs: number, atOnce: number, scratch: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the bare supervisor did not finish')), withinMs);
    const preparing = new Map<number, string>();
    const endMs = performance.now() + durationMs;
    let started = 0;
    let ended = 0;
    const send = (message: object): void => void socket.write(`${JSON.stringify(message)}\n`);
    const begin = (): void => {
      if (performance.now() > endMs) return;
      const run = runId(freshId('job', Date.now(), randomBytes(9)), 1);
      preparing.set(++started, run);
      send({ t: 'prepare', id: started, tasks: [task(run, scratch)] });
    };
    const handle = (message: FromSupervisor): void => {
      if (message.t === 'answer') lease(message);
      if (message.t === 'ended') finish(message);
    };
    const lease = ({ id = 0, error }: FromSupervisor): void => {
      if (error) reject(new Error(`the supervisor refused a task: ${error}`));
      send({ t: 'renew', runs: [{ run: preparing.get(id), deadlineMs: null, stopAfterMs: null }] });
      preparing.delete(id);
    };
    const finish = (message: FromSupervisor): void => {
      if (!message.exit?.ok) reject(new Error(`a task failed: ${JSON.stringify(message)}`));
      send({ t: 'ack', keys: [`${message.run}.${message.rank}`] });
      begin();
      if (++ended < started) return;
      clearTimeout(timer);
      resolve(ended);
    };
    onLines(socket, handle);
    socket.once('error', reject);
    for (let i = 0; i < atOnce; i++) begin();
  });
}

function task(run: string, scratch: string): object {
  return {
    run,
    rank: 0,
    command: ['true'],
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', MUSTER_TASK_KEY: `${run}.0` },
    workdir: null,
    scratch: join(scratch, run),
    user: taskUser(),
    cpuMilli: 1000,
    memoryMib: 16,
    outputLimitMib: 64,
    stop: { signal: 'TERM', graceMs: 30_000 },
    timeLimitMs: null,
    words: { memory: '16 MiB', timeLimit: '' },
  };
}

/** As the agent does it: root starts tasks as nobody, anybody else as himself. */
function taskUser(): { name: string; uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const nobody = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  return { name: 'nobody', uid: Number(nobody?.[1] ?? 65_534), gid: Number(nobody?.[2] ?? 65_534) };
}

function onLines(socket: Socket, handle: (message: FromSupervisor) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (data: string) => {
    const lines = (rest + data).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') handle(JSON.parse(line) as FromSupervisor);
  });
}
