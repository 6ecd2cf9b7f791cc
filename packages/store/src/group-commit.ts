// Many small calls, few transactions. While one group of a lane is being committed, the calls that arrive meanwhile are
// collected; when it is done they become the next group. So a lone call never waits, and a busy lane grows its groups
// by itself, without a timer. A lane may let a large group go behind the one on its way, so that the database finds it there.
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
   * A group of so many items may be sent behind another that is on its way, if it is as large. A smaller one waits and grows:
   * what a transaction costs by itself would be shared by fewer.
   */
  readonly behindFrom?: number;
}

/** `commit` runs one transaction for its items and answers each, in order. */
export function groupCommit<Item, Result>(
  { maxItems, behindFrom = Number.POSITIVE_INFINITY }: LaneOptions,
  commit: (items: readonly Item[]) => Promise<readonly Result[]>,
): Lane<Item, Result> {
  let waiting: Call<Item, Result>[] = [];
  let waitingItems = 0;
  /** Sizes of the groups on their way. */
  const away: number[] = [];
  let collecting = false;

  function mayGo(): boolean {
    if (waiting.length === 0) return false;
    const [first, second] = away;
    if (first === undefined) return true;
    return second === undefined && waitingItems >= Math.max(first, behindFrom);
  }

  /** Calls of one turn of the event loop join the same group, the first one too. */
  function collect(): void {
    if (collecting || !mayGo()) return;
    collecting = true;
    queueMicrotask(() => {
      collecting = false;
      while (mayGo()) void send(nextGroup());
    });
  }

  async function send(group: readonly Call<Item, Result>[]): Promise<void> {
    const items = group.flatMap((call) => call.items);
    away.push(items.length);
    const settled = await commitItems(items, commit);
    away.splice(away.indexOf(items.length), 1);
    // The next group goes out before this one is answered, so that the database is not idle meanwhile.
    while (mayGo()) void send(nextGroup());
    let at = 0;
    for (const call of group) {
      call.resolve(settled.slice(at, at + call.items.length));
      at += call.items.length;
    }
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
        collect();
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
