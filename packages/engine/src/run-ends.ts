// Live runs by when they are expected to end, earliest first. Kept as runs are planned, start and end, so that a cycle pays
// for what changed. An end that has passed without news moves on when the clock is looked at (`rollTo`).
import { invariant, type LiveRun, type RunId } from '@muster/model';
import { grown } from './columns.ts';
import { type Duration, expectedEndMs } from './expected-end.ts';
import { ForkMap } from './fork-map.ts';
import { compareText } from './order.ts';
import { SortedInts } from './sorted-ints.ts';

export class RunEnds {
  readonly order: SortedInts;
  runs: (LiveRun | undefined)[] = [];
  endMs = new Float64Array(0);
  durationMs = new Float64Array(0);
  assumed = new Uint8Array(0);
  #slots = new ForkMap<RunId, number>();
  #vacant: number[] = [];
  /** Nodes of each run, and runs on each node. */
  #nodes: (readonly number[])[] = [];
  #on: (readonly number[] | undefined)[] = [];

  constructor(from?: RunEnds) {
    this.order = from ? from.order.copy(this.#compare) : new SortedInts(this.#compare);
    if (!from) return;
    this.runs = from.runs.slice();
    this.endMs = from.endMs.slice();
    this.durationMs = from.durationMs.slice();
    this.assumed = from.assumed.slice();
    this.#slots = from.#slots.fork();
    this.#vacant = from.#vacant.slice();
    this.#nodes = from.#nodes.slice();
    this.#on = from.#on.slice();
  }

  copy(): RunEnds {
    return new RunEnds(this);
  }

  /** Runs with tasks on the node. */
  on(node: number): readonly number[] {
    return this.#on[node] ?? none;
  }

  nodesOf(slot: number): readonly number[] {
    return this.#nodes[slot]!;
  }

  add(run: LiveRun, nodes: readonly number[], duration: Duration, nowMs: number): void {
    const slot = this.#vacant.pop() ?? this.runs.length;
    this.endMs = grown(this.endMs, slot + 1);
    this.durationMs = grown(this.durationMs, slot + 1);
    this.assumed = grown(this.assumed, slot + 1);
    this.#slots.set(run.run, slot);
    this.runs[slot] = run;
    this.#time(slot, duration, nowMs);
    this.order.insert(slot);
    this.#nodes[slot] = nodes;
    for (const node of nodes) this.#on[node] = [...this.on(node), slot];
  }

  /** It started, or its duration is another one by a new policy. Tells where that matters. */
  change(run: LiveRun, duration: Duration, nowMs: number): readonly number[] {
    const slot = this.#slotOf(run.run);
    this.order.remove(slot);
    this.runs[slot] = run;
    this.#time(slot, duration, nowMs);
    this.order.insert(slot);
    return this.#nodes[slot]!;
  }

  /** Tells on which nodes it was. */
  remove(id: RunId): readonly number[] {
    const slot = this.#slotOf(id);
    const nodes = this.#nodes[slot]!;
    this.order.remove(slot);
    for (const node of nodes) {
      const rest = this.on(node).filter((other) => other !== slot);
      this.#on[node] = rest.length > 0 ? rest : undefined;
    }
    this.#slots.delete(id);
    this.runs[slot] = undefined;
    this.#vacant.push(slot);
    return nodes;
  }

  /** Moves on every end that has passed, and tells the nodes of each; true when there was one. */
  rollTo(nowMs: number, tell: (node: number) => void): boolean {
    let rolled = false;
    for (let p = this.order.first(); p >= 0; p = this.order.first()) {
      const slot = this.order.at(p);
      if (this.endMs[slot]! > nowMs) break;
      this.order.removeAt(p);
      this.endMs[slot] = expectedEndMs(startOf(this.runs[slot]!), this.durationMs[slot]!, nowMs);
      this.order.insert(slot);
      for (const node of this.#nodes[slot]!) tell(node);
      rolled = true;
    }
    return rolled;
  }

  /** The earliest expected end; null without runs. */
  firstMs(): number | null {
    return this.order.size === 0 ? null : this.endMs[this.order.at(0)]!;
  }

  /** Whether it has outlived its duration. */
  isOverdue(slot: number): boolean {
    return this.endMs[slot]! > startOf(this.runs[slot]!) + this.durationMs[slot]!;
  }

  #time(slot: number, { ms, assumed }: Duration, nowMs: number): void {
    this.durationMs[slot] = ms;
    this.assumed[slot] = assumed ? 1 : 0;
    this.endMs[slot] = expectedEndMs(startOf(this.runs[slot]!), ms, nowMs);
  }

  #slotOf(id: RunId): number {
    const slot = this.#slots.get(id);
    invariant(slot !== undefined, `run ${id} has no expected end`);
    return slot;
  }

  readonly #compare = (a: number, b: number): number =>
    this.endMs[a]! - this.endMs[b]! || (a === b ? 0 : compareText(this.runs[a]!.run, this.runs[b]!.run));
}

const none: readonly number[] = [];

/** While it has not started, it counts from its plan. */
function startOf({ startedMs, plannedMs }: LiveRun): number {
  return startedMs ?? plannedMs;
}
