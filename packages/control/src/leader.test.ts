import type { ServerId } from '@muster/model';
import type { LeaderLease, ServerInfo } from '@muster/store';
import { describe, expect, it } from 'vitest';
import { leaseMs, startLeader } from './leader.ts';
import { type VirtualWorld, virtualWorld } from './testing/virtual-world.ts';

const server = (id: string): ServerInfo => ({
  id: id as ServerId,
  url: '',
  bootId: 'boot',
  pid: 1,
  pidStart: '1',
});

/** The leader row as the contract describes it, on the virtual clock. The real one is tested in the store's suite. */
function leaderRow(world: VirtualWorld) {
  let epoch = 0;
  let holder: ServerInfo | null = null;
  let untilMs = 0;
  const now = (): number => world.clock.monotonicMs();
  let hung = false;
  const maybeHang = async (): Promise<void> => {
    if (hung) await new Promise(() => {});
  };
  return {
    hang: () => {
      hung = true;
    },
    store: {
      announceServer: maybeHang,
      async acquireLease(asking: ServerInfo, ms: number, deadEpoch: number | null): Promise<LeaderLease> {
        const free = holder === null || untilMs <= now() || deadEpoch === epoch;
        if (free) {
          epoch++;
          holder = asking;
          untilMs = now() + ms;
        }
        return { epoch, holder, acquired: free, expired: false };
      },
      async renewLease(id: ServerId, at: number, ms: number): Promise<boolean> {
        if (holder?.id !== id || epoch !== at) return false;
        untilMs = now() + ms;
        return true;
      },
      async releaseLease(): Promise<void> {
        holder = null;
      },
    },
  };
}

const onBug = (error: unknown): void => {
  throw error;
};

describe('leadership', () => {
  it('goes to one server, and to the next with a higher epoch when it is given back', async () => {
    const world = virtualWorld();
    const { store } = leaderRow(world);
    const start = (id: string) =>
      startLeader({ world, store, server: () => server(id), isDead: () => false, onChange: () => {}, onBug });
    const first = start('a');
    await world.settle();
    const second = start('b');
    await world.advance(60_000);
    expect([first.epoch, second.epoch]).toEqual([1, null]);
    await first.stop();
    await world.advance(2000);
    expect(second.epoch).toBe(2);
    await second.stop();
  });

  it('a leader whose renewal hangs stops leading before its lease runs out', async () => {
    const world = virtualWorld();
    const row = leaderRow(world);
    const changes: (number | null)[] = [];
    const leader = startLeader({
      world,
      store: row.store,
      server: () => server('a'),
      isDead: () => false,
      onChange: (epoch) => changes.push(epoch),
      onBug,
    });
    await world.settle();
    expect(leader.epoch).toBe(1);
    row.hang();
    await world.advance(leaseMs - 1000);
    expect(leader.epoch).toBeNull();
    expect(changes).toEqual([1, null]);
  });

  it('a holder that is proven dead is replaced at once', async () => {
    const world = virtualWorld();
    const { store } = leaderRow(world);
    await store.acquireLease(server('dead'), leaseMs, null);
    const leader = startLeader({
      world,
      store,
      server: () => server('b'),
      isDead: (other) => other.id === 'dead',
      onChange: () => {},
      onBug,
    });
    await world.settle();
    expect(leader.epoch).toBe(2);
    await leader.stop();
  });

  it('a holder that is only silent is replaced when its lease has run out', async () => {
    const world = virtualWorld();
    const { store } = leaderRow(world);
    await store.acquireLease(server('silent'), leaseMs, null);
    const leader = startLeader({
      world,
      store,
      server: () => server('b'),
      isDead: () => false,
      onChange: () => {},
      onBug,
    });
    await world.advance(leaseMs - 1000);
    expect(leader.epoch).toBeNull();
    await world.advance(3000);
    expect(leader.epoch).toBe(2);
    await leader.stop();
  });
});
