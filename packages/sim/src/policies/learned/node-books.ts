// Who runs on which node, and which runs would make room there: what a policy needs that stops runs for others. Devices that are
// merely counted are one large node.
import { devicesOf, type Fleet, isCounted } from '../../replay/fleet.ts';

/** Nodes of equal size that stand together in the fleet. */
interface Stock {
  readonly first: number;
  readonly end: number;
  readonly perNode: number;
}

/** Runs that would make room, and what stopping them costs. */
export interface Offer {
  readonly runs: readonly number[];
  readonly damage: number;
}

export interface Choice {
  /** Whether this run may be stopped at all. */
  readonly mayStop: (run: number) => boolean;
  /** Of the runs of a node the greatest go first. */
  readonly rank: (run: number) => number;
  readonly damage: (run: number) => number;
}

export class NodeBooks {
  readonly #stocks: readonly Stock[];
  readonly #free: Int32Array;
  /** The runs of each node, with their devices there. */
  readonly #on: Map<number, number>[];
  readonly #nodesOf = new Map<number, readonly number[]>();

  constructor(fleet: Fleet) {
    this.#stocks = stocksOf(fleet);
    this.#free = new Int32Array(this.#stocks.at(-1)?.end ?? 0);
    for (const { first, end, perNode } of this.#stocks) this.#free.fill(perNode, first, end);
    this.#on = Array.from(this.#free, () => new Map<number, number>());
  }

  started(job: number, size: number, nodes: readonly number[]): void {
    this.#nodesOf.set(job, nodes);
    let left = size;
    for (const node of nodes) {
      const devices = Math.min(left, this.#stockOf(node).perNode);
      this.#on[node]!.set(job, devices);
      this.#free[node]! -= devices;
      left -= devices;
    }
  }

  ended(job: number): void {
    for (const node of this.#nodesOf.get(job)!) {
      this.#free[node]! += this.#on[node]!.get(job)!;
      this.#on[node]!.delete(job);
    }
    this.#nodesOf.delete(job);
  }

  /** The runs to stop so that a job of this size has a place, at the least damage; null when there are not enough. */
  victims(size: number, choice: Choice): readonly number[] | null {
    let best: Offer | null = null;
    for (const stock of this.#stocks) {
      const offer = this.#inStock(stock, size, choice);
      if (offer && (!best || offer.damage < best.damage)) best = offer;
    }
    return best?.runs ?? null;
  }

  #inStock({ first, end, perNode }: Stock, size: number, choice: Choice): Offer | null {
    const [count, need] = [Math.ceil(size / perNode), Math.min(size, perNode)];
    const offers: Offer[] = [];
    for (let node = first; node < end; node++) {
      const offer = this.#onNode(node, need, choice);
      if (offer) offers.push(offer);
    }
    if (offers.length < count) return null;
    const least = offers.sort((a, b) => a.damage - b.damage).slice(0, count);
    const runs = [...new Set(least.flatMap((offer) => offer.runs))];
    return { runs, damage: least.reduce((sum, { damage }) => sum + damage, 0) };
  }

  /** Runs of this node by rank until so many devices are free there; then those without whom it still is so go on. */
  #onNode(node: number, need: number, { mayStop, rank, damage }: Choice): Offer | null {
    let free = this.#free[node]!;
    const on = this.#on[node]!;
    const runs: number[] = [];
    if (free < need) {
      const may = [...on.keys()].filter(mayStop);
      for (const run of may.sort((a, b) => rank(b) - rank(a) || a - b)) {
        if (free >= need) break;
        runs.push(run);
        free += on.get(run)!;
      }
    }
    if (free < need) return null;
    for (let i = runs.length - 1; i >= 0; i--) {
      const devices = on.get(runs[i]!)!;
      if (free - devices < need) continue;
      free -= devices;
      runs.splice(i, 1);
    }
    return { runs, damage: runs.reduce((sum, run) => sum + damage(run), 0) };
  }

  /**
   * Where enough devices are free but scattered: runs that have a place on other nodes as things stand, and whose move leaves a job
   * of this size one. Null when there are none.
   */
  movable(size: number, mayMove: (run: number) => boolean): readonly number[] | null {
    for (const stock of this.#stocks) {
      const runs = this.#movableIn(stock, size, mayMove);
      if (runs) return runs;
    }
    return null;
  }

  #movableIn(
    { first, end, perNode }: Stock,
    size: number,
    mayMove: (run: number) => boolean,
  ): readonly number[] | null {
    const [count, need] = [Math.ceil(size / perNode), Math.min(size, perNode)];
    const free = this.#free.slice(first, end);
    const emptiest = Int32Array.from(free.keys()).sort((a, b) => free[b]! - free[a]! || a - b);
    const moved: number[] = [];
    let cleared = 0;
    for (const node of emptiest) {
      if (cleared === count || free[node] === 0) break;
      const runs = this.#smallest(first + node, need, mayMove);
      const elsewhere = runs && this.#placedElsewhere(free, node, first + node, runs);
      if (!elsewhere) continue;
      free.set(elsewhere);
      moved.push(...runs);
      cleared++;
    }
    return cleared === count ? moved : null;
  }

  /** Runs of this node alone, smallest first, until so many devices are free there. */
  #smallest(node: number, need: number, mayMove: (run: number) => boolean): readonly number[] | null {
    const on = this.#on[node]!;
    const alone = [...on.keys()].filter((run) => this.#nodesOf.get(run)!.length === 1 && mayMove(run));
    const runs: number[] = [];
    let free = this.#free[node]!;
    for (const run of alone.sort((a, b) => on.get(a)! - on.get(b)! || a - b)) {
      if (free >= need) break;
      runs.push(run);
      free += on.get(run)!;
    }
    return free < need ? null : runs;
  }

  /** What is free once they stand on the tightest other nodes, and nothing on this one; null where they do not fit. */
  #placedElsewhere(
    free: Int32Array,
    node: number,
    numbered: number,
    runs: readonly number[],
  ): Int32Array | null {
    const left = free.slice();
    left[node] = 0;
    for (const run of runs.toReversed()) {
      const devices = this.#on[numbered]!.get(run)!;
      let best = -1;
      for (let other = 0; other < left.length; other++)
        if (left[other]! >= devices && (best < 0 || left[other]! < left[best]!)) best = other;
      if (best < 0) return null;
      left[best]! -= devices;
    }
    return left;
  }

  #stockOf(node: number): Stock {
    return this.#stocks.find(({ end }) => node < end)!;
  }
}

function stocksOf(fleet: Fleet): Stock[] {
  if (isCounted(fleet)) return [{ first: 0, end: 1, perNode: devicesOf(fleet) }];
  let first = 0;
  return fleet.pools.map(({ nodes, devicesPerNode }) => {
    const stock = { first, end: first + nodes, perNode: devicesPerNode };
    first = stock.end;
    return stock;
  });
}
