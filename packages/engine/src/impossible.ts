// Waiting jobs that can never start as things are: no node could hold them, or what they ask for alone is above a ceiling. They
// stand in the queue, because a node or a ceiling may change, and take nothing from anybody until then.
import { type Entry, type Lane, waitingOf } from './entry.ts';
import { allOver, overAt } from './gates.ts';
import type { Line } from './lines.ts';
import type { SortedInts } from './sorted-ints.ts';
import type { State } from './state.ts';
import { fitsNever, fitsNow } from './verdict.ts';

export function isImpossible({ fleets, projects }: State, { shape, project, user }: Lane): boolean {
  // A gang that chooses greedily may fit beside others and not on the empty fleet.
  if (fitsNever(fleets, shape) && (shape.blocked !== null || !fitsNow(fleets, shape))) return true;
  if (overAt(project, user, shape.ask) === null) return false;
  return allOver(projects, project, user, shape.ask).some(({ asks, ceiling }) => asks > ceiling);
}

/** All of them, to be left out where those who are in line are counted or listed. */
export class Impossible {
  readonly #state: State;
  readonly #entries = new Set<Entry>();
  readonly #byLine = new Map<Line, Entry[]>();

  constructor(state: State) {
    this.#state = state;
    for (const { lanes, gated } of state.queue.shapes.all())
      for (const lane of [...lanes, ...gated])
        if (isImpossible(state, lane)) for (const entry of state.queue.waitingIn(lane)) this.#add(entry);
  }

  has(job: number): boolean {
    return this.#entries.size > 0 && this.#entries.has(this.#state.queue.entryOf(job));
  }

  /** Starved ones before a job; all of them for one that is not starved. */
  starvedBefore(job: number | null): number {
    const { queue } = this.#state;
    let count = 0;
    for (const { starved } of this.#entries) if (starved) count += before(starved, job, queue.compareStarved);
    return count;
  }

  /** Those of a line before a job of it; all of them for one of another line. */
  inLine(line: Line, job: number | null): number {
    const { queue } = this.#state;
    let count = 0;
    for (const { jobs } of this.#byLine.get(line) ?? []) count += before(jobs, job, queue.compareInLine);
    return count;
  }

  /** Those of a tier rank that are not starved. */
  atRank(rank: number): number {
    let count = 0;
    for (const line of this.#byLine.keys()) if (line.rank === rank) count += this.inLine(line, null);
    return count;
  }

  #add(entry: Entry): void {
    if (waitingOf(entry) === 0) return;
    this.#entries.add(entry);
    const known = this.#byLine.get(entry.line);
    if (known) known.push(entry);
    else this.#byLine.set(entry.line, [entry]);
  }
}

function before(list: SortedInts, job: number | null, compare: (a: number, b: number) => number): number {
  return job === null ? list.size : list.countWhile((other) => compare(other, job) < 0);
}
