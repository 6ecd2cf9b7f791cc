// Leadership: one row in the database, a lease of 15 s and an epoch that only grows. Leading is never a belief worth
// anything by itself: every decision is written with the epoch and refused when it is old. What this loop adds is that
// a leader which cannot renew stops trying in time, and that a dead one is replaced within 20 s.
//
// A holder that is provably dead (same machine and boot; its process gone) is replaced at once. A wrong guess there
// costs nothing: the epoch moves on and the old holder's writes are refused.
import type { ServerInfo, Store } from '@muster/store';
import { type Loop, startLoop } from './loop.ts';
import type { World } from './world.ts';

export interface LeaderDeps {
  readonly world: World;
  readonly store: Pick<Store, 'acquireLease' | 'renewLease' | 'releaseLease' | 'announceServer'>;
  /** Read anew each time: the address is known only once the server listens. */
  readonly server: () => ServerInfo;
  /** True only when the process is known to be gone. */
  readonly isDead: (server: ServerInfo) => boolean;
  readonly onChange: (epoch: number | null) => void;
  readonly onBug: (error: unknown) => void;
}

export interface Leader {
  readonly epoch: number | null;
  trouble(): string | null;
  stop(): Promise<void>;
}

export const leaseMs = 15_000;
const renewEveryMs = 4000;
const tryEveryMs = 1500;
/** Give up before the lease runs out, so that a slow leader falls silent before the next one speaks. */
const giveUpAfterMs = leaseMs - 3000;

export function startLeader({ world, store, server, isDead, onChange, onBug }: LeaderDeps): Leader {
  let epoch: number | null = null;
  let renewedAtMs = 0;

  function set(next: number | null): void {
    if (next === epoch) return;
    epoch = next;
    world.log.info(
      { epoch: next, server: server().id },
      next === null ? 'no longer leading' : `leading with epoch ${next}`,
    );
    onChange(next);
  }

  async function step(): Promise<number> {
    const askedAtMs = world.clock.monotonicMs();
    await store.announceServer(server());
    if (epoch !== null) {
      if (askedAtMs - renewedAtMs > giveUpAfterMs) set(null);
      else if (await store.renewLease(server().id, epoch, leaseMs)) renewedAtMs = askedAtMs;
      else set(null);
    }
    if (epoch === null) await tryToLead(askedAtMs);
    return epoch === null ? tryEveryMs : renewEveryMs;
  }

  async function tryToLead(askedAtMs: number): Promise<void> {
    let lease = await store.acquireLease(server(), leaseMs, null);
    if (!lease.acquired && lease.holder && isDead(lease.holder))
      lease = await store.acquireLease(server(), leaseMs, lease.epoch);
    if (!lease.acquired) return;
    renewedAtMs = askedAtMs;
    set(lease.epoch);
  }

  // The watchdog runs beside the loop: a renewal that hangs must not keep us believing.
  let cancelWatch: () => void = () => {};
  function watch(): void {
    cancelWatch = world.timers.after(1000, () => {
      if (epoch !== null && world.clock.monotonicMs() - renewedAtMs > giveUpAfterMs) set(null);
      watch();
    });
  }
  watch();

  const loop: Loop = startLoop(world, { name: 'leader', step, onBug });
  return {
    get epoch() {
      return epoch;
    },
    trouble: () => loop.trouble(),
    async stop() {
      cancelWatch();
      await loop.stop();
      const held = epoch;
      set(null);
      if (held !== null) await store.releaseLease(server().id, held).catch(() => {});
    },
  };
}
