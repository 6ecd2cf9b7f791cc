import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshId } from '@muster/model';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Epoch, openScratchRoot, openStateDir } from './state-dir.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-state-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it('an epoch that cannot be written still counts, and is written as soon as it can be', () => {
  const state = openStateDir(dir);
  const epoch = new Epoch(state);
  // In the way of the file that would replace it: fails for root too.
  mkdirSync(join(state.private, 'epoch.new'));
  expect(epoch.admit(7)).toBe(true);
  expect(epoch.admit(6)).toBe(false);
  rmSync(join(state.private, 'epoch.new'), { recursive: true });
  expect(epoch.admit(7)).toBe(true);
  expect(readFileSync(join(state.private, 'epoch'), 'utf8')).toBe('7');
  expect(new Epoch(state).admit(6)).toBe(false);
});

it.runIf(process.getuid?.() === 0)(
  'a link that somebody put where tasks get their directories is not followed',
  () => {
    // Nobody may pass through its parent, so the scratch directories go to /var/tmp.
    chmodSync(dir, 0o700);
    const node = freshId('node', Date.now(), crypto.getRandomValues(new Uint8Array(9)));
    const victim = join(dir, 'victim');
    mkdirSync(victim, { mode: 0o700 });
    const link = `/var/tmp/muster-${node}`;
    symlinkSync(victim, link);
    try {
      expect(() => openScratchRoot(join(dir, 'agent'), node)).toThrow('not a directory of our own');
      expect(statSync(victim).mode & 0o777).toBe(0o700);
    } finally {
      rmSync(link);
    }
  },
);
