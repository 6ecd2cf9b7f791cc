import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { rssMb, rssMbOrNull } from './child.ts';

test.runIf(existsSync('/proc/self/status'))(
  'a process that has just ended has no memory, before and after somebody waited for it',
  async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    const pid = child.pid!;
    expect(rssMb(pid)).toBeGreaterThan(0);
    child.kill('SIGKILL');
    // This process waits for it in a later turn of the loop: until then it is there, and `exitCode` says that it runs.
    for (let i = 0; !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')); i++)
      if (i > 1_000_000) throw new Error('it does not end');
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    expect(rssMbOrNull(pid)).toBeNull();
    expect(() => rssMb(pid)).toThrow(`process ${pid} has ended`);
    await once(child, 'exit');
    expect(rssMbOrNull(pid)).toBeNull();
  },
);
