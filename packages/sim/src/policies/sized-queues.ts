// A queue by a key for each size, because two of one size fit alike: the first of the order that fits heads one of them.
import { KeyedHeap } from '../replay/keyed-heap.ts';
import type { Room } from '../replay/room.ts';

export class SizedQueues {
  readonly #queues = new Map<number, KeyedHeap>();

  push(size: number, key: number, job: number): void {
    let queue = this.#queues.get(size);
    if (!queue) {
      queue = new KeyedHeap();
      this.#queues.set(size, queue);
    }
    queue.push(key, job);
  }

  firstThatFits(room: Room): KeyedHeap | null {
    return this.first((size) => room.fits(size));
  }

  /** The queue whose head is first in the order, of those whose size is taken. */
  first(takes: (size: number) => boolean): KeyedHeap | null {
    let best: KeyedHeap | null = null;
    for (const [size, queue] of this.#queues) {
      if (queue.size === 0 || (best && !isBefore(queue, best)) || !takes(size)) continue;
      best = queue;
    }
    return best;
  }
}

function isBefore(a: KeyedHeap, b: KeyedHeap): boolean {
  return a.topKey < b.topKey || (a.topKey === b.topKey && a.top < b.top);
}
