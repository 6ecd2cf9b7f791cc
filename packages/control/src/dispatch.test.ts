import type { CommandAnswer, Driver } from '@muster/drivers';
import { freshId, OperationalError, type RunId } from '@muster/model';
import type { DispatchSession, OutboxCommand, OutboxDone, Store } from '@muster/store';
import { expect, it } from 'vitest';
import { startDispatch } from './dispatch.ts';
import { virtualWorld } from './testing/virtual-world.ts';

const node = freshId('node', 1, new Uint8Array(9));
const stop: OutboxCommand = {
  id: 7,
  epoch: 1,
  node,
  session: 'first',
  kind: 'stop',
  command: {
    run: 'run_000000000000000000_1' as RunId,
    reason: 'test',
    class: 'cancelled',
    signal: 'TERM',
    graceMs: 0,
  },
};

function setup(answer: CommandAnswer) {
  const world = virtualWorld();
  const bugs: unknown[] = [];
  const sessions: DispatchSession[] = [{ node, session: 'first', fenced: true }];
  const rows = [stop];
  const asked: OutboxDone[] = [];
  const state = { closes: true };
  let onClose = (): void => {};
  const store: Pick<Store, 'takeOutbox' | 'closeOutbox' | 'onEvents'> = {
    takeOutbox: async () => rows.splice(0),
    async closeOutbox(items) {
      asked.push(...items);
      onClose();
      if (!state.closes) throw new OperationalError('unavailable', 'the database is away');
    },
    onEvents: () => () => {},
  };
  const driver: Pick<Driver, 'submit' | 'stop'> = { submit: async () => answer, stop: async () => answer };
  const start = (closing = (): unknown => null) => {
    onClose = closing;
    return startDispatch({
      world,
      store,
      driver: { ...(driver as Driver), sessions: () => sessions },
      onBug: (error) => bugs.push(error),
    });
  };
  return { world, rows, state, sessions, asked, bugs, start };
}

it('an answer that could not be committed is committed later, in the same session', async () => {
  const { world, state, asked, bugs, start } = setup({ outcome: 'refused', detail: 'no' });
  state.closes = false;
  const dispatch = start();
  await world.advance(5000);
  expect(asked.length).toBeGreaterThan(3);
  state.closes = true;
  await world.advance(1000);
  const count = asked.length;
  expect(asked.at(-1)).toEqual({ id: 7, session: 'first', outcome: 'refused', detail: 'no' });
  await world.advance(10_000);
  expect(asked).toHaveLength(count);
  expect(bugs).toEqual([]);
  await dispatch.stop();
});

it('an answer of a session that is over is left to the next one', async () => {
  const { world, state, sessions, asked, start } = setup({ outcome: 'refused', detail: 'no' });
  state.closes = false;
  const dispatch = start();
  await world.advance(1000);
  sessions.splice(0, 1, { node, session: 'second', fenced: true });
  await world.advance(1000);
  const count = asked.length;
  await world.advance(10_000);
  expect(asked).toHaveLength(count);
  await dispatch.stop();
});

it('a row taken for a session that is over by then is not sent in the next one, which takes it itself', async () => {
  const { world, sessions, asked, start } = setup({ outcome: 'accepted' });
  sessions.splice(0, 1, { node, session: 'second', fenced: true });
  const dispatch = start();
  await world.advance(1000);
  expect(asked).toEqual([]);
  await dispatch.stop();
});

it('a row that is refused for its epoch again and again is not sent without a pause', async () => {
  const { world, rows, asked, start } = setup({ outcome: 'stale-epoch' });
  const dispatch = start(() => rows.push(stop));
  await world.advance(10_000);
  expect(asked.length).toBeGreaterThan(4);
  expect(asked.length).toBeLessThan(40);
  await dispatch.stop();
});
