import { expect, test } from 'vitest';
import { startSnapshots } from './snapshots.ts';
import { virtualWorld } from './testing/virtual-world.ts';

const settings = { everyEvents: 100, everyMs: 3_600_000, bytesMax: 1000 };

function scene() {
  const world = virtualWorld();
  const state = { sequence: 0, epoch: 7 as number | null };
  const taken: { sequence: number; atMs: number; bytes: number; epoch: number }[] = [];
  const store = {
    head: async () => ({ logId: 'log', first: 1, sequence: state.sequence }),
    nowMs: async () => world.clock.monotonicMs(),
    snapshots: async () => taken,
  };
  const questions = {
    snapshot: async (epoch: number, bytes: number) => {
      const row = { sequence: state.sequence, atMs: world.clock.monotonicMs(), bytes, epoch };
      taken.push(row);
      return row;
    },
  };
  const onBug = (error: unknown): void => {
    throw error;
  };
  const told: number[] = [];
  const onSnapshot = (): void => void told.push(taken.length);
  const loop = startSnapshots({
    world,
    store,
    questions,
    epoch: () => state.epoch,
    settings,
    onSnapshot,
    onBug,
  });
  return { world, state, taken, told, loop };
}

test('the first snapshot follows the first event, the next ones so many events or so much time with events', async () => {
  const { world, state, taken, told, loop } = scene();
  await world.advance(120_000);
  expect(taken).toEqual([]);
  state.sequence = 3;
  await world.advance(60_000);
  expect(taken).toMatchObject([{ sequence: 3, epoch: 7, bytes: 1000 }]);
  state.sequence = 102;
  await world.advance(120_000);
  expect(taken).toHaveLength(1);
  state.sequence = 103;
  await world.advance(60_000);
  expect(taken.map(({ sequence }) => sequence)).toEqual([3, 103]);
  await world.advance(2 * 3_600_000);
  expect(taken).toHaveLength(2);
  state.sequence = 104;
  await world.advance(60_000);
  expect(taken.map(({ sequence }) => sequence)).toEqual([3, 103, 104]);
  expect(told, 'told after each').toEqual([1, 2, 3]);
  await loop.stop();
});

test('only the leader takes them', async () => {
  const { world, state, taken, loop } = scene();
  state.epoch = null;
  state.sequence = 5;
  await world.advance(600_000);
  expect(taken).toEqual([]);
  state.epoch = 9;
  await world.advance(60_000);
  expect(taken).toMatchObject([{ epoch: 9 }]);
  await loop.stop();
});
