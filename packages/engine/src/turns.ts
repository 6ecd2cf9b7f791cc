// Whose turn it is: the lanes of a walk in the order of order.ts. Starved jobs come first, in one heap. Then, rank by rank, a
// tournament over the project tree: every project keeps its children in a heap by the job each would send next, so that a
// job placed or dropped costs the length of its path and not the number of projects. Of a lane only the first entry
// is taken up; the next one comes up when that was reached.
import type { Project, Projects } from './projects.ts';
import type { Entry, Lane, Queue } from './queue.ts';
import { shareOf, staysWithin } from './shares.ts';

/** An entry that the walk has taken up; its starved jobs are another head. */
export interface Head {
  readonly entry: Entry;
  readonly starved: boolean;
  /** Position of its first job that is not placed, and that job; -1 when none is left. */
  position: number;
  job: number;
  /** Position, in the lane's list, of the entry to take up after this one is reached; -1 when there is none. */
  next: number;
  /** Where it stands in the tournament; null before it does, and for starved ones. */
  side: Side | null;
}

/** A project in the tournament of one rank, or a project's own jobs beside its children. */
interface Side {
  readonly project: Project;
  readonly own: boolean;
  readonly parent: Side | null;
  /** A side has heads or sides below it, never both. */
  readonly heads: Head[];
  readonly sides: Side[];
  /** Its place among its siblings. */
  index: number;
  next: Head | null;
  /** 0 when it stays within its guarantee with that job, 1 when not, 2 when it has nothing to send. */
  standing: 0 | 1 | 2;
  share: number;
}

export class Turns {
  readonly #queue: Queue;
  readonly #projects: Projects;
  readonly #starved: Head[] = [];
  readonly #ranks = new Map<number, Head[]>();
  readonly #out = new Set<Lane>();
  #root: Side | null = null;
  #rank = 0;
  #sides = new Map<Project, Side>();
  #owns = new Map<Project, Side>();

  constructor(queue: Queue) {
    this.#queue = queue;
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
    const { entry, starved, next } = head;
    const jobs = starved ? entry.starved! : entry.jobs;
    head.position = jobs.next(head.position);
    head.job = head.position < 0 ? -1 : jobs.at(head.position);
    head.next = -1;
    if (starved) {
      if (head.position < 0) pop(this.#starved, this.#beforeStarved);
      else down(this.#starved, 0, this.#beforeStarved);
      this.#takeUp(entry.lane, next, true);
      return;
    }
    const side = head.side!;
    if (head.position < 0) pop(side.heads, this.#before);
    else if (side.heads.length > 1) down(side.heads, 0, this.#before);
    if (next >= 0) this.#takeUp(entry.lane, next, false);
    this.#refresh(side);
  }

  /** Nothing more of this lane can start: all of it leaves the line. */
  dropped(head: Head): void {
    this.#out.add(head.entry.lane);
    if (head.side !== null) this.#refresh(head.side);
  }

  #takeUp(lane: Lane, at: number, starved: boolean): void {
    if (at < 0) return;
    const list = starved ? lane.starved : lane.entries;
    const entry = this.#queue.entries[list.at(at)]!;
    const jobs = starved ? entry.starved! : entry.jobs;
    const position = jobs.first();
    const next = list.next(at);
    const head: Head = { entry, starved, position, job: jobs.at(position), next, side: null };
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
    this.#sides = new Map();
    this.#owns = new Map();
    this.#root = makeSide(this.#projects, this.#projects.root, false, null);
    this.#sides.set(this.#projects.root, this.#root);
    for (const head of heads) {
      head.side = this.#sideOf(head.entry.lane.project);
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
      own = makeSide(this.#projects, project, true, this.#treeSide(project));
      this.#owns.set(project, own);
    }
    return own;
  }

  #treeSide(project: Project): Side {
    let side = this.#sides.get(project);
    if (!side) {
      side = makeSide(this.#projects, project, false, this.#treeSide(project.parent!));
      this.#sides.set(project, side);
    }
    return side;
  }

  /** From the leaves up, once; from then on `#refresh` keeps it. */
  #settle(side: Side): void {
    for (const below of side.sides) this.#settle(below);
    heapify(side.heads, this.#before);
    for (let at = (side.sides.length >>> 1) - 1; at >= 0; at--) sink(side.sides, at);
    this.#rate(side);
  }

  /** What the side would send next, and what that makes it compare by. */
  #rate(side: Side): void {
    this.#clean(side.heads, this.#before);
    side.next = side.heads.length > 0 ? side.heads[0]! : side.sides.length > 0 ? side.sides[0]!.next : null;
    if (side.next === null) side.standing = 2;
    else if (side.parent !== null) {
      side.standing = !side.own && staysWithin(side.project, side.next.entry.lane.shape.ask) ? 0 : 1;
      side.share = shareOf(this.#projects, side.project, side.own);
    }
  }

  /** The side's next job, or its use, is another: its place and that of all above it follow. */
  #refresh(from: Side): void {
    for (let side: Side | null = from; side !== null; side = side.parent) {
      this.#rate(side);
      if (side.parent === null) return;
      const siblings = side.parent.sides;
      if (siblings.length > 1) {
        rise(siblings, side.index);
        sink(siblings, side.index);
      }
    }
  }

  #clean(heads: Head[], before: (a: Head, b: Head) => boolean): void {
    if (this.#out.size === 0) return;
    while (heads.length > 0 && this.#out.has(heads[0]!.entry.lane)) pop(heads, before);
  }

  readonly #before = (a: Head, b: Head): boolean => this.#queue.compareInLine(a.job, b.job) < 0;

  readonly #beforeStarved = (a: Head, b: Head): boolean => this.#queue.compareStarved(a.job, b.job) < 0;
}

function makeSide(projects: Projects, project: Project, own: boolean, parent: Side | null): Side {
  projects.number(project);
  const index = parent?.sides.length ?? 0;
  const side: Side = { project, own, parent, heads: [], sides: [], index, next: null, standing: 2, share: 0 };
  parent?.sides.push(side);
  return side;
}

/** Sides with nothing to send come last, and stay: one may get something again. */
function beforeSide(a: Side, b: Side): boolean {
  if (a.standing !== b.standing) return a.standing < b.standing;
  if (a.share !== b.share) return a.share < b.share;
  return orderOf(a) < orderOf(b);
}

/** By path: a project's own jobs, which stand under its path, before all its children. */
function orderOf({ own, project }: Side): number {
  return own ? -1 : project.order;
}

/** Sides know their place in the heap of their siblings, so that one can move without being looked for. */
function put(sides: Side[], side: Side, at: number): void {
  sides[at] = side;
  side.index = at;
}

function rise(sides: Side[], from: number): void {
  const side = sides[from]!;
  let at = from;
  while (at > 0) {
    const parent = (at - 1) >>> 1;
    if (!beforeSide(side, sides[parent]!)) break;
    put(sides, sides[parent]!, at);
    at = parent;
  }
  if (at !== from) put(sides, side, at);
}

function sink(sides: Side[], from: number): void {
  const side = sides[from]!;
  let at = from;
  for (let child = 2 * at + 1; child < sides.length; child = 2 * at + 1) {
    if (child + 1 < sides.length && beforeSide(sides[child + 1]!, sides[child]!)) child++;
    if (!beforeSide(sides[child]!, side)) break;
    put(sides, sides[child]!, at);
    at = child;
  }
  if (at !== from) put(sides, side, at);
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
