// The leader keeps snapshots, so that a replay has a place to start and old events can go: one soon after there is a log, and
// then one every so many events or hours. The work is the second worker's; this loop only says when.
import type { Store } from '@muster/store';
import { type Loop, startLoop } from './loop.ts';
import type { Questions } from './questions.ts';
import type { World } from './world.ts';

export interface SnapshotSettings {
  /** A new one after so many events, or after so much time in which anything happened. */
  readonly everyEvents: number;
  readonly everyMs: number;
  /** A larger one, compressed, is not kept. A million jobs are about 15 MB. */
  readonly bytesMax: number;
}

export const defaultSnapshots: SnapshotSettings = {
  everyEvents: 1_000_000,
  everyMs: 6 * 3_600_000,
  bytesMax: 1_000_000_000,
};

export interface SnapshotsDeps {
  readonly world: World;
  readonly store: Pick<Store, 'head' | 'nowMs' | 'snapshots'>;
  readonly questions: Pick<Questions, 'snapshot'>;
  readonly epoch: () => number | null;
  readonly settings: SnapshotSettings;
  /** One was written. */
  readonly onSnapshot: () => void;
  readonly onBug: (error: unknown) => void;
}

const lookEveryMs = 60_000;
/** A new leader has more urgent things to do. */
const firstLookMs = 5000;

export function startSnapshots(deps: SnapshotsDeps): Loop {
  const { world, store, questions, epoch, settings, onSnapshot, onBug } = deps;
  let led: number | null = null;

  async function isDue(): Promise<boolean> {
    const [{ sequence }, snapshots, nowMs] = await Promise.all([
      store.head(),
      store.snapshots(),
      store.nowMs(),
    ]);
    const last = snapshots.at(-1);
    if (!last) return sequence > 0;
    const events = sequence - last.sequence;
    return events >= settings.everyEvents || (events > 0 && nowMs - last.atMs >= settings.everyMs);
  }

  async function step(): Promise<number> {
    const leading = epoch();
    if (leading === null || leading !== led) {
      led = leading;
      return firstLookMs;
    }
    if (await isDue()) {
      const saved = await questions.snapshot(leading, settings.bytesMax);
      if (saved) onSnapshot();
    }
    return lookEveryMs;
  }
  return startLoop(world, { name: 'snapshots', step, onBug });
}
