import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeOld } from './retention.ts';

let root: string;
const dirs = () => ({ output: join(root, 'output'), scratch: join(root, 'scratch') });
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-retention-'));
  mkdirSync(dirs().output);
  mkdirSync(dirs().scratch);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const now = 1_900_000_000_000;
const hour = 3_600_000;

function kept(key: string, ageMs: number, bytes = 100): void {
  const date = new Date(now - ageMs);
  for (const [dir, name] of [
    [dirs().output, 'head'],
    [dirs().scratch, 'file'],
  ] as const) {
    mkdirSync(join(dir, key));
    writeFileSync(join(dir, key, name), Buffer.alloc(bytes));
    utimesSync(join(dir, key, name), date, date);
    utimesSync(join(dir, key), date, date);
  }
}

const has = (key: string): boolean => existsSync(join(dirs().output, key));
const nobody = (): boolean => false;

describe('what ended tasks left', () => {
  it('goes when it is older than what is kept, unless the task lives', async () => {
    for (const key of ['old', 'live']) kept(key, 8 * 24 * hour);
    kept('young', hour);
    await removeOld(dirs(), { ageMs: 7 * 24 * hour, totalMib: 1 }, (key) => key === 'live', now);
    expect(['old', 'live', 'young'].map(has)).toEqual([false, true, true]);
    expect(existsSync(join(dirs().scratch, 'old'))).toBe(false);
    expect(existsSync(join(dirs().scratch, 'young'))).toBe(true);
  });

  it('stays as long after its last byte, however long ago the first one came', async () => {
    kept('long', 30 * 24 * hour);
    const date = new Date(now - hour);
    utimesSync(join(dirs().output, 'long', 'head'), date, date);
    await removeOld(dirs(), { ageMs: 7 * 24 * hour, totalMib: 1 }, nobody, now);
    expect(has('long')).toBe(true);
  });

  it('goes oldest first when there is too much of it', async () => {
    for (const [key, age] of [
      ['first', 3],
      ['second', 2],
      ['third', 1],
    ] as const)
      kept(key, age * hour, 600_000);
    await removeOld(dirs(), { ageMs: 7 * 24 * hour, totalMib: 1 }, nobody, now);
    expect(['first', 'second', 'third'].map(has)).toEqual([false, false, true]);
  });

  it('goes without following links out of it', async () => {
    const precious = join(root, 'precious');
    writeFileSync(precious, 'x');
    kept('old', 8 * 24 * hour);
    symlinkSync(precious, join(dirs().scratch, 'old', 'link'));
    symlinkSync(root, join(dirs().scratch, 'old', 'up'));
    const date = new Date(now - 8 * 24 * hour);
    utimesSync(join(dirs().scratch, 'old'), date, date);
    await removeOld(dirs(), { ageMs: hour, totalMib: 1 }, nobody, now);
    expect(existsSync(precious)).toBe(true);
    expect(existsSync(join(dirs().scratch, 'old'))).toBe(false);
  });
});
