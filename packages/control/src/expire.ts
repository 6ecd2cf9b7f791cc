// The leader's watch over leases. A run may be started elsewhere only when its node has not renewed for stopAfter + 15 s,
// measured twice: by database time inside the write, and by this server's own monotonic clock counted from when it first
// saw that renewal. So neither a jump of the database's clock nor a fresh leader's ignorance ends anything early; a new
// leader simply counts anew. By then the supervisor on the node, which measures from when it SENT the renewal, has
// killed the run.
//
// Where a cluster speaks for a node (Slurm, Kubernetes) nobody kills a run that is not renewed, so time proves nothing: such a run
// stays unknown until the cluster tells its end or an operator gives their word.
import type { NodeId } from '@muster/model';
import type { ExpireItem, Lease, Store } from '@muster/store';
import { type Loop, startLoop } from './loop.ts';
import { decideFreeze, freezeMs, silenceByCluster } from './mass-silence.ts';
import type { World } from './world.ts';

export interface ExpireDeps {
  readonly world: World;
  readonly store: Pick<
    Store,
    'leases' | 'expire' | 'silenceOverdue' | 'freeze' | 'frozen' | 'silenceOver' | 'nowMs'
  >;
  /** The epoch to decide with, or null while another server leads. */
  readonly epoch: () => number | null;
  readonly onBug: (error: unknown) => void;
}

export const expiryMarginMs = 15_000;
const lookEveryMs = 1000;
/** After a start the agents come back first: a server that was away must not call its whole fleet silent. */
const settleMs = 15_000;
/** A silent node that holds nothing is written off after this. */
const idleLostAfterMs = 60_000;

interface Seen {
  readonly renewals: number;
  readonly atMs: number;
}

export function startExpire({ world, store, epoch, onBug }: ExpireDeps): Loop {
  let seen = new Map<NodeId, Seen>();
  let seenAsLeader: number | null = null;
  let leadingSinceMs = 0;

  async function step(): Promise<number> {
    const leading = epoch();
    if (leading === null) return lookEveryMs;
    if (leading !== seenAsLeader) {
      seen = new Map();
      seenAsLeader = leading;
      leadingSinceMs = world.clock.monotonicMs();
    }
    if (world.clock.monotonicMs() - leadingSinceMs >= settleMs) await store.silenceOverdue(leading);
    const leases = await store.leases();
    note(leases);
    const frozen = await freezeAndThaw(leading, leases);
    const items = leases.filter((lease) => !frozen.has(lease.cluster)).flatMap(overdue);
    if (items.length > 0) await store.expire(leading, items);
    return lookEveryMs;
  }

  /** Remembers when each renewal was first seen; a lease that vanished is forgotten. */
  function note(leases: readonly Lease[]): void {
    const nowMs = world.clock.monotonicMs();
    seen = new Map(
      leases.map(({ node, renewals }) => {
        const known = seen.get(node);
        return [node, known?.renewals === renewals ? known : { renewals, atMs: nowMs }];
      }),
    );
  }

  /** The clusters on which nothing expires now. */
  async function freezeAndThaw(leading: number, leases: readonly Lease[]): Promise<ReadonlySet<string>> {
    const nowMs = await store.nowMs();
    const leased = silenceByCluster(leases.filter((lease) => lease.leased));
    const { freeze, over, frozen } = decideFreeze(leased, await store.frozen(), nowMs);
    for (const { cluster, silent, nodes } of freeze) {
      world.log.error(
        { cluster, silent, nodes },
        `${silent} of ${nodes} nodes of ${cluster} fell silent at once: nothing on it is rescheduled until somebody speaks (muster thaw ${cluster})`,
      );
      await store.freeze(leading, { cluster, silent, nodes, untilMs: nowMs + freezeMs });
    }
    for (const cluster of over) await store.silenceOver(leading, cluster);
    return frozen;
  }

  function overdue(lease: Lease): ExpireItem[] {
    const known = seen.get(lease.node);
    if (!known || lease.state === 'removed' || lease.state === 'lost') return [];
    const quietMs = world.clock.monotonicMs() - known.atMs;
    const runs = (lease.leased ? lease.runs : [])
      .filter(({ stopAfterMs }) => stopAfterMs !== null && quietMs >= stopAfterMs + expiryMarginMs)
      .map(({ run }) => run);
    const idleLost = lease.runs.length === 0 && lease.state === 'silent' && quietMs >= idleLostAfterMs;
    if (runs.length === 0 && !idleLost) return [];
    return [{ node: lease.node, renewals: lease.renewals, runs, marginMs: expiryMarginMs }];
  }

  return startLoop(world, { name: 'expire', step, onBug });
}
