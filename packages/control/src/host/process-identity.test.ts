import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { isProcessDead, thisProcess } from './process-identity.ts';

it('a living process is not dead, and one that ended is', async () => {
  const own = thisProcess();
  expect(isProcessDead(own)).toBe(false);
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  expect(isProcessDead({ ...own, pid: child.pid ?? 0, pidStart: 'another start' })).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isProcessDead({ ...own, pid: child.pid ?? 0 })).toBe(true);
});

it('a process of another machine, boot or container is never called dead', () => {
  const own = thisProcess();
  expect(isProcessDead({ bootId: 'another boot', pid: 1, pidStart: 'x' })).toBe(false);
  expect(isProcessDead({ ...own, bootId: `${own.bootId}7`, pid: 999_999_999 })).toBe(false);
});
