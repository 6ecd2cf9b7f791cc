import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { nameOf, releaseLock, takeLock } from './lock.ts';

let dir: string;
let path: string;
let children: ChildProcess[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-lock-'));
  path = join(dir, 'lock');
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

const dead = '999999999 1';

/** The name of another living process. */
function living(): string {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  children.push(child);
  return nameOf(child.pid ?? 0);
}

it('is had by one living process at a time, and leaves nothing else behind', () => {
  const [one, other] = [living(), living()];
  expect(takeLock(path, one)).toBe(true);
  expect(takeLock(path, other)).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe(one);
  releaseLock(path, other);
  expect(readdirSync(dir)).toEqual(['lock']);
  releaseLock(path, one);
  expect(takeLock(path, other)).toBe(true);
  expect(readdirSync(dir)).toEqual(['lock']);
});

it.each(['', dead, `${nameOf(process.pid).split(' ', 2).join(' ')} boot-of-before`])(
  'is taken from the dead holder "%s"',
  (holder) => {
    writeFileSync(path, holder);
    const mine = living();
    expect(takeLock(path, mine)).toBe(true);
    expect(takeLock(path, living())).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe(mine);
    expect(readdirSync(dir)).toEqual(['lock']);
  },
);

it('is left to whoever is about to take it from a dead holder, until that one dies too', () => {
  const [first, second] = [living(), living()];
  writeFileSync(path, dead);
  const right = `${path}.after-${dead.replace(' ', '-')}`;
  writeFileSync(right, first);
  expect(takeLock(path, second)).toBe(false);
  writeFileSync(right, '999999998 1');
  expect(takeLock(path, second)).toBe(true);
  expect(readdirSync(dir)).toEqual(['lock']);
});

it('is had by one of several processes that find the same dead holder at the same time', async () => {
  const locks = 60;
  for (let i = 0; i < locks; i++) writeFileSync(join(dir, String(i)), dead);
  const racer = fileURLToPath(new URL('../testing/lock-racer.ts', import.meta.url));
  const firstMs = Date.now() + 1500;
  const got = await Promise.all(
    [1, 2, 3].map(async () => {
      const args = ['--disable-warning=ExperimentalWarning', racer, dir, `${locks}`, `${firstMs}`, '10'];
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
      children.push(child);
      let text = '';
      for await (const chunk of child.stdout) {
        text += chunk;
        if (text.endsWith('\n')) break;
      }
      return JSON.parse(text) as number[];
    }),
  );
  expect(got.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: locks }, (_, i) => i));
});
