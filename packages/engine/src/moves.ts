// Runs that move out of a job's way (decision 0007, section 5): where room is free but scattered, small runs are stopped that all
// have a place elsewhere at once. That costs each a restart and nobody its turn, so it is tried before anybody is stopped for longer.
//
// The victims are found as others are (victim-search.ts), with a right of its own; then the job and all of them are placed. Largest
// first they choose greedily, so that less room elsewhere may happen to help, as with gangs of several groups.
import type { Claim, Right } from '@muster/model';
import type { Entry, Lane } from './entry.ts';
import { place } from './fit.ts';
import { type Placement, undo } from './ledger.ts';
import { compareText } from './order.ts';
import type { Project } from './projects.ts';
import type { Ask } from './resource-keys.ts';
import type { Rights } from './rights.ts';
import type { RunGroup } from './run-table.ts';
import { matchShape, type Shape } from './shape.ts';
import type { Shields } from './shields.ts';
import type { State } from './state.ts';
import type { TierBook } from './tier-book.ts';
import { fitsNow } from './verdict.ts';
import { VictimSearch } from './victim-search.ts';
import { never, Victims } from './victims.ts';

/** The moves of one plan while it is being made. */
export class Moves {
  readonly #state: State;
  readonly #tiers: TierBook;
  readonly #shields: Shields;
  /** By demand and rank: whether runs would move as the walk begins. */
  readonly #may = new Map<string, boolean>();
  /** The same: after how many takings of the plan none would. */
  readonly #vainAt = new Map<string, number>();
  /** When a run may be moved that may not yet. */
  againMs = never;

  constructor(state: State, tiers: TierBook, shields: Shields) {
    this.#state = state;
    this.#tiers = tiers;
    this.#shields = shields;
  }

  /** Whether runs would move out of the way of one of the entry, whatever nodes it had better avoid: asked as the walk begins. */
  may(entry: Entry, ending: readonly number[]): boolean {
    const key = keyOf(entry);
    let may = this.#may.get(key);
    if (may === undefined) {
      may = this.#search(this.#state.queue.leastSaved(entry), ending, false) !== null;
      this.#may.set(key, may);
    }
    return may;
  }

  /** The runs that move, and where the job goes then; `taken` tells how often something was taken in this plan. */
  find(job: number, ending: readonly number[], taken: number): Claim | null {
    const { jobs } = this.#state;
    const key = keyOf(this.#state.queue.entryOf(job));
    if (!this.#may.get(key)) return null;
    // Who lost its room to another, or avoids nodes, may find others than its kind does, and does not speak for it.
    const alike = jobs.preempted(job).length === 0 && jobs.avoid(job).length === 0;
    if (alike && this.#vainAt.get(key) === taken) return null;
    const found = this.#search(job, ending, true);
    if (!found && alike) this.#vainAt.set(key, taken);
    return found;
  }

  #search(job: number, ending: readonly number[], own: boolean): Claim | null {
    const { queue, fleets, clockMs } = this.#state;
    const { lane, rank } = queue.entryOf(job);
    if (freeMilli(this.#state) < leastMilli(lane.shape)) return null;
    const rights = new MoveRights(this.#state, lane, rank);
    const victims = new Victims(this.#state, this.#tiers, rights, this.#shields, clockMs);
    matchShape(lane.shape, fleets.live.classes);
    const accepts = (runs: Iterable<number>): boolean => fitElsewhere(this.#state, runs);
    const found = new VictimSearch(this.#state, lane, 'open', victims, own, accepts).find(job, ending);
    this.againMs = Math.min(this.againMs, victims.againMs);
    return found && found.victims.length > 0 ? found : null;
  }
}

/** For two of one demand and tier rank the same runs may move. */
function keyOf({ lane, rank }: Entry): string {
  return `${lane.shape.id}/${rank}`;
}

/** Thousandths of devices that are free on nodes that take work. */
export function freeMilli({ fleets }: State): number {
  const { live } = fleets;
  let free = 0;
  for (const slot of live.slots.values()) if (live.takesWork(slot)) free += live.freeMilli[slot]!;
  return free;
}

/** Thousandths of devices that it asks for at least: with fewer free, nothing that moves makes room for it. */
export function leastMilli({ groups }: Shape): number {
  return groups.reduce(
    (sum, { demand, options }) => sum + demand.tasks * Math.min(...options.map(({ milli }) => milli)),
    0,
  );
}

/** To runs of one task of the same tier rank that have saved their work, are smaller, and would have a place as things stand. */
class MoveRights implements Rights {
  readonly #state: State;
  readonly #rank: number;
  /** Thousandths of devices of the job's largest task. */
  readonly #taskMilli: number;
  readonly #fits = new Map<Shape, boolean>();
  readonly #groups: ReadonlySet<RunGroup>;

  constructor(state: State, { shape }: Lane, rank: number) {
    const { table, queue, fleets } = state;
    this.#state = state;
    this.#rank = rank;
    this.#taskMilli = Math.max(...shape.groups.flatMap(({ options }) => options.map(({ milli }) => milli)));
    this.#groups = new Set(table.groups.filter(({ first }) => first >= 0 && this.#rankOf(first) === rank));
    // Asked before anything is taken out.
    for (const { first } of this.#groups)
      for (let run = first; run >= 0; run = table.nextOfGroup[run]!) {
        const own = queue.entryOf(table.job[run]!).lane.shape;
        if (!this.#fits.has(own) && this.#isSmall(run)) this.#fits.set(own, fitsNow(fleets, own));
      }
  }

  mayTake(_job: number, run: number): Right | null {
    const { table, queue } = this.#state;
    if (table.live[run]!.checkpointMs === null || !this.#isSmall(run) || this.#rankOf(run) !== this.#rank)
      return null;
    return this.#fits.get(queue.entryOf(table.job[run]!).lane.shape) ? 'move' : null;
  }

  /** Whoever saves its work is told of. */
  dueMs(): number {
    return never;
  }

  #isSmall(run: number): boolean {
    return this.#state.table.live[run]!.tasks.length === 1 && milliOf(this.#state, run) < this.#taskMilli;
  }

  #rankOf(run: number): number {
    return this.#state.queue.entryOf(this.#state.table.job[run]!).rank;
  }

  /** Rights to move do not follow use. */
  suppose(): boolean {
    return false;
  }

  unsuppose(): void {}

  taken(): boolean {
    return false;
  }

  putBack(): void {}

  get moved(): readonly Project[] {
    return [];
  }

  projectOf(run: number): Project {
    return this.#state.queue.entryOf(this.#state.table.job[run]!).lane.project;
  }

  usesOf(run: number): Ask {
    return this.#state.table.uses[run]!;
  }

  groups(): ReadonlySet<RunGroup> {
    return this.#groups;
  }
}

function milliOf({ table }: State, run: number): number {
  const { devices, deviceMilli } = table.live[run]!.tasks[0]!;
  return devices.length * deviceMilli;
}

/** Whether all these runs, which count as gone, have a place now. Leaves the fleet as it was. */
function fitElsewhere(state: State, runs: Iterable<number>): boolean {
  const { table, queue, jobs, fleets } = state;
  const { live } = fleets;
  const byRun = (a: number, b: number): number => compareText(table.live[a]!.run, table.live[b]!.run);
  const largestFirst = [...runs].sort((a, b) => milliOf(state, b) - milliOf(state, a) || byRun(a, b));
  const placements: Placement[] = [];
  for (const run of largestFirst) {
    const job = table.job[run]!;
    const { shape } = queue.entryOf(job).lane;
    matchShape(shape, live.classes);
    const placement = place(live, shape, jobs.avoid(job));
    if (!placement) break;
    placements.push(placement);
  }
  const all = placements.length === largestFirst.length;
  for (const placement of placements.reverse()) undo(live, placement);
  return all;
}
