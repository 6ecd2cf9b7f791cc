import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { lockDirectory } from './directory-lock.ts';

const module = fileURLToPath(new URL('./directory-lock.ts', import.meta.url));

test('a released lock can be taken again, and a held one cannot', () => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-lock-'));
  const lock = lockDirectory(dir);
  expect(() => lockDirectory(dir)).toThrow(`process ${process.pid}`);
  lock.release();
  lockDirectory(dir).release();
  expect(readdirSync(dir)).toEqual(['lock.2']);
  rmSync(dir, { recursive: true });
});

test('of many processes that want a dead one’s lock exactly one gets it', { timeout: 60_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-lock-'));
  const script = `
    import { lockDirectory } from ${JSON.stringify(module)};
    process.stdin.once('data', () => {
      try {
        lockDirectory(process.argv[1]);
        console.log('held');
        process.stdin.once('data', () => process.exit());
      } catch {
        console.log('refused');
        process.exit();
      }
    });
    console.log('ready');`;
  for (let round = 0; round < 3; round++) {
    const children = Array.from({ length: 5 }, () =>
      spawn(process.execPath, ['--input-type=module-typescript', '-e', script, dir], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    );
    const lines = children.map((child) => {
      const iterator = child.stdout[Symbol.asyncIterator]();
      return async () => String((await iterator.next()).value).trim();
    });
    await Promise.all(lines.map((next) => next()));
    for (const child of children) child.stdin.write('go\n');
    const told = await Promise.all(lines.map((next) => next()));
    expect(told.filter((word) => word === 'held')).toHaveLength(1);
    // Killed, not released: the next round takes over a dead process's lock.
    await Promise.all(
      children.map((child) => {
        const gone = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGKILL');
        return child.exitCode === null && child.signalCode === null ? gone : null;
      }),
    );
  }
  rmSync(dir, { recursive: true });
});
