// The fleet as it will be: step by step, what ends lets go of its places and what is planned takes them. A step is one moment
// at which anything ends or starts, ends first. Steps are made when first gone to, and can be gone back; `goTo(0)` is now.
import { changeHolding, type Holding, holdingOfRun } from './holding.ts';
import type { State } from './state.ts';

interface Change {
  readonly holding: Holding;
  readonly sign: 1 | -1;
}

interface Step {
  readonly atMs: number;
  /** Whether something ends at it: only then may there be more room. */
  readonly ends: boolean;
  readonly changes: readonly Change[];
}

/** A job with a planned start. */
interface Later {
  readonly startMs: number;
  readonly holding: Holding;
}

/** How many ends and starts a walk may still look at. */
export interface Looks {
  left: number;
}

export class Future {
  /** How many steps have been taken. */
  at = 0;
  readonly #state: State;
  readonly #looks: Looks;
  readonly #steps: Step[] = [];
  /** Of this walk: ends of what it placed, starts and ends of what it planned; by time, ends first. */
  readonly #own: (Change & { readonly atMs: number })[] = [];
  #ownNext = 0;
  #runNext: number;

  constructor(state: State, looks: Looks, placed: readonly Holding[], planned: readonly Later[]) {
    this.#state = state;
    this.#looks = looks;
    this.#runNext = state.ends.order.first();
    for (const holding of placed) this.#own.push({ atMs: holding.endMs, holding, sign: -1 });
    for (const { startMs, holding } of planned) {
      this.#own.push({ atMs: startMs, holding, sign: 1 });
      this.#own.push({ atMs: holding.endMs, holding, sign: -1 });
    }
    this.#own.sort((a, b) => a.atMs - b.atMs || a.sign - b.sign);
  }

  /** How many steps have been made. */
  get length(): number {
    return this.#steps.length;
  }

  /** The moment of a step, counted from 1. */
  timeOf(step: number): number {
    return this.#steps[step - 1]!.atMs;
  }

  endsAt(step: number): boolean {
    return this.#steps[step - 1]!.ends;
  }

  /** Whether there is such a step, and it may still be looked at. */
  has(step: number): boolean {
    while (this.#steps.length < step) if (!this.#makeStep()) return false;
    return true;
  }

  goTo(step: number): void {
    while (this.at < step && this.has(this.at + 1)) {
      for (const { holding, sign } of this.#steps[this.at]!.changes)
        changeHolding(this.#state, holding, sign);
      this.at++;
    }
    while (this.at > step) {
      this.at--;
      const { changes } = this.#steps[this.at]!;
      for (let i = changes.length - 1; i >= 0; i--)
        changeHolding(this.#state, changes[i]!.holding, changes[i]!.sign === 1 ? -1 : 1);
    }
  }

  /** Everything that has ended by the step. */
  *ended(step: number): IterableIterator<Holding> {
    for (let i = 0; i < step; i++)
      for (const { holding, sign } of this.#steps[i]!.changes) if (sign === -1) yield holding;
  }

  #makeStep(): boolean {
    const { ends, table } = this.#state;
    const own = this.#own[this.#ownNext];
    const run = this.#runNext < 0 ? null : ends.order.at(this.#runNext);
    if ((!own && run === null) || this.#looks.left <= 0) return false;
    const runMs = run === null ? Number.POSITIVE_INFINITY : ends.endMs[run]!;
    const atMs = Math.min(runMs, own?.atMs ?? Number.POSITIVE_INFINITY);
    const changes: Change[] = [];
    for (; this.#runNext >= 0; this.#runNext = ends.order.next(this.#runNext)) {
      const slot = ends.order.at(this.#runNext);
      if (ends.endMs[slot] !== atMs) break;
      // What a victim holds is claimed.
      if (this.#state.claims.isVictim(table.live[slot]!.run)) continue;
      const end = { endMs: atMs, assumed: ends.assumed[slot] === 1, overdue: ends.isOverdue(slot) };
      changes.push({ holding: holdingOfRun(this.#state, table.live[slot]!, end), sign: -1 });
    }
    for (; this.#own[this.#ownNext]?.atMs === atMs; this.#ownNext++) changes.push(this.#own[this.#ownNext]!);
    this.#looks.left -= changes.length;
    this.#steps.push({ atMs, ends: changes[0]?.sign === -1, changes });
    return true;
  }
}
