import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ownName, releaseLock, takeLock } from './lock.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-lock-'));
  path = join(dir, 'lock');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it('is had by one living process at a time, and leaves nothing else behind', async () => {
  expect(await takeLock(path)).toBe(true);
  expect(await takeLock(path, '999999999 1')).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe(ownName());
  expect(readdirSync(dir)).toEqual(['lock']);
  releaseLock(path, '999999999 1');
  expect(readdirSync(dir)).toEqual(['lock']);
  releaseLock(path);
  expect(await takeLock(path, '999999999 1')).toBe(true);
});

it.each(['', '999999999 1'])('one of several takes it from the dead holder "%s"', async (dead) => {
  writeFileSync(path, dead);
  const starters = ['999999991 1', '999999992 1', '999999993 1'];
  const took = await Promise.all(starters.map((mine) => takeLock(path, mine)));
  expect(took.filter((won) => won)).toHaveLength(1);
  expect(readFileSync(path, 'utf8')).toBe(starters[took.indexOf(true)]);
});
