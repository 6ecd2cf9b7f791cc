// Many small calls, few transactions. While one group of a lane is being committed, the calls that arrive meanwhile are
// collected; when it is done they become the next group. So a lone call never waits, and a busy lane grows its groups
// by itself: no timer, no tuning.
//
// One bad item never fails its neighbours. What a body can refuse, it refuses item by item; an item the database itself rejects
// fails the whole transaction, and then the group is split in halves until the bad ones stand alone. A lost COMMIT
// answer makes every item of its transaction unknown.

import { OperationalError } from '@muster/model';
import { CommitUnknown } from './failure.ts';

export type Settled<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'unknown'; readonly cause: CommitUnknown }
  | { readonly kind: 'failed'; readonly error: unknown };

interface Call<Item, Result> {
  readonly items: readonly Item[];
  readonly resolve: (settled: readonly Settled<Result>[]) => void;
}

export interface Lane<Item, Result> {
  /** Settles with one entry an item, in order. Never rejects. */
  push(items: readonly Item[]): Promise<readonly Settled<Result>[]>;
}

export interface LaneOptions {
  /** Bounds one transaction's size, and with it how long its locks are held. */
  readonly maxItems: number;
  /**
   * From so many items on, a group is prepared while another is being committed. Small ones wait and grow instead: they
   * would meet at the log's head, and what a transaction costs by itself is shared by fewer.
   */
  readonly besideFrom?: number;
}

/** `commit` runs one transaction for its items and answers each, in order. */
export function groupCommit<Item, Result>(
  { maxItems, besideFrom = Number.POSITIVE_INFINITY }: LaneOptions,
  commit: (items: readonly Item[]) => Promise<readonly Result[]>,
): Lane<Item, Result> {
  let waiting: Call<Item, Result>[] = [];
  let waitingItems = 0;
  let busy = 0;
  const mayGo = (others: number): boolean =>
    waiting.length > 0 && (others === 0 || (others === 1 && waitingItems >= besideFrom));

  async function drain(): Promise<void> {
    busy++;
    // Calls of one turn of the event loop join the same group, the first one too.
    await Promise.resolve();
    while (mayGo(busy - 1)) {
      const group = nextGroup();
      const settled = await commitItems(
        group.flatMap((call) => call.items),
        commit,
      );
      let at = 0;
      for (const call of group) {
        call.resolve(settled.slice(at, at + call.items.length));
        at += call.items.length;
      }
    }
    busy--;
  }

  function nextGroup(): Call<Item, Result>[] {
    let size = 0;
    let count = 0;
    for (const call of waiting) {
      if (count > 0 && size + call.items.length > maxItems) break;
      size += call.items.length;
      count++;
    }
    const group = waiting.slice(0, count);
    waiting = waiting.slice(count);
    waitingItems -= size;
    return group;
  }

  return {
    push(items) {
      if (items.length === 0) return Promise.resolve([]);
      return new Promise((resolve) => {
        waiting.push({ items, resolve });
        waitingItems += items.length;
        if (mayGo(busy)) void drain();
      });
    },
  };
}

async function commitItems<Item, Result>(
  items: readonly Item[],
  commit: (items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<Settled<Result>[]> {
  try {
    const results = await commit(items);
    return results.map((result) => ({ kind: 'done', result }));
  } catch (error) {
    if (error instanceof CommitUnknown) return items.map(() => ({ kind: 'unknown', cause: error }));
    if (items.length === 1 || !blamesAnItem(error)) return items.map(() => ({ kind: 'failed', error }));
    const middle = items.length >> 1;
    return [
      ...(await commitItems(items.slice(0, middle), commit)),
      ...(await commitItems(items.slice(middle), commit)),
    ];
  }
}

/** The world failing hits all alike; splitting would only ask it again. */
function blamesAnItem(error: unknown): boolean {
  return !(error instanceof OperationalError && error.code === 'unavailable');
}
