import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openStateDir } from './state-dir.ts';
import { isAlive, startTicks } from './supervisor/processes.ts';
import type { SupervisorFile, TaskStatus } from './supervisor/protocol.ts';
import { SupervisorLink, type SupervisorState, type TaskNews } from './supervisor-link.ts';
import { specOf } from './testing/spec.ts';
import { until } from './testing/until.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let root: string;
let links: SupervisorLink[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-link-'));
  links = [];
});
afterEach(async () => {
  const file = supervisor();
  for (const link of links) link.close();
  await until('the supervisor left', () => !isAlive(file.pid, file.startTicks));
  rmSync(root, { recursive: true, force: true });
});

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const path = (): string => join(root, 'agent', 'supervisor.json');
const supervisor = (): SupervisorFile => JSON.parse(readFileSync(path(), 'utf8')) as SupervisorFile;
const stop = {
  class: 'cancelled',
  reason: { code: 'x', message: 'x' },
  how: { signal: 'KILL', graceMs: 0 },
} as const;

async function open(code: string, readyWithinMs?: number) {
  const seen: TaskStatus[] = [];
  const ended: string[] = [];
  const config = { dir: openStateDir(root).private, node: 'n', code, cgroups: false, lingerMs: 1000 };
  const hooks = {
    state: ({ tasks }: SupervisorState) => void seen.push(...tasks),
    news: (news: TaskNews) => void (news.t === 'ended' && ended.push(news.run)),
  };
  const link = new SupervisorLink(config, silent, hooks, readyWithinMs);
  links.push(link);
  await link.open();
  return { link, seen, ended };
}

function sleeper() {
  const spec = specOf(['sleep', '1000'], { env: { PATH: '/usr/bin:/bin' } });
  const key = `${spec.run}.${spec.rank}`;
  return { ...spec, scratch: join(root, key), env: { ...spec.env, MUSTER_TASK_KEY: key } };
}

it('a supervisor that hangs is told to the agent that comes back, instead of waited for without end', async () => {
  const first = await open('1.0.0');
  const { pid } = supervisor();
  first.link.detach();
  process.kill(pid, 'SIGSTOP');
  try {
    await expect(open('1.0.0', 300)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(`pid ${pid}\\) does not answer`),
    });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});

it('a process that has the number of a supervisor from before the machine was restarted is none', async () => {
  const { private: dir } = openStateDir(root);
  const stranger = { pid: process.pid, startTicks: startTicks(process.pid), bootId: 'the boot before' };
  writeFileSync(path(), JSON.stringify({ version: 1, code: '1.0.0', ...stranger }));
  writeFileSync(join(dir, 'supervisor.lock'), `${stranger.pid} ${stranger.startTicks} ${stranger.bootId}`);
  await open('1.0.0');
  expect(supervisor().pid).not.toBe(process.pid);
});

describe('a supervisor of another release', () => {
  it('goes when it has nothing to keep', async () => {
    const first = await open('1.0.0');
    const { pid } = supervisor();
    first.link.detach();
    await open('1.0.1');
    expect(supervisor()).toMatchObject({ code: '1.0.1' });
    expect(supervisor().pid).not.toBe(pid);
  });

  it('stays while a task of it runs, and is adopted', async () => {
    const first = await open('1.0.0');
    const { pid } = supervisor();
    const task = sleeper();
    await first.link.prepare([task]);
    first.link.renew([{ run: task.run, deadlineMs: null, stopAfterMs: null }]);
    first.link.detach();
    const second = await open('1.0.1');
    expect(supervisor().pid).toBe(pid);
    expect(second.seen).toMatchObject([{ run: task.run, state: 'running' }]);
    await second.link.stop(task.run, stop);
    await until('it ended', () => second.ended.includes(task.run));
  });

  it('that speaks another version is not disturbed', async () => {
    const first = await open('1.0.0');
    const file = supervisor();
    writeFileSync(path(), JSON.stringify({ ...file, version: 99 }));
    await expect(open('1.0.1')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/version 99/),
    });
    writeFileSync(path(), JSON.stringify(file));
    expect(await first.link.prepare([])).toBeNull();
  });
});
