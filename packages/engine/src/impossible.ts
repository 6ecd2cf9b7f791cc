// Waiting jobs that can never start as things are: no node could hold them, or what they ask for alone is above a ceiling. They
// stand in the queue, because a node or a ceiling may change, and take nothing from anybody until then.
import { type Entry, type Lane, waitingOf } from './entry.ts';
import { allOver, overAt } from './gates.ts';
import type { Line } from './lines.ts';
import type { Queue } from './queue.ts';
import type { SortedInts } from './sorted-ints.ts';
import type { State } from './state.ts';
import { fitsNever, fitsNow } from './verdict.ts';

export function isImpossible({ fleets, projects }: State, { shape, project, user }: Lane): boolean {
  // A gang that chooses greedily may fit beside others and not on the empty fleet.
  if (fitsNever(fleets, shape) && (shape.blocked !== null || !fitsNow(fleets, shape))) return true;
  if (overAt(project, user, shape.ask) === null) return false;
  return allOver(projects, project, user, shape.ask).some(({ asks, ceiling }) => asks > ceiling);
}

/** All of them, found out now: for a question. */
export function impossibleNow(state: State): Impossible {
  const lanes: Lane[] = [];
  for (const shape of state.queue.shapes.all())
    for (const lane of [...shape.lanes, ...shape.gated]) if (isImpossible(state, lane)) lanes.push(lane);
  return new Impossible(state.queue, lanes);
}

/** All of them once a plan has judged what did not start: they are known then, and nothing is tried. */
export function impossibleAsJudged({ queue }: State): Impossible {
  const lanes: Lane[] = [];
  for (const { blocked, lanes: open, gated } of queue.shapes.all())
    if (blocked?.verdict.kind === 'impossible') lanes.push(...open, ...gated);
  for (const lane of queue.gatedLanes()) {
    const { gated, shape } = lane;
    if (gated?.reason.verdict.kind === 'impossible' && shape.blocked?.verdict.kind !== 'impossible')
      lanes.push(lane);
  }
  return new Impossible(queue, lanes);
}

/** To be left out where those who are in line are counted or listed. */
export class Impossible {
  readonly #queue: Queue;
  readonly #entries = new Set<Entry>();
  readonly #byLine = new Map<Line, Entry[]>();

  constructor(queue: Queue, lanes: readonly Lane[]) {
    this.#queue = queue;
    for (const lane of lanes) for (const entry of queue.waitingIn(lane)) this.#add(entry);
  }

  has(job: number): boolean {
    return this.#entries.size > 0 && this.#entries.has(this.#queue.entryOf(job));
  }

  /** Starved ones before a job; all of them for one that is not starved. */
  starvedBefore(job: number | null): number {
    const { compareStarved } = this.#queue;
    let count = 0;
    for (const { starved } of this.#entries) if (starved) count += before(starved, job, compareStarved);
    return count;
  }

  /** Those of a line before a job of it; all of them for one of another line. */
  inLine(line: Line, job: number | null): number {
    const { compareInLine } = this.#queue;
    let count = 0;
    for (const { jobs } of this.#byLine.get(line) ?? []) count += before(jobs, job, compareInLine);
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
