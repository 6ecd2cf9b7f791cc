// Whose turn it is: the lanes of a walk in the order of order.ts. Starved jobs come first, in one heap. Then, rank by rank, a
// tournament over the project tree: every project keeps its children in a heap by the job each would send next, so that a
// job placed or dropped costs the length of its path and not the number of projects. Of a lane only the first entry
// is taken up; the next one comes up when that was reached.

import type { Entry, Lane } from './entry.ts';
import type { Members } from './members.ts';
import type { Alike } from './placed-jobs.ts';
import type { Project, Projects } from './projects.ts';
import type { Queue } from './queue.ts';
import type { Ask } from './resource-keys.ts';
import type { Shape } from './shape.ts';
import { shareOf, staysWithin } from './shares.ts';
import { offsetIn } from './sorted-ints.ts';
import { beyond, nothing, type Standings, within } from './standings.ts';

/** An entry that the walk has taken up; its starved jobs are another head. */
export interface Head {
  readonly entry: Entry;
  readonly rank: number;
  /** Of the entry, so that a turn reads nothing else: a walk has a turn of another one every time. */
  readonly lane: Lane;
  readonly shape: Shape;
  readonly project: Project;
  readonly user: string;
  readonly durationMs: number;
  /** The same when it would pass a planned start. */
  readonly passMs: number;
  /** What a job of it is sure to use. */
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
  /** The side of the tournament that it stands on; -1 before it does, and for starved ones. */
  side: number;
  /** What its jobs took last; kept here by the walk. */
  alike: Alike | null;
}

/** The side that is the whole tree. */
const first = 0;

export class Turns {
  readonly #queue: Queue;
  readonly #projects: Projects;
  readonly #members: Members;
  readonly #starved: Head[] = [];
  readonly #ranks = new Map<number, Head[]>();
  readonly #out = new Set<Lane>();
  /** Whether any head may have left the line: there are arrays, or a lane is out. */
  #cleans: boolean;
  /** Set once there is a tournament, of this rank. A side is a project in it, or a project's own jobs beside its children. */
  #began = false;
  #rank = 0;
  readonly #standings: Standings;
  /** By side: heaps of heads or of sides below it, never both, and what it would send next. */
  #heads: Head[][] = [];
  #below: number[][] = [];
  #next: (Head | null)[] = [];

  constructor(queue: Queue, members: Members) {
    this.#queue = queue;
    this.#members = members;
    this.#cleans = members.any;
    this.#projects = queue.projects;
    this.#standings = queue.standings;
  }

  /**
   * A lane is taken up as it was the last time when nobody has come to it or left it: walks line up thousands of lanes, of which
   * a few have changed.
   */
  enter(lane: Lane): void {
    if (lane.starved.size > 0) this.#takeUp(lane, lane.starved.first(), true);
    if (lane.head !== null) rewind(lane.head);
    else if (lane.entries.size > 0) lane.head = this.#headOf(lane, lane.entries.first(), false);
    if (lane.head !== null) this.#stand(lane.head);
  }

  /** Whose turn it is; the caller answers with `passed` or `dropped`. */
  next(): Head | null {
    if (this.#cleans) this.#clean(this.#starved, this.#beforeStarved);
    if (this.#starved.length > 0) return this.#starved[0]!;
    while (!this.#began || this.#next[first] === null) if (!this.#nextRank()) return null;
    return this.#next[first]!;
  }

  /** The job whose turn it was is placed, and its use is counted already; or it steps aside for the next of its lane. */
  passed(head: Head): void {
    // An array stands there for all its members that never started.
    if (!this.#cleans || !this.#members.hasMore(head.job)) advance(head);
    this.#goOn(head, true);
  }

  /** No more of this entry can start; others of its lane may. */
  passedEntry(head: Head): void {
    head.position = -1;
    head.job = -1;
    this.#goOn(head, false);
  }

  #goOn(head: Head, used: boolean): void {
    if (head.starved) {
      this.#settleFirst(this.#starved, head, this.#beforeStarved);
      return;
    }
    const { side } = head;
    const heads = this.#heads[side]!;
    // Mostly the one that goes on is the only one there.
    if (head.position < 0 || head.next >= 0 || heads.length > 1) this.#settleFirst(heads, head, this.#before);
    this.#refresh(side, used);
  }

  /** The first of a heap is at its next job, or has none left, and the entry behind it comes up. */
  #settleFirst(heads: Head[], head: Head, before: Before<Head>): void {
    const { lane, starved, next } = head;
    head.next = -1;
    if (head.position < 0) pop(heads, before);
    else down(heads, 0, before);
    this.#takeUp(lane, next, starved);
  }

  /** Nothing more of this lane can start: all of it leaves the line. */
  dropped(head: Head): void {
    this.#out.add(head.lane);
    this.#cleans = true;
    if (head.side >= 0) this.#refresh(head.side, false);
  }

  #takeUp(lane: Lane, at: number, starved: boolean): void {
    if (at >= 0) this.#stand(this.#headOf(lane, at, starved));
  }

  #headOf(lane: Lane, at: number, starved: boolean): Head {
    const list = starved ? lane.starved : lane.entries;
    const entry = this.#queue.entries[list.at(at)]!;
    const jobs = starved ? entry.starved! : entry.jobs;
    const position = jobs.first();
    return {
      entry,
      rank: entry.rank,
      lane,
      shape: lane.shape,
      project: lane.project,
      user: lane.user,
      durationMs: entry.duration.ms,
      passMs: entry.passMs,
      ask: lane.shape.ask,
      starved,
      position,
      job: jobs.at(position),
      chunk: jobs.chunkOf(position),
      at: offsetIn(position),
      end: jobs.endOf(position),
      next: list.next(at),
      side: -1,
      alike: null,
    };
  }

  #stand(head: Head): void {
    const { starved, rank } = head;
    if (starved) push(this.#starved, head, this.#beforeStarved);
    else if (this.#began && rank === this.#rank) {
      head.side = this.#sideOf(head.project);
      push(this.#heads[head.side]!, head, this.#before);
    } else {
      const heads = this.#ranks.get(rank);
      if (heads) heads.push(head);
      else this.#ranks.set(rank, [head]);
    }
  }

  /** Builds the tournament of the highest rank that is left; false when none is. */
  #nextRank(): boolean {
    let rank: number | null = null;
    for (const each of this.#ranks.keys()) if (rank === null || each > rank) rank = each;
    if (rank === null) return false;
    const heads = this.#ranks.get(rank)!;
    this.#ranks.delete(rank);
    this.#began = true;
    this.#rank = rank;
    this.#standings.clear(this.#queue.expectedFirst ? this.#compareNext : null);
    this.#heads = [];
    this.#below = [];
    this.#next = [];
    this.#makeSide(this.#projects.root, false, -1);
    for (const head of heads) {
      head.side = this.#sideOf(head.project);
      this.#heads[head.side]!.push(head);
    }
    this.#settle(first);
    return true;
  }

  /** Where the project's own jobs stand. */
  #sideOf(project: Project): number {
    if (project.children.length === 0) return this.#treeSide(project);
    const own = this.#standings.sideOf(project.id, true);
    return own >= 0 ? own : this.#makeSide(project, true, this.#treeSide(project));
  }

  #treeSide(project: Project): number {
    const side = this.#standings.sideOf(project.id, false);
    return side >= 0 ? side : this.#makeSide(project, false, this.#treeSide(project.parent!));
  }

  /** From the leaves up, once; from then on `#refresh` keeps it. */
  #settle(side: number): void {
    const below = this.#below[side]!;
    for (const each of below) this.#settle(each);
    heapify(this.#heads[side]!, this.#before);
    for (let at = (below.length >>> 1) - 1; at >= 0; at--) this.#standings.sink(below, at);
    this.#rate(side, true);
  }

  /** What the side would send next, and what that makes it compare by; its share only where use may be another. */
  #rate(side: number, used: boolean): void {
    const heads = this.#heads[side]!;
    if (this.#cleans) this.#clean(heads, this.#before);
    const below = this.#below[side]!;
    const next = heads.length > 0 ? heads[0]! : below.length > 0 ? this.#next[below[0]!]! : null;
    this.#next[side] = next;
    const { standing, share, parent, project, own } = this.#standings;
    if (next === null) standing[side] = nothing;
    else if (parent[side]! >= 0) {
      const at = project[side]!;
      const isOwn = own[side] === 1;
      if (used || standing[side] === nothing) share[side] = shareOf(this.#projects, at, isOwn);
      standing[side] = !isOwn && staysWithin(this.#projects.amounts, at, next.ask) ? within : beyond;
    }
  }

  /** The side's next job, or its use, is another: its place and that of all above it follow. */
  #refresh(from: number, used: boolean): void {
    const { parent } = this.#standings;
    for (let side = from; ; side = parent[side]!) {
      this.#rate(side, used);
      if (parent[side]! < 0) return;
      const siblings = this.#below[parent[side]!]!;
      if (siblings.length > 1) this.#standings.moved(siblings, side);
    }
  }

  #makeSide(project: Project, own: boolean, parent: number): number {
    if (project.parent !== null) this.#projects.numberChildren(project.parent);
    const siblings = parent < 0 ? null : this.#below[parent]!;
    // By path a project's own jobs, which stand under its path, come before all its children.
    const order = own ? -1 : project.order;
    const side = this.#standings.add(project.id, own, parent, order, siblings?.length ?? 0);
    this.#heads.push([]);
    this.#below.push([]);
    this.#next.push(null);
    siblings?.push(side);
    return side;
  }

  #clean(heads: Head[], before: (a: Head, b: Head) => boolean): void {
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
    advance(head);
    this.#settleFirst(heads, head, before);
  }

  readonly #compareNext = (a: number, b: number): number =>
    this.#queue.compareExpected(this.#next[a]!.job, this.#next[b]!.job);

  readonly #before = (a: Head, b: Head): boolean => this.#queue.compareInLine(a.job, b.job) < 0;

  readonly #beforeStarved = (a: Head, b: Head): boolean => this.#queue.compareStarved(a.job, b.job) < 0;
}

/** Back to where a walk takes it up: the first entry of its lane, which nobody has come to or left. */
function rewind(head: Head): void {
  const { entries } = head.lane;
  const { jobs } = head.entry;
  const position = jobs.first();
  head.position = position;
  head.job = jobs.at(position);
  head.chunk = jobs.chunkOf(position);
  head.at = offsetIn(position);
  head.end = jobs.endOf(position);
  head.next = entries.next(entries.first());
  head.side = -1;
  head.alike = null;
}

/** On to the next job of its entry. The lists stand still while a walk lasts. */
function advance(head: Head): void {
  if (head.at + 1 < head.end) {
    head.position++;
    head.job = head.chunk[++head.at]!;
  } else advanceFar(head);
}

/** On to the next chunk, or to the end. */
function advanceFar(head: Head): void {
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
