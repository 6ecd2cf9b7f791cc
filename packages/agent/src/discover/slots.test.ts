import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Device } from '@muster/model';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStateDir } from '../state-dir.ts';
import { keepSlots, missingKind, Slots } from './slots.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-slots-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** As discovery lists them: dense, in the driver's order. */
const listed = (...uuids: string[]): Device[] =>
  uuids.map((uuid, index) => ({ index, kind: 'gpu', model: 'H100', memoryMib: 1000, uuid }));
const places = (devices: readonly Device[]): string[] =>
  devices.map(({ index, kind, uuid }) => `${index} ${kind} ${uuid}`);

it('a device that falls off the bus leaves its place empty and moves no other', () => {
  const after = keepSlots(listed('a', 'b', 'c'), listed('a', 'c'));
  expect(places(after)).toEqual(['0 gpu a', `1 ${missingKind} b`, '2 gpu c']);
  // It comes back, with a new one before it.
  expect(places(keepSlots(after, listed('new', 'a', 'b', 'c')))).toEqual([
    '0 gpu a',
    '1 gpu b',
    '2 gpu c',
    '3 gpu new',
  ]);
});

it('places stay across a restart of the agent while tasks are held, and close up when none is', () => {
  const state = openStateDir(dir);
  new Slots(state).arrange(listed('a', 'b', 'c'), false);
  const next = new Slots(state);
  expect(places(next.arrange(listed('b', 'c'), true))).toEqual([`0 ${missingKind} a`, '1 gpu b', '2 gpu c']);
  expect(places(new Slots(state).arrange(listed('b', 'c'), false))).toEqual(['0 gpu b', '1 gpu c']);
});
