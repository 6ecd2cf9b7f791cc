import type { NodeId, RunId } from '@muster/model';
import type { ExpireItem, Freeze, Lease } from '@muster/store';
import { describe, expect, it } from 'vitest';
import { startExpire } from './expire.ts';
import { type VirtualWorld, virtualWorld } from './testing/virtual-world.ts';

const committed = { outcome: 'committed', sequence: 0, value: null } as const;

/** Leases as the store would show them; expiry is only recorded. What expire does inside is tested in the store's suite. */
function leaseTable(world: VirtualWorld, nodeCount: number, stopAfterMs: number | null, leased = true) {
  const leases: Lease[] = Array.from({ length: nodeCount }, (_, i) => ({
    node: `node-${i}` as NodeId,
    cluster: 'main',
    leased,
    state: 'ready',
    renewals: 1,
    renewedMs: 0,
    runs: [{ run: `run-${i}` as RunId, stopAfterMs }],
  }));
  const expired: ExpireItem[] = [];
  let freezes: Freeze[] = [];
  return {
    expired,
    freezes: () => freezes,
    thaw() {
      freezes = freezes.map((freeze) => ({ ...freeze, untilMs: world.clock.monotonicMs() }));
    },
    renew(i: number) {
      const lease = leases[i] as Lease;
      leases[i] = { ...lease, renewals: lease.renewals + 1, state: 'ready' };
    },
    silence(i: number) {
      leases[i] = { ...(leases[i] as Lease), state: 'silent' };
    },
    store: {
      leases: async () => leases,
      nowMs: async () => world.clock.monotonicMs(),
      silenceOverdue: async () => ({ ...committed, value: [] }),
      frozen: async () => freezes,
      async freeze(_epoch: number, freeze: Freeze) {
        freezes = [freeze];
        return committed;
      },
      async silenceOver() {
        freezes = [];
        return committed;
      },
      async expire(_epoch: number, items: readonly ExpireItem[]) {
        expired.push(...items);
        for (const item of items) {
          const i = leases.findIndex((lease) => lease.node === item.node);
          leases[i] = { ...(leases[i] as Lease), runs: [], state: 'lost' };
        }
        return { ...committed, value: [] };
      },
    },
  };
}

const onBug = (error: unknown): void => {
  throw error;
};

describe('expiry', () => {
  it('ends a run 15 s after its stopAfter, and never earlier', async () => {
    const world = virtualWorld();
    const table = leaseTable(world, 1, 25_000);
    const loop = startExpire({ world, store: table.store, epoch: () => 1, onBug });
    await world.advance(39_900);
    expect(table.expired).toHaveLength(0);
    await world.advance(1200);
    expect(table.expired.map((item) => item.runs)).toEqual([['run-0']]);
    await loop.stop();
  });

  it('counts from the last renewal it saw', async () => {
    const world = virtualWorld();
    const table = leaseTable(world, 1, 25_000);
    const loop = startExpire({ world, store: table.store, epoch: () => 1, onBug });
    await world.advance(30_000);
    table.renew(0);
    await world.advance(39_000);
    expect(table.expired).toHaveLength(0);
    await world.advance(3000);
    expect(table.expired).toHaveLength(1);
    await loop.stop();
  });

  it('a new leader counts anew', async () => {
    const world = virtualWorld();
    const table = leaseTable(world, 1, 25_000);
    let epoch: number | null = 1;
    const loop = startExpire({ world, store: table.store, epoch: () => epoch, onBug });
    await world.advance(30_000);
    epoch = null;
    await world.advance(5000);
    epoch = 2;
    await world.advance(30_000);
    expect(table.expired).toHaveLength(0);
    await world.advance(12_000);
    expect(table.expired).toHaveLength(1);
    await loop.stop();
  });

  it('never ends a run that may live for ever without renewal', async () => {
    const world = virtualWorld();
    const table = leaseTable(world, 1, null);
    const loop = startExpire({ world, store: table.store, epoch: () => 1, onBug });
    await world.advance(86_400_000 / 24);
    expect(table.expired).toHaveLength(0);
    await loop.stop();
  });

  it('never ends a run by time where a cluster speaks for its node, and freezes nothing there', async () => {
    const world = virtualWorld();
    const table = leaseTable(world, 4, 25_000, false);
    const loop = startExpire({ world, store: table.store, epoch: () => 1, onBug });
    await world.advance(1000);
    for (let i = 0; i < 4; i++) table.silence(i);
    await world.advance(3_600_000);
    expect(table.expired).toHaveLength(0);
    expect(table.freezes()).toHaveLength(0);
    await loop.stop();
  });

  it('half of the nodes silent at once: nothing is rescheduled, until the operator speaks', async () => {
    const world = virtualWorld();
    const table = leaseTable(world, 10, 25_000);
    const loop = startExpire({ world, store: table.store, epoch: () => 1, onBug });
    await world.advance(1000);
    for (let i = 0; i < 5; i++) table.silence(i);
    for (let t = 0; t < 20; t++) {
      await world.advance(5000);
      for (let i = 5; i < 10; i++) table.renew(i);
    }
    expect(table.freezes()).toHaveLength(1);
    expect(table.expired).toHaveLength(0);
    table.thaw();
    await world.advance(2000);
    expect(table.expired.map((item) => item.node).sort()).toEqual([
      'node-0',
      'node-1',
      'node-2',
      'node-3',
      'node-4',
    ]);
    await loop.stop();
  });

  it('a new leader keeps to what an operator said to the old one', async () => {
    const world = virtualWorld();
    const table = leaseTable(world, 10, 600_000);
    let epoch = 1;
    const loop = startExpire({ world, store: table.store, epoch: () => epoch, onBug });
    for (let i = 0; i < 5; i++) table.silence(i);
    await world.advance(2000);
    const [freeze] = table.freezes();
    table.thaw();
    epoch = 2;
    await world.advance(60_000);
    expect(table.freezes()).toEqual([{ ...freeze, untilMs: expect.any(Number) }]);
    expect(table.freezes()[0]?.untilMs).toBeLessThan(world.clock.monotonicMs());
    await loop.stop();
  });

  it('a follower expires nothing', async () => {
    const world = virtualWorld();
    const table = leaseTable(world, 1, 25_000);
    const loop = startExpire({ world, store: table.store, epoch: () => null, onBug });
    await world.advance(600_000);
    expect(table.expired).toHaveLength(0);
    await loop.stop();
  });
});
