import { expect, test } from 'vitest';
import { aPlan, aServer, aUnit, joinNode, lead, placement, sayHello, submitted } from '../builders.ts';
import type { Harness } from './harness.ts';

export function leaderSuite(harness: Harness): void {
  test('one server leads; another takes over when the lease ran out, was released, or its holder is proven dead', async () => {
    const store = await harness.store();
    const [one, two] = [aServer(), aServer()];
    expect(await store.leader()).toMatchObject({ epoch: 0, holder: null });
    expect(await store.acquireLease(one, 60_000, null)).toMatchObject({
      epoch: 1,
      holder: one,
      acquired: true,
    });
    expect(await store.acquireLease(two, 60_000, null)).toMatchObject({
      epoch: 1,
      holder: one,
      acquired: false,
    });
    expect(await store.acquireLease(two, 60_000, 0)).toMatchObject({ acquired: false });
    expect(await store.acquireLease(two, 20, 1)).toMatchObject({ epoch: 2, holder: two, acquired: true });
    expect(await store.renewLease(one.id, 1, 60_000)).toBe(false);
    expect(await store.renewLease(two.id, 2, 20)).toBe(true);
    await harness.pass(30);
    expect(await store.leader()).toMatchObject({ epoch: 2, expired: true });
    expect(await store.acquireLease(one, 60_000, null)).toMatchObject({ epoch: 3, acquired: true });
    await store.releaseLease(two.id, 3);
    expect(await store.acquireLease(two, 60_000, null)).toMatchObject({ acquired: false });
    await store.releaseLease(one.id, 3);
    expect(await store.acquireLease(two, 60_000, null)).toMatchObject({ epoch: 4, acquired: true });
    const epochs = (await store.eventsSince(0, 10)).map(
      ({ body }) => body.kind === 'leader.changed' && body.epoch,
    );
    expect(epochs).toEqual([1, 2, 3, 4]);
  });

  test('of many that try at once exactly one gets the epoch', async () => {
    const store = await harness.store();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => store.acquireLease(aServer(), 60_000, null)),
    );
    expect(answers.filter((answer) => answer.acquired)).toHaveLength(1);
    expect((await store.leader()).epoch).toBe(1);
  });

  test('a new leader restamps the open commands of the one before', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const node = await joinNode(store);
    await store.commitPlan(epoch, aPlan([aUnit(await submitted(store), [placement(node.node)])]));
    const next = await lead(store);
    expect(await store.takeOutbox([node], 10)).toMatchObject([{ epoch: next }]);
  });

  test('the server that holds a node’s connection can be found while it does', async () => {
    const store = await harness.store();
    const server = aServer();
    await store.announceServer(server);
    await store.announceServer({ ...server, url: 'http://10.0.0.1:1' });
    const { node } = await joinNode(store);
    expect(await store.serverOfNode(node)).toBeNull();
    const session = await sayHello(store, node, { server: server.id });
    expect(await store.serverOfNode(node)).toEqual({ ...server, url: 'http://10.0.0.1:1' });
    await store.silence(session);
    expect(await store.serverOfNode(node)).toBeNull();
  });

  test('nodes whose beat is overdue are silenced by the leader only', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    await joinNode(store);
    expect(await store.silenceOverdue(epoch - 1)).toEqual({ outcome: 'refused', refusal: 'stale-epoch' });
    expect(await store.silenceOverdue(epoch)).toMatchObject({ outcome: 'committed', value: [] });
  });
}
