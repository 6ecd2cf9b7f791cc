// Live runs by when they are expected to end, earliest first; runs are slots of the run table. Kept as runs are planned, start and
// end, so that a cycle pays for what changed. An end that has passed without news moves on when the clock is looked at (`rollTo`).
import type { LiveRun } from '@muster/model';
import { grown } from './columns.ts';
import { type Duration, expectedEndMs } from './expected-end.ts';
import { compareText } from './order.ts';
import type { RunTable } from './run-table.ts';
import { SortedInts } from './sorted-ints.ts';

export class RunEnds {
  readonly order: SortedInts;
  endMs = new Float64Array(0);
  durationMs = new Float64Array(0);
  assumed = new Uint8Array(0);
  /** Whether it has an end: a question may suppose that it has ended. */
  #awaited = new Uint8Array(0);
  readonly #table: RunTable;

  constructor(table: RunTable, from?: RunEnds) {
    this.#table = table;
    this.order = from ? from.order.copy(this.#compare) : new SortedInts(this.#compare);
    if (!from) return;
    this.endMs = from.endMs.slice();
    this.durationMs = from.durationMs.slice();
    this.assumed = from.assumed.slice();
    this.#awaited = from.#awaited.slice();
  }

  /** The same of a copy of the table. */
  copy(table: RunTable): RunEnds {
    return new RunEnds(table, this);
  }

  isAwaited(run: number): boolean {
    return this.#awaited[run] === 1;
  }

  /** The run is in the table already. */
  add(run: number, duration: Duration, nowMs: number): void {
    this.endMs = grown(this.endMs, run + 1);
    this.durationMs = grown(this.durationMs, run + 1);
    this.assumed = grown(this.assumed, run + 1);
    this.#awaited = grown(this.#awaited, run + 1);
    this.#awaited[run] = 1;
    this.#time(run, duration, nowMs);
    this.order.insert(run);
  }

  /** It started, or its duration is another one by a new policy. */
  change(run: number, duration: Duration, nowMs: number): void {
    this.order.remove(run);
    this.#time(run, duration, nowMs);
    this.order.insert(run);
  }

  /** The run is in the table still. */
  remove(run: number): void {
    this.order.remove(run);
    this.#awaited[run] = 0;
  }

  /** Moves on every end that has passed, and tells the nodes of each; true when there was one. */
  rollTo(nowMs: number, tell: (node: number) => void): boolean {
    let rolled = false;
    for (let p = this.order.first(); p >= 0; p = this.order.first()) {
      const run = this.order.at(p);
      if (this.endMs[run]! > nowMs) break;
      this.order.removeAt(p);
      this.endMs[run] = expectedEndMs(startOf(this.#table.live[run]!), this.durationMs[run]!, nowMs);
      this.order.insert(run);
      this.#table.tellNodes(run, tell);
      rolled = true;
    }
    return rolled;
  }

  /** The earliest expected end; null without runs. */
  firstMs(): number | null {
    return this.order.size === 0 ? null : this.endMs[this.order.at(0)]!;
  }

  /** Whether it has outlived its duration. */
  isOverdue(run: number): boolean {
    return this.endMs[run]! > startOf(this.#table.live[run]!) + this.durationMs[run]!;
  }

  #time(run: number, { ms, assumed }: Duration, nowMs: number): void {
    this.durationMs[run] = ms;
    this.assumed[run] = assumed ? 1 : 0;
    this.endMs[run] = expectedEndMs(startOf(this.#table.live[run]!), ms, nowMs);
  }

  readonly #compare = (a: number, b: number): number => {
    if (this.endMs[a] !== this.endMs[b]) return this.endMs[a]! - this.endMs[b]!;
    const { live } = this.#table;
    return a === b ? 0 : compareText(live[a]!.run, live[b]!.run);
  };
}

/** While it has not started, it counts from its plan. */
function startOf({ startedMs, plannedMs }: LiveRun): number {
  return startedMs ?? plannedMs;
}
