// Who waits, in which order, and what has to be looked at again. Jobs of equal project, tier, priority and demand share
// one entry and stand in it first come, first served; entries of one shape stand in the shape's list by their first job.
// A shape that did not fit is *blocked* with its reason until something happens that could help it, so that a cycle with
// nothing to do looks at nothing. `open` are the shapes to try; `fresh` are entries that have not been told anything.
import { entryKey, invariant, type JobDemand, type Policy, tierNamed } from '@muster/model';
import { type held, type JobTable, type placed, queued } from './jobs.ts';
import { compareStanding, compareSubmitted, type Standing } from './order.ts';
import { makeShape, type Shape, ShapeTable } from './shape.ts';
import { SortedInts } from './sorted-ints.ts';

export interface Entry {
  readonly id: number;
  readonly project: string;
  readonly tier: string;
  readonly priority: number;
  shape: Shape;
  level: Level;
  /** Waiting jobs, first come first. */
  readonly jobs: SortedInts;
  /** Jobs of this entry in any state. */
  uses: number;
  /** The binding reason last returned by `decide`; what was told is a cache, not state. */
  told: string | null;
}

/** All waiting jobs of one standing, to count who is ahead of whom. */
export interface Level extends Standing {
  readonly jobs: SortedInts;
}

const notInLine = 0;
const inLine = 1;
const delayed = 2;

/** Below every tier of any policy: a tier that a policy change took away is served last. */
const unknownTierRank = -(2 ** 40);

export class Queue {
  readonly jobs: JobTable;
  readonly shapes: ShapeTable;
  readonly open = new Set<Shape>();
  readonly fresh = new Set<Entry>();
  /** Jobs whose backoff has not ended, earliest end first. */
  readonly delayed: SortedInts;
  entries: (Entry | undefined)[] = [];
  levels: Level[] = [];
  waiting = 0;
  #policy: Policy;
  readonly #byKey = new Map<string, Entry>();
  #vacant: number[] = [];

  constructor(jobs: JobTable, policy: Policy, from?: Queue) {
    this.jobs = jobs;
    this.#policy = policy;
    this.delayed = from ? from.delayed.copy(this.#compareDue) : new SortedInts(this.#compareDue);
    this.shapes = from ? this.#copyFrom(from) : new ShapeTable();
  }

  copy(jobs: JobTable): Queue {
    return new Queue(jobs, this.#policy, this);
  }

  /** A new job's entry, made when it is the first of its kind. */
  enter(job: number, project: string, tier: string, priority: number, demand: JobDemand): void {
    const shape = this.shapes.intern(demand, () => new SortedInts(this.compareEntries));
    const key = `${shape.id}|${priority}|${tier}|${project}`;
    let entry = this.#byKey.get(key);
    if (!entry) {
      const id = this.#vacant.pop() ?? this.entries.length;
      const jobs = new SortedInts(this.compareJobs);
      const level = this.#levelOf(tier, priority);
      entry = { id, project, tier, priority, shape, level, jobs, uses: 0, told: null };
      this.#byKey.set(key, entry);
      this.entries[id] = entry;
      shape.uses++;
    }
    entry.uses++;
    this.jobs.entry[job] = entry.id;
  }

  /** The job is over: nothing of it stays. */
  leave(job: number): void {
    this.unqueue(job);
    const entry = this.entryOf(job);
    entry.uses--;
    if (entry.uses === 0) this.#drop(entry);
    this.jobs.remove(job);
  }

  /** The job waits from now on; in its entry's line once its backoff has ended. */
  queue(job: number, nowMs: number): void {
    this.unqueue(job);
    this.jobs.state[job] = queued;
    if (this.jobs.notBeforeMs[job]! > nowMs) {
      this.jobs.line[job] = delayed;
      this.delayed.insert(job);
    } else this.#lineUp(job);
  }

  /** The job no longer waits, because it is held, placed or over. */
  unqueue(job: number, state?: typeof held | typeof placed): void {
    if (this.jobs.line[job] === delayed) this.delayed.remove(job);
    else if (this.jobs.line[job] === inLine) this.#stepOut(job);
    this.jobs.line[job] = notInLine;
    if (state !== undefined) this.jobs.state[job] = state;
  }

  /** Jobs whose backoff has ended join their lines. */
  promote(nowMs: number): void {
    for (let p = this.delayed.first(); p >= 0; p = this.delayed.first()) {
      const job = this.delayed.at(p);
      if (this.jobs.notBeforeMs[job]! > nowMs) return;
      this.delayed.removeAt(p);
      this.#lineUp(job);
    }
  }

  /** Whether the job stands in its entry's line. */
  stands(job: number): boolean {
    return this.jobs.line[job] === inLine;
  }

  entryOf(job: number): Entry {
    return this.entries[this.jobs.entry[job]!]!;
  }

  keyOf(entry: Entry): string {
    return entryKey(entry.project, entry.tier, entry.priority, entry.shape.demand);
  }

  /** How many waiting jobs are ordered before this one. */
  ahead(job: number): number {
    return this.#aheadIn(this.entryOf(job).level) + this.entryOf(job).level.jobs.rank(job);
  }

  /** How many would be ahead of a job submitted now. */
  aheadOfNew(standing: Standing): number {
    const same = this.levels.find((level) => compareStanding(level, standing) === 0);
    return this.#aheadIn(standing) + (same?.jobs.size ?? 0);
  }

  standingOf(tier: string, priority: number): Standing {
    return { rank: tierNamed(this.#policy, tier)?.rank ?? unknownTierRank, priority };
  }

  /** Something happened that could help this shape: try it again. */
  reopen(shape: Shape): void {
    shape.blocked = null;
    if (shape.entries.size > 0) this.open.add(shape);
  }

  reopenAll(): void {
    for (const shape of this.shapes.all()) this.reopen(shape);
  }

  /** Nothing was told to anybody, and everything is worth a try. */
  forget(): void {
    this.fresh.clear();
    for (const entry of this.entries) {
      if (!entry) continue;
      entry.told = null;
      if (entry.jobs.size > 0) this.fresh.add(entry);
    }
    for (const shape of this.shapes.all()) shape.told = null;
    this.reopenAll();
  }

  /** A shape for a question, not kept. */
  shapeFor(demand: JobDemand): Shape {
    return makeShape(-1, '', demand, new SortedInts(this.compareEntries));
  }

  setPolicy(policy: Policy): void {
    this.#policy = policy;
    this.levels = [];
    const entries = this.entries.filter((entry) => entry !== undefined && entry.jobs.size > 0) as Entry[];
    for (const entry of entries) entry.shape.entries.remove(entry.id);
    for (const entry of this.entries) if (entry) entry.level = this.#levelOf(entry.tier, entry.priority);
    for (const entry of entries) {
      for (let p = entry.jobs.first(); p >= 0; p = entry.jobs.next(p))
        entry.level.jobs.insert(entry.jobs.at(p));
      entry.shape.entries.insert(entry.id);
    }
    this.reopenAll();
  }

  compareJobs = (a: number, b: number): number => compareSubmitted(this.jobs, a, b);

  compareEntries = (a: number, b: number): number => {
    const [one, two] = [this.entries[a]!, this.entries[b]!];
    return compareStanding(one.level, two.level) || this.compareJobs(one.jobs.at(0), two.jobs.at(0));
  };

  readonly #compareDue = (a: number, b: number): number =>
    this.jobs.notBeforeMs[a]! - this.jobs.notBeforeMs[b]! || compareSubmitted(this.jobs, a, b);

  #aheadIn(standing: Standing): number {
    let count = 0;
    for (const level of this.levels) if (compareStanding(level, standing) < 0) count += level.jobs.size;
    return count;
  }

  #levelOf(tier: string, priority: number): Level {
    const standing = this.standingOf(tier, priority);
    let level = this.levels.find((known) => compareStanding(known, standing) === 0);
    if (!level) {
      level = { ...standing, jobs: new SortedInts(this.compareJobs) };
      this.levels.push(level);
    }
    return level;
  }

  #lineUp(job: number): void {
    const entry = this.entryOf(job);
    const { shape } = entry;
    const first = entry.jobs.size === 0;
    const becomesHead = !first && this.compareJobs(job, entry.jobs.at(0)) < 0;
    if (becomesHead) shape.entries.remove(entry.id);
    entry.jobs.insert(job);
    if (first || becomesHead) shape.entries.insert(entry.id);
    entry.level.jobs.insert(job);
    this.jobs.line[job] = inLine;
    this.waiting++;
    if (first) this.fresh.add(entry);
    if (shape.blocked === null) this.open.add(shape);
  }

  #stepOut(job: number): void {
    const entry = this.entryOf(job);
    const isHead = entry.jobs.at(0) === job;
    if (isHead) entry.shape.entries.remove(entry.id);
    entry.jobs.remove(job);
    if (isHead && entry.jobs.size > 0) entry.shape.entries.insert(entry.id);
    entry.level.jobs.remove(job);
    this.waiting--;
    if (entry.jobs.size > 0) return;
    entry.told = null;
    this.fresh.delete(entry);
    if (entry.shape.entries.size === 0) this.open.delete(entry.shape);
  }

  #drop(entry: Entry): void {
    invariant(entry.jobs.size === 0, 'an entry without jobs has none waiting');
    this.#byKey.delete(keyIn(entry));
    this.entries[entry.id] = undefined;
    this.#vacant.push(entry.id);
    this.shapes.release(entry.shape);
  }

  #copyFrom(from: Queue): ShapeTable {
    const twins = new Map<Shape, Shape>();
    const shapes = from.shapes.copy((entries) => entries.copy(this.compareEntries), twins);
    const levels = new Map<Level, Level>();
    for (const level of from.levels) levels.set(level, { ...level, jobs: level.jobs.copy(this.compareJobs) });
    this.levels = [...levels.values()];
    this.entries = from.entries.map((entry) => {
      if (!entry) return undefined;
      const jobs = entry.jobs.copy(this.compareJobs);
      const twin = { ...entry, shape: twins.get(entry.shape)!, level: levels.get(entry.level)!, jobs };
      this.#byKey.set(keyIn(twin), twin);
      if (from.fresh.has(entry)) this.fresh.add(twin);
      return twin;
    });
    for (const shape of from.open) this.open.add(twins.get(shape)!);
    this.waiting = from.waiting;
    this.#vacant = from.#vacant.slice();
    return shapes;
  }
}

function keyIn(entry: Pick<Entry, 'shape' | 'priority' | 'tier' | 'project'>): string {
  return `${entry.shape.id}|${entry.priority}|${entry.tier}|${entry.project}`;
}
