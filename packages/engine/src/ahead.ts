// Who is ahead of a waiting job and by which rule: the first difference in the order of order.ts, as things stand. The walk of a
// cycle moves shares while it goes on, so that it may serve projects in turns; this is the order it begins with, as if all
// waiting jobs stood in line that could ever start.
import type { Ahead, AheadJob, OrderRule } from '@muster/model';
import type { Entry } from './entry.ts';
import { lengthMs } from './expected-run.ts';
import { type Impossible, impossibleNow } from './impossible.ts';
import type { Line } from './lines.ts';
import { compareText } from './order.ts';
import type { Project } from './projects.ts';
import { shareOf, staysWithin } from './shares.ts';
import type { State } from './state.ts';

/** More are counted, not listed. */
const listedMax = 5;

/** Null for a job that could never start: it waits for a change, and not for others. */
export function aheadOf(state: State, job: number): Ahead | null {
  const { queue } = state;
  const own = queue.entryOf(job);
  const impossible = impossibleNow(state);
  if (impossible.has(job)) return null;
  const jobs: AheadJob[] = [];
  const list = (other: number, because: OrderRule): boolean => {
    const { project } = queue.entryOf(other).lane;
    jobs.push({ job: state.jobs.ids[other]!, project: project.path, because });
    return jobs.length === listedMax;
  };
  const isStarved = queue.isStarved(job);
  let count = starvedAhead(state, job, impossible);
  for (let p = queue.starved.first(); jobs.length < Math.min(count, listedMax); p = queue.starved.next(p)) {
    const other = queue.starved.at(p);
    if (!impossible.has(other)) list(other, { rule: 'starved', sinceMs: state.jobs.sinceMs[other]! });
  }
  if (isStarved) return { count, jobs };
  for (const rank of queue.lines.ranks()) {
    if (rank > own.rank) count += waitingAt(state, rank, impossible);
    if (rank < own.rank) break;
    const tree = new Standings(state, rank, impossible);
    if (rank === own.rank) count += tree.before(own, job);
    if (jobs.length === listedMax) continue;
    for (const other of tree.inOrder()) {
      if (other === job || list(other, ruleOf(state, tree, other, job))) break;
    }
  }
  return { count, jobs };
}

/** Starved jobs, those of higher tiers, and those before it in its own project: all that is sure whatever shares come to. */
export function countAhead(state: State, job: number, impossible: Impossible): number {
  const { queue } = state;
  let count = starvedAhead(state, job, impossible);
  if (queue.isStarved(job)) return count;
  const { line, rank } = queue.entryOf(job);
  count += line.jobs.rank(job) - impossible.inLine(line, job);
  for (const other of queue.lines.ranks()) if (other > rank) count += waitingAt(state, other, impossible);
  return count;
}

function starvedAhead({ queue }: State, job: number, impossible: Impossible): number {
  const { starved } = queue;
  return queue.isStarved(job)
    ? starved.rank(job) - impossible.starvedBefore(job)
    : starved.size - impossible.starvedBefore(null);
}

/** Jobs of a tier rank in line that could start. */
function waitingAt({ queue }: State, rank: number, impossible: Impossible): number {
  return queue.lines.waitingAt(rank) - impossible.atRank(rank);
}

/** Of two jobs that are not starved. */
function ruleOf(state: State, tree: Standings, other: number, job: number): OrderRule {
  const { queue } = state;
  const theirs = queue.entryOf(other);
  const yours = queue.entryOf(job);
  if (theirs.rank !== yours.rank) return { rule: 'tier', theirs: theirs.facts.tier, yours: yours.facts.tier };
  const sides = tree.apart(theirs.lane.project, yours.lane.project);
  if (!sides) return lineRule(state, other, job);
  const [side, mine] = sides;
  if (!queue.expectedFirst || side.within !== mine.within) return sideRule(side, mine);
  if (queue.compareExpected(other, job) > 0) return { rule: 'own-project' };
  return behindMs(state, other) < behindMs(state, job)
    ? expectedRule(state, other, job)
    : submittedRule(state, other);
}

function sideRule(side: Side, mine: Side): OrderRule {
  const [theirs, yours] = [side.project.path, mine.project.path];
  if (side.within !== mine.within) return { rule: 'guarantee', theirs, yours };
  if (side.share === mine.share) return { rule: 'project-name', theirs, yours };
  return { rule: 'share', theirs, theirShare: side.share, yours, yourShare: mine.share };
}

function lineRule(state: State, other: number, job: number): OrderRule {
  const [theirs, yours] = [state.queue.entryOf(other), state.queue.entryOf(job)];
  if (theirs.urgent && (!yours.urgent || theirs.latestStartMs !== yours.latestStartMs))
    return { rule: 'deadline', latestStartMs: theirs.latestStartMs };
  const [one, two] = [theirs.facts.priority, yours.facts.priority];
  // Of the two that make up what a job is ahead or behind by, the one that does more of it is told.
  const shorterMs = behindMs(state, job) - behindMs(state, other);
  if (one > two && (one - two) * state.policy.ageing.pointMs >= shorterMs)
    return { rule: 'priority', theirs: one, yours: two };
  return shorterMs > 0 ? expectedRule(state, other, job) : submittedRule(state, other);
}

function expectedRule({ queue, jobs }: State, other: number, job: number): OrderRule {
  const ms = (of: number): number | null => {
    const { estimate } = queue.entryOf(of).facts;
    return estimate ? lengthMs(estimate.expectedMs, jobs.savedMs(of)) : null;
  };
  return { rule: 'expected', theirMs: ms(other), yourMs: ms(job) };
}

/** What the job stands back by, with what it has done already. */
function behindMs({ queue, jobs }: State, job: number): number {
  return queue.entryOf(job).behindMs + jobs.turnMs[job]! - jobs.submittedMs[job]!;
}

function submittedRule({ jobs }: State, other: number): OrderRule {
  return { rule: 'submitted', submittedMs: jobs.submittedMs[other]! };
}

/** A project in the order of one rank, or a project's own jobs beside its children. */
interface Side {
  readonly project: Project;
  readonly own: boolean;
  line: Line | null;
  sides: Side[];
  next: number;
  count: number;
  within: boolean;
  share: number;
}

/** The projects of one rank as they compare now. */
class Standings {
  readonly #state: State;
  readonly #impossible: Impossible;
  readonly #root: Side;
  readonly #sides = new Map<Project, Side>();

  constructor(state: State, rank: number, impossible: Impossible) {
    this.#state = state;
    this.#impossible = impossible;
    const { projects, queue } = state;
    this.#root = makeSide(projects.root, false);
    this.#sides.set(projects.root, this.#root);
    for (const line of queue.lines.at(rank))
      if (impossible.inLine(line, null) < line.jobs.size) this.#enter(line);
    this.#settle(this.#root);
  }

  *inOrder(side = this.#root): IterableIterator<number> {
    if (side.line) yield* this.#possible(side.line);
    if (!this.#state.queue.expectedFirst) for (const below of side.sides) yield* this.inOrder(below);
    else
      for (const within of [true, false])
        yield* this.#merged(side.sides.filter((below) => below.within === within));
  }

  /** Side by side: whoever would send the first of the next jobs sends it. */
  *#merged(sides: readonly Side[]): IterableIterator<number> {
    const { queue } = this.#state;
    const all = sides.map((side) => this.inOrder(side));
    const next = all.map((jobs) => jobs.next());
    for (;;) {
      let first = -1;
      for (let i = 0; i < next.length; i++)
        if (!next[i]!.done && (first < 0 || queue.compareExpected(next[i]!.value, next[first]!.value) < 0))
          first = i;
      if (first < 0) return;
      yield next[first]!.value;
      next[first] = all[first]!.next();
    }
  }

  /** Jobs of this rank before one of them. */
  before(entry: Entry, job: number): number {
    return this.#state.queue.expectedFirst ? this.#beforeMerged(entry, job) : this.#beforeWhole(entry, job);
  }

  #beforeWhole(entry: Entry, job: number): number {
    let count = entry.line.jobs.rank(job) - this.#impossible.inLine(entry.line, job);
    let at = this.#root;
    for (const next of this.#path(entry.lane.project)) {
      for (const side of at.sides) {
        if (side === next) break;
        count += side.count;
      }
      at = next;
    }
    return count;
  }

  *#possible({ jobs }: Line): IterableIterator<number> {
    for (let p = jobs.first(); p >= 0; p = jobs.next(p))
      if (!this.#impossible.has(jobs.at(p))) yield jobs.at(p);
  }

  /**
   * Where sides are merged, a side sends all that comes before the latest of those that the job's own side sends up to it. From the
   * job's line upwards.
   */
  #beforeMerged(entry: Entry, job: number): number {
    const { queue } = this.#state;
    const later = (a: number, b: number): number => (queue.compareExpected(a, b) > 0 ? a : b);
    let latest = job;
    let count = 0;
    for (const other of this.#possible(entry.line)) {
      if (other === job) break;
      latest = later(other, latest);
      count++;
    }
    const path = [this.#root, ...this.#path(entry.lane.project)];
    for (let depth = path.length - 1; depth > 0; depth--) {
      const mine = path[depth]!;
      const { sides } = path[depth - 1]!;
      for (const side of sides)
        if (side !== mine && side.within === mine.within) count += this.#sentBefore(side, latest).count;
      // Who is within a guarantee went before all of those, however late: that counts only further up.
      for (const side of sides.filter((each) => each.within && !mine.within)) {
        count += side.count;
        for (const other of this.inOrder(side)) latest = later(other, latest);
      }
    }
    return count;
  }

  /** How many jobs the side sends before it would send one that comes after `latest`; and whether that are all. */
  #sentBefore(side: Side, latest: number): { readonly count: number; readonly all: boolean } {
    const { queue } = this.#state;
    let count = 0;
    for (const job of side.line ? this.#possible(side.line) : []) {
      if (queue.compareExpected(job, latest) > 0) return { count, all: false };
      count++;
    }
    let all = true;
    for (const within of [true, false]) {
      if (!all) break;
      for (const below of side.sides) {
        if (below.within !== within) continue;
        const sent = this.#sentBefore(below, latest);
        count += sent.count;
        all &&= sent.all;
      }
    }
    return { count, all };
  }

  /** The sides in which two projects differ first; null for one project. */
  apart(one: Project, two: Project): [Side, Side] | null {
    const [a, b] = [this.#path(one), this.#path(two)];
    for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return [a[i]!, b[i]!];
    return null;
  }

  /** From below the root to where the project's own jobs stand. */
  #path(project: Project): Side[] {
    const path: Side[] = [];
    for (let at: Project | null = project; at?.parent; at = at.parent) path.unshift(this.#sides.get(at)!);
    const last = path.at(-1) ?? this.#root;
    const own = last.sides.find((side) => side.own && side.project === project);
    return own ? [...path, own] : path;
  }

  #enter(line: Line): void {
    const side = this.#sideOf(line.project);
    if (line.project.children.length === 0) side.line = line;
    else side.sides.push({ ...makeSide(line.project, true), line });
  }

  #sideOf(project: Project): Side {
    let side = this.#sides.get(project);
    if (!side) {
      side = makeSide(project, false);
      this.#sides.set(project, side);
      this.#sideOf(project.parent!).sides.push(side);
    }
    return side;
  }

  #settle(side: Side): void {
    const { projects, queue } = this.#state;
    for (const below of side.sides) this.#settle(below);
    side.sides.sort(this.#compareSides);
    const { line } = side;
    side.count = line
      ? line.jobs.size - this.#impossible.inLine(line, null)
      : side.sides.reduce((sum, { count }) => sum + count, 0);
    const [first] = line ? this.#possible(line) : [];
    side.next = first ?? side.sides[0]?.next ?? -1;
    if (side === this.#root) return;
    side.within =
      !side.own && staysWithin(projects.amounts, side.project.id, queue.entryOf(side.next).lane.shape.ask);
    side.share = shareOf(projects, side.project.id, side.own);
  }

  readonly #compareSides = (a: Side, b: Side): number => {
    if (a.within !== b.within) return a.within ? -1 : 1;
    if (this.#state.queue.expectedFirst) return this.#state.queue.compareExpected(a.next, b.next);
    return a.share - b.share || compareText(a.project.path, b.project.path);
  };
}

function makeSide(project: Project, own: boolean): Side {
  return { project, own, line: null, sides: [], next: -1, count: 0, within: false, share: 0 };
}
