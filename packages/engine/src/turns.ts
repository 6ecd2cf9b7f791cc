// Whose turn it is: the lanes of a walk in the order of order.ts. Starved jobs come first, in one heap. Then, rank by rank, a
// tournament over the project tree: every project keeps its children in a heap by the job each would send next, so that a
// job placed or dropped costs the length of its path and not the number of projects. Of a lane only the first entry
// is taken up; the next one comes up when that was reached.
import type { Members } from './members.ts';
import type { Taken } from './pass.ts';
import type { Project, Projects } from './projects.ts';
import type { Entry, Lane, Queue } from './queue.ts';
import type { Ask } from './resource-keys.ts';
import { shareOf, staysWithin } from './shares.ts';
import { offsetIn } from './sorted-ints.ts';
import { beyond, nothing, Standings, within } from './standings.ts';

/** An entry that the walk has taken up; its starved jobs are another head. */
export interface Head {
  readonly entry: Entry;
  /** Its lane, and what a job of it is sure to use. */
  readonly lane: Lane;
  readonly ask: Ask;
  readonly starved: boolean;
  /** Position of its first job that is not placed, and that job; -1 when none is left. */
  position: number;
  job: number;
  /** The jobs that stand together with it, where it stands among them, and where they end: read very often, one by one. */
  chunk: Int32Array;
  at: number;
  end: number;
  /** Position, in the lane's list, of the entry to take up after this one is reached; -1 when there is none. */
  next: number;
  /** Where it stands in the tournament; null before it does, and for starved ones. */
  side: Side | null;
  /** What its jobs took last; kept here by the walk. */
  taken: Taken | null;
}

/** A project in the tournament of one rank, or a project's own jobs beside its children. */
interface Side {
  readonly id: number;
  readonly project: Project;
  readonly own: boolean;
  readonly parent: Side | null;
  /** A side has heads or sides below it, never both. Of those there are only the numbers here; see `Standings`. */
  readonly heads: Head[];
  readonly sides: number[];
  next: Head | null;
}

export class Turns {
  readonly #queue: Queue;
  readonly #projects: Projects;
  readonly #members: Members;
  readonly #starved: Head[] = [];
  readonly #ranks = new Map<number, Head[]>();
  readonly #out = new Set<Lane>();
  #root: Side | null = null;
  #rank = 0;
  #standings = new Standings();
  #all: Side[] = [];
  #sides = new Map<Project, Side>();
  #owns = new Map<Project, Side>();

  constructor(queue: Queue, members: Members) {
    this.#queue = queue;
    this.#members = members;
    this.#projects = queue.projects;
  }

  enter(lane: Lane): void {
    this.#takeUp(lane, lane.starved.first(), true);
    this.#takeUp(lane, lane.entries.first(), false);
  }

  /** Whose turn it is; the caller answers with `passed` or `dropped`. */
  next(): Head | null {
    this.#clean(this.#starved, this.#beforeStarved);
    if (this.#starved.length > 0) return this.#starved[0]!;
    while (this.#root === null || this.#root.next === null) if (!this.#nextRank()) return null;
    return this.#root.next;
  }

  /** The job whose turn it was is placed, and its use is counted already; or it steps aside for the next of its lane. */
  passed(head: Head): void {
    // An array stands there for all its members that never started.
    if (!this.#members.hasMore(head.job)) advance(head);
    this.#goOn(head);
  }

  /** No more of this entry can start; others of its lane may. */
  passedEntry(head: Head): void {
    head.position = -1;
    head.job = -1;
    this.#goOn(head);
  }

  #goOn(head: Head): void {
    const { lane, starved, next } = head;
    head.next = -1;
    if (starved) {
      if (head.position < 0) pop(this.#starved, this.#beforeStarved);
      else down(this.#starved, 0, this.#beforeStarved);
      this.#takeUp(lane, next, true);
      return;
    }
    const side = head.side!;
    if (head.position < 0) pop(side.heads, this.#before);
    else if (side.heads.length > 1) down(side.heads, 0, this.#before);
    if (next >= 0) this.#takeUp(lane, next, false);
    this.#refresh(side);
  }

  /** Nothing more of this lane can start: all of it leaves the line. */
  dropped(head: Head): void {
    this.#out.add(head.lane);
    if (head.side !== null) this.#refresh(head.side);
  }

  #takeUp(lane: Lane, at: number, starved: boolean): void {
    if (at < 0) return;
    const list = starved ? lane.starved : lane.entries;
    const entry = this.#queue.entries[list.at(at)]!;
    const jobs = starved ? entry.starved! : entry.jobs;
    const position = jobs.first();
    const head: Head = {
      entry,
      lane,
      ask: lane.shape.ask,
      starved,
      position,
      job: jobs.at(position),
      chunk: jobs.chunkOf(position),
      at: offsetIn(position),
      end: jobs.endOf(position),
      next: list.next(at),
      side: null,
      taken: null,
    };
    if (starved) push(this.#starved, head, this.#beforeStarved);
    else if (this.#root !== null && entry.rank === this.#rank) {
      head.side = this.#sideOf(lane.project);
      push(head.side.heads, head, this.#before);
    } else {
      const heads = this.#ranks.get(entry.rank);
      if (heads) heads.push(head);
      else this.#ranks.set(entry.rank, [head]);
    }
  }

  /** Builds the tournament of the highest rank that is left; false when none is. */
  #nextRank(): boolean {
    let rank: number | null = null;
    for (const each of this.#ranks.keys()) if (rank === null || each > rank) rank = each;
    if (rank === null) return false;
    const heads = this.#ranks.get(rank)!;
    this.#ranks.delete(rank);
    this.#rank = rank;
    this.#standings = new Standings();
    this.#all = [];
    this.#sides = new Map();
    this.#owns = new Map();
    this.#root = this.#makeSide(this.#projects.root, false, null);
    this.#sides.set(this.#projects.root, this.#root);
    for (const head of heads) {
      head.side = this.#sideOf(head.lane.project);
      head.side.heads.push(head);
    }
    this.#settle(this.#root);
    return true;
  }

  /** Where the project's own jobs stand. */
  #sideOf(project: Project): Side {
    if (project.children.length === 0) return this.#treeSide(project);
    let own = this.#owns.get(project);
    if (!own) {
      own = this.#makeSide(project, true, this.#treeSide(project));
      this.#owns.set(project, own);
    }
    return own;
  }

  #treeSide(project: Project): Side {
    let side = this.#sides.get(project);
    if (!side) {
      side = this.#makeSide(project, false, this.#treeSide(project.parent!));
      this.#sides.set(project, side);
    }
    return side;
  }

  /** From the leaves up, once; from then on `#refresh` keeps it. */
  #settle(side: Side): void {
    for (const below of side.sides) this.#settle(this.#all[below]!);
    heapify(side.heads, this.#before);
    for (let at = (side.sides.length >>> 1) - 1; at >= 0; at--) this.#standings.sink(side.sides, at);
    this.#rate(side);
  }

  /** What the side would send next, and what that makes it compare by. */
  #rate(side: Side): void {
    this.#clean(side.heads, this.#before);
    const { heads, sides, project, own } = side;
    side.next = heads.length > 0 ? heads[0]! : sides.length > 0 ? this.#all[sides[0]!]!.next : null;
    const { standing, share } = this.#standings;
    if (side.next === null) standing[side.id] = nothing;
    else if (side.parent !== null) {
      standing[side.id] = !own && staysWithin(project, side.next.ask) ? within : beyond;
      share[side.id] = shareOf(this.#projects, project, own);
    }
  }

  /** The side's next job, or its use, is another: its place and that of all above it follow. */
  #refresh(from: Side): void {
    for (let side: Side | null = from; side !== null; side = side.parent) {
      this.#rate(side);
      if (side.parent === null) return;
      const siblings = side.parent.sides;
      if (siblings.length > 1) this.#standings.moved(siblings, side.id);
    }
  }

  #makeSide(project: Project, own: boolean, parent: Side | null): Side {
    if (parent !== null) this.#projects.numberChildren(parent.project);
    const id = this.#all.length;
    const side: Side = { id, project, own, parent, heads: [], sides: [], next: null };
    this.#all.push(side);
    // By path a project's own jobs, which stand under its path, come before all its children.
    this.#standings.add(id, own ? -1 : project.order, parent?.sides.length ?? 0);
    parent?.sides.push(id);
    return side;
  }

  #clean(heads: Head[], before: (a: Head, b: Head) => boolean): void {
    if (this.#out.size === 0 && !this.#members.any) return;
    while (heads.length > 0) {
      const head = heads[0]!;
      if (this.#out.has(head.lane)) pop(heads, before);
      else if (this.#members.isFull(head.job)) this.#skip(heads, before);
      else return;
    }
  }

  /** The array of the first one has as many members out as may be: whoever comes after it has the turn. */
  #skip(heads: Head[], before: (a: Head, b: Head) => boolean): void {
    const head = heads[0]!;
    const { lane, starved, next } = head;
    head.next = -1;
    advance(head);
    if (head.position < 0) pop(heads, before);
    else down(heads, 0, before);
    this.#takeUp(lane, next, starved);
  }

  readonly #before = (a: Head, b: Head): boolean => this.#queue.compareInLine(a.job, b.job) < 0;

  readonly #beforeStarved = (a: Head, b: Head): boolean => this.#queue.compareStarved(a.job, b.job) < 0;
}

/** On to the next job of its entry. The lists stand still while a walk lasts. */
function advance(head: Head): void {
  if (head.at + 1 < head.end) {
    head.position++;
    head.job = head.chunk[++head.at]!;
    return;
  }
  const { entry, starved } = head;
  const jobs = starved ? entry.starved! : entry.jobs;
  const position = jobs.next(head.position);
  head.position = position;
  head.job = -1;
  if (position < 0) return;
  head.job = jobs.at(position);
  head.chunk = jobs.chunkOf(position);
  head.at = offsetIn(position);
  head.end = jobs.endOf(position);
}

type Before<T> = (a: T, b: T) => boolean;

function push<T>(heap: T[], item: T, before: Before<T>): void {
  heap.push(item);
  up(heap, heap.length - 1, before);
}

function pop<T>(heap: T[], before: Before<T>): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  heap[0] = last;
  down(heap, 0, before);
}

function heapify<T>(heap: T[], before: Before<T>): void {
  for (let at = (heap.length >>> 1) - 1; at >= 0; at--) down(heap, at, before);
}

function up<T>(heap: T[], from: number, before: Before<T>): void {
  for (let at = from; at > 0; ) {
    const parent = (at - 1) >>> 1;
    if (!before(heap[at]!, heap[parent]!)) return;
    swap(heap, at, parent);
    at = parent;
  }
}

function down<T>(heap: T[], from: number, before: Before<T>): void {
  for (let at = from; ; ) {
    let least = at;
    for (let child = 2 * at + 1; child <= 2 * at + 2 && child < heap.length; child++)
      if (before(heap[child]!, heap[least]!)) least = child;
    if (least === at) return;
    swap(heap, at, least);
    at = least;
  }
}

function swap<T>(heap: T[], a: number, b: number): void {
  const kept = heap[a]!;
  heap[a] = heap[b]!;
  heap[b] = kept;
}
