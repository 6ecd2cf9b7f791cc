import { freshId, OperationalError } from '@muster/model';
import type { Store, Struck } from '@muster/store';
import { expect, it } from 'vitest';
import { createAgentSink } from './observe.ts';
import { virtualWorld } from './testing/virtual-world.ts';

const node = freshId('node', 1, new Uint8Array(9));
const server = freshId('server', 1, new Uint8Array(9));

async function logOf(strike: () => Promise<Struck>): Promise<string[]> {
  const world = virtualWorld();
  const store = {
    strike: async () => ({ outcome: 'committed', sequence: 1, value: await strike() }),
  } as unknown as Store;
  const sink = createAgentSink({ world, store, server, onReady: () => {} });
  sink.strike(node, { code: 'bad-message', detail: 'message is not JSON' });
  await world.settle();
  return world.logged;
}

it.each([
  [{ name: 'n1', strikes: 1, outcome: 'counted' }, `strike 1 against node n1`],
  [{ name: 'n1', strikes: 3, outcome: 'quarantined' }, `no new work until "muster undrain n1"`],
  [{ name: 'n1', strikes: 5, outcome: 'spared' }, `goes on taking work in spite of 5 strikes`],
] as const)('says what a strike of %o means', async (struck, text) => {
  expect(await logOf(async () => struck)).toEqual([expect.stringContaining(text)]);
});

it('a strike that cannot be counted now ends nothing but itself', async () => {
  const away = await logOf(async () => {
    throw new OperationalError('unavailable', 'the database is away');
  });
  expect(away).toEqual(['could not count a strike']);
});

it('a node whose connection dropped is silent a while later, and one that said goodbye at once', async () => {
  const world = virtualWorld();
  const silenced: string[] = [];
  const store = {
    silence: async ({ session }: { session: string }) => void silenced.push(session),
  } as unknown as Store;
  const sink = createAgentSink({ world, store, server, onReady: () => {} });
  sink.gone({ node, session: 'dropped' }, false);
  sink.gone({ node, session: 'left' }, true);
  await world.settle();
  expect(silenced).toEqual(['left']);
  await world.advance(5000);
  expect(silenced).toEqual(['left', 'dropped']);
});
