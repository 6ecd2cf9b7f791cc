// Old things go: ended jobs with their runs, whole partitions of the event log, audit entries. The leader does a bounded
// piece at a time, so that a large backlog never holds the database. Output lives on the nodes, which keep to their own
// age and size limits.
import type { Retention, Store } from '@muster/store';
import { type Loop, startLoop } from './loop.ts';
import type { World } from './world.ts';

export interface RetentionDeps {
  readonly world: World;
  readonly store: Pick<Store, 'retain'>;
  readonly epoch: () => number | null;
  readonly retention: Retention;
  readonly onBug: (error: unknown) => void;
}

const day = 86_400_000;
export const defaultRetention: Retention = {
  jobsMs: 30 * day,
  eventsMs: 30 * day,
  auditMs: 365 * day,
  limit: 1000,
};
const everyMs = 600_000;
const moreAfterMs = 1000;

export function startRetention({ world, store, epoch, retention, onBug }: RetentionDeps): Loop {
  async function step(): Promise<number> {
    const leading = epoch();
    if (leading === null) return everyMs / 10;
    const answer = await store.retain(leading, retention);
    return answer.outcome === 'committed' && answer.value.jobs >= retention.limit ? moreAfterMs : everyMs;
  }
  return startLoop(world, { name: 'retention', step, onBug });
}
