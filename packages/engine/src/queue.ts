// Who waits, in which order, and what has to be looked at again.
// Jobs are grouped in entries, those in lanes (entry.ts), and lanes in shapes.
//   Shape: lanes of one demand. A shape that did not fit is *blocked* with its reason until something happens that could help it,
//          and a lane over a ceiling is *gated* until use goes down or the ceiling goes up, so that a cycle with nothing to
//          do looks at nothing. `open` are the shapes to try; `fresh` are entries that have not been told anything.
//   Line:  all waiting jobs of a project and a tier rank in their order (lines.ts).
import {
  type EntryFacts,
  entryKey,
  invariant,
  type JobDemand,
  leastUses,
  type Policy,
  tierNamed,
} from '@muster/model';
import { type Entry, type Gate, keyIn, keyOf, type Lane, waitingOf } from './entry.ts';
import { durationOf } from './expected-end.ts';
import { behindMsOf, laterMsOf, passMsOf } from './expected-run.ts';
import { type held, type JobTable, type placed, queued, type spent } from './jobs.ts';
import { type Line, Lines } from './lines.ts';
import { Mix } from './mix.ts';
import { compareExpected, compareStanding, compareSubmitted, compareTurns, compareWaiting } from './order.ts';
import type { Project, Projects } from './projects.ts';
import { type Shape, ShapeTable } from './shape.ts';
import { SortedInts } from './sorted-ints.ts';
import { Standings } from './standings.ts';

const notInLine = 0;
const inLine = 1;
const delayed = 2;
const starved = 3;

/** Below every tier of any policy: a tier that a policy change took away is served last. */
const unknownTierRank = -(2 ** 40);
const never = Number.MAX_SAFE_INTEGER;

export class Queue {
  readonly jobs: JobTable;
  readonly projects: Projects;
  readonly shapes: ShapeTable;
  readonly open = new Set<Shape>();
  readonly fresh = new Set<Entry>();
  /** Lanes let out of their gate since the last plan; told again only if they stay out. */
  readonly ungated = new Set<Lane>();
  /** Ids of entries whose last waiting job has left since this was last looked at. */
  readonly emptied = new Set<number>();
  /** Jobs whose backoff has not ended, earliest end first. */
  readonly delayed: SortedInts;
  /** Jobs in line by when they starve, and those that have, longest waiting first. */
  readonly starving: SortedInts;
  readonly starved: SortedInts;
  /** Entries with waiting jobs and a deadline that are not urgent yet, by when they will be. */
  readonly pressing: SortedInts;
  /** What all its jobs ask for together, waiting or placed. */
  readonly mix: Mix;
  readonly lines: Lines;
  /** Of the walk that goes on, or of the last one: there is one walk at a time. */
  readonly standings = new Standings();
  entries: (Entry | undefined)[] = [];
  lanes: (Lane | undefined)[] = [];
  waiting = 0;
  /** Lanes that a ceiling keeps out of line. */
  gated = 0;
  #policy: Policy;
  readonly #byKey = new Map<string, Entry>();
  readonly #laneByKey = new Map<string, Lane>();
  readonly #gatedAt = new Map<Project, Set<Lane>>();
  /** Lanes with waiting jobs of each project's own. */
  readonly #waitingAt = new Map<Project, Set<Lane>>();
  #vacant: number[] = [];
  #vacantLanes: number[] = [];

  constructor(jobs: JobTable, projects: Projects, policy: Policy, from?: Queue) {
    this.jobs = jobs;
    this.projects = projects;
    this.#policy = policy;
    this.mix = from ? from.mix.copy() : new Mix();
    this.delayed = this.#sorted(this.#compareDue, from?.delayed);
    this.starving = this.#sorted(this.#compareStarving, from?.starving);
    this.starved = this.#sorted(this.compareStarved, from?.starved);
    this.pressing = this.#sorted(this.#comparePressing, from?.pressing);
    this.lines = new Lines(this.compareInLine);
    this.shapes = from ? this.#copyFrom(from) : new ShapeTable();
  }

  copy(jobs: JobTable, projects: Projects): Queue {
    return new Queue(jobs, projects, this.#policy, this);
  }

  /** A new job's entry, made when it is the first of its kind; of an array, all members that never started. */
  enter(job: number, facts: EntryFacts, demand: JobDemand): void {
    const shape = this.shapes.intern(demand, (asked) => this.projects.keys.ask(leastUses(asked)));
    const key = keyOf(shape, facts);
    let entry = this.#byKey.get(key);
    if (!entry) {
      entry = this.#makeEntry(this.#laneOf(shape, facts), facts);
      this.#byKey.set(key, entry);
    }
    entry.uses++;
    this.mix.add(shape.mix, this.jobs.weight(job));
    this.jobs.entry[job] = entry.id;
  }

  /** The job asks for something else from now on; it waits in no line meanwhile. */
  ask(job: number, demand: JobDemand): void {
    const before = this.entryOf(job);
    this.enter(job, before.facts, demand);
    this.#release(before, this.jobs.weight(job));
  }

  /** A member of the array stands by itself from now on. */
  split(array: number, member: number): void {
    this.entryOf(array).uses++;
    this.jobs.entry[member] = this.jobs.entry[array]!;
  }

  /** So many members of the array will never start. */
  thin(array: number, members: number): void {
    this.mix.add(this.entryOf(array).lane.shape.mix, -members);
  }

  /** The job is over: nothing of it stays. */
  leave(job: number): void {
    this.unqueue(job);
    this.#release(this.entryOf(job), this.jobs.weight(job));
    this.jobs.remove(job);
  }

  /** The job waits from now on; in its entry's line once its backoff has ended. */
  queue(job: number, nowMs: number): void {
    this.unqueue(job);
    this.jobs.state[job] = queued;
    if (this.jobs.notBeforeMs[job]! > nowMs) {
      this.jobs.line[job] = delayed;
      this.delayed.insert(job);
    } else this.#lineUp(job, nowMs);
  }

  /** The job waits, and in no line before something else has happened. */
  park(job: number): void {
    this.unqueue(job);
    this.jobs.state[job] = queued;
  }

  /** The job no longer waits, because it is held, placed or over. */
  unqueue(job: number, state?: typeof held | typeof placed | typeof spent): void {
    if (this.jobs.line[job] === delayed) this.delayed.remove(job);
    else if (this.stands(job)) this.#stepOut(job);
    this.jobs.line[job] = notInLine;
    if (state !== undefined) this.jobs.state[job] = state;
  }

  /**
   * For a question: the job as if it had been submitted like this, at the same time and waiting as long. Returns what puts
   * everything back, what was told and tried included.
   */
  suppose(job: number, facts: EntryFacts, demand: JobDemand, nowMs: number): () => void {
    const entry = this.entryOf(job);
    const { lane, told } = entry;
    const { gated, shape } = lane;
    const fresh = this.fresh.has(entry);
    const ungated = this.ungated.has(lane);
    const open = this.open.has(shape);
    const { moved } = this.mix;
    const weight = this.jobs.weight(job);
    const putBackEmptied = this.supposeEmptied();
    this.unqueue(job);
    this.mix.add(shape.mix, -weight);
    this.enter(job, facts, demand);
    const twin = this.entryOf(job);
    const twinOpen = this.open.has(twin.lane.shape);
    this.queue(job, nowMs);
    return () => {
      this.unqueue(job);
      setIn(this.open, twin.lane.shape, twinOpen);
      this.#release(twin, weight);
      this.mix.add(shape.mix, weight);
      this.mix.moved = moved;
      this.jobs.entry[job] = entry.id;
      this.queue(job, nowMs);
      entry.told = told;
      setIn(this.fresh, entry, fresh);
      if (gated && !lane.gated) this.gate(lane, gated);
      setIn(this.ungated, lane, ungated);
      setIn(this.open, shape, open);
      putBackEmptied();
    };
  }

  /** For a question: whoever leaves its line from here on comes back. */
  supposeEmptied(): () => void {
    const before = [...this.emptied];
    return () => {
      this.emptied.clear();
      for (const id of before) this.emptied.add(id);
    };
  }

  /** Jobs whose backoff has ended join their lines (`joined`); those that starve or press change their place. True when any did. */
  promote(nowMs: number, joined: (job: number) => void): boolean {
    let moved = false;
    for (let p = this.delayed.first(); p >= 0; p = this.delayed.first()) {
      const job = this.delayed.at(p);
      if (this.jobs.notBeforeMs[job]! > nowMs) break;
      this.delayed.removeAt(p);
      moved = true;
      this.#lineUp(job, nowMs);
      joined(job);
    }
    for (let p = this.starving.first(); p >= 0; p = this.starving.first()) {
      const job = this.starving.at(p);
      if (this.starvesAtMs(job) > nowMs) break;
      moved = true;
      this.#leaveLine(job);
      this.#joinLine(job, nowMs);
    }
    for (let p = this.pressing.first(); p >= 0; p = this.pressing.first()) {
      const entry = this.entries[this.pressing.at(p)]!;
      if (entry.latestStartMs > nowMs) break;
      moved = true;
      this.#replaced(entry, nowMs, () => {
        entry.urgent = true;
      });
    }
    return moved;
  }

  /** Whether the job stands in line. */
  stands(job: number): boolean {
    return this.jobs.line[job] === inLine || this.jobs.line[job] === starved;
  }

  isStarved(job: number): boolean {
    return this.jobs.line[job] === starved;
  }

  starvesAtMs(job: number): number {
    return this.jobs.sinceMs[job]! + this.entryOf(job).starvesAfterMs;
  }

  entryOf(job: number): Entry {
    return this.entries[this.jobs.entry[job]!]!;
  }

  keyOf(entry: Entry): string {
    return entryKey(entry.facts, entry.lane.shape.demand);
  }

  /** Waiting jobs of every project and those below it. */
  waitingBelow(): ReadonlyMap<Project, number> {
    const counts = new Map<Project, number>();
    for (const lane of this.lanes)
      for (let at: Project | null = lane?.project ?? null; at !== null; at = at.parent)
        counts.set(at, (counts.get(at) ?? 0) + lane!.waiting);
    return counts;
  }

  /** Something happened that could help this shape: try it again. */
  reopen(shape: Shape): void {
    shape.blocked = null;
    shape.stalled = false;
    if (shape.lanes.size > 0) this.open.add(shape);
  }

  reopenAll(): void {
    for (const shape of this.shapes.all()) this.reopen(shape);
  }

  gate(lane: Lane, gate: Gate): void {
    if (lane.gated) this.ungate(lane);
    lane.gated = gate;
    lane.shape.lanes.delete(lane);
    lane.shape.gated.add(lane);
    this.gated++;
    if (lane.shape.lanes.size === 0) this.open.delete(lane.shape);
    addTo(this.#gatedAt, gate.at, lane);
  }

  ungate(lane: Lane): void {
    if (!lane.gated) return;
    this.#gatedAt.get(lane.gated.at)!.delete(lane);
    lane.gated = null;
    this.gated--;
    const { shape } = lane;
    shape.gated.delete(lane);
    shape.lanes.add(lane);
    if (shape.blocked === null) this.open.add(shape);
  }

  /** The lane is tried again, and told again if it stays out of its gate. */
  letOut(lane: Lane): void {
    this.ungate(lane);
    this.ungated.add(lane);
  }

  /** In no order that a decision may rest on. */
  gatedAt(project: Project): readonly Lane[] {
    return [...(this.#gatedAt.get(project) ?? [])];
  }

  *gatedLanes(): IterableIterator<Lane> {
    for (const lanes of this.#gatedAt.values()) yield* [...lanes];
  }

  /** Lanes with waiting jobs of the project and those below it; in no order that a decision may rest on. */
  *lanesBelow(project: Project): IterableIterator<Lane> {
    yield* this.#waitingAt.get(project) ?? [];
    for (const child of project.children) yield* this.lanesBelow(child);
  }

  /** The waiting job of the lane that comes first. */
  firstOf(lane: Lane): number {
    if (lane.starved.size > 0) return this.entries[lane.starved.at(0)]!.starved!.at(0);
    return this.entries[lane.entries.at(0)]!.jobs.at(0);
  }

  /** Every entry of the lane that has waiting jobs. */
  waitingIn({ entries, starved }: Lane): readonly Entry[] {
    const waiting: Entry[] = [];
    for (let p = entries.first(); p >= 0; p = entries.next(p)) waiting.push(this.entries[entries.at(p)]!);
    for (let p = starved.first(); p >= 0; p = starved.next(p)) {
      const entry = this.entries[starved.at(p)]!;
      if (entry.jobs.size === 0) waiting.push(entry);
    }
    return waiting;
  }

  /** A waiting job of the entry that has saved least of its work: it may stop whomever another of the entry may. */
  leastSaved({ jobs, starved, saved }: Entry): number {
    let least = -1;
    for (const list of starved ? [jobs, starved] : [jobs])
      for (let p = list.first(); p >= 0; p = list.next(p)) {
        const job = list.at(p);
        if (!saved.has(job)) return job;
        if (least < 0 || this.jobs.savedMs(job) < this.jobs.savedMs(least)) least = job;
      }
    return least;
  }

  /** Nothing was told to anybody, and everything is worth a try. */
  forget(): void {
    this.fresh.clear();
    this.ungated.clear();
    for (const entry of this.entries) {
      if (!entry) continue;
      entry.told = null;
      if (waitingOf(entry) > 0) this.fresh.add(entry);
    }
    for (const lane of [...this.gatedLanes()]) this.ungate(lane);
    for (const shape of this.shapes.all()) shape.told = null;
    this.reopenAll();
  }

  setPolicy(policy: Policy, nowMs: number): void {
    const standing: number[] = [];
    for (const job of this.jobs.slots.values()) if (this.stands(job)) standing.push(job);
    for (const job of standing) this.#leaveLine(job);
    this.#policy = policy;
    for (const entry of this.entries) if (entry) this.#rate(entry);
    for (const job of standing) this.#joinLine(job, nowMs);
    this.reopenAll();
  }

  compareJobs = (a: number, b: number): number => compareTurns(this.jobs, a, b);

  compareStarved = (a: number, b: number): number => compareWaiting(this.jobs, a, b);

  /** Whether expected run times come before shares between projects. */
  get expectedFirst(): boolean {
    return this.#policy.runTimes.use === 'learned' && this.#policy.runTimes.first === 'expected';
  }

  /** Of one rank, between projects: priority and deadlines are a matter of one project. */
  compareExpected = (a: number, b: number): number =>
    compareExpected(this.jobs, a, this.entryOf(a).behindMs, b, this.entryOf(b).behindMs);

  /** Of one project and rank. */
  compareInLine = (a: number, b: number): number =>
    compareStanding(this.jobs, a, this.entryOf(a), b, this.entryOf(b));

  readonly #compareEntries = (a: number, b: number): number => {
    const one = this.entries[a]!;
    const two = this.entries[b]!;
    return two.rank - one.rank || this.compareInLine(one.jobs.at(0), two.jobs.at(0));
  };

  readonly #compareStarvedEntries = (a: number, b: number): number =>
    this.compareStarved(this.entries[a]!.starved!.at(0), this.entries[b]!.starved!.at(0));

  readonly #compareDue = (a: number, b: number): number =>
    this.jobs.notBeforeMs[a]! - this.jobs.notBeforeMs[b]! || compareSubmitted(this.jobs, a, b);

  readonly #compareStarving = (a: number, b: number): number =>
    this.starvesAtMs(a) - this.starvesAtMs(b) || compareSubmitted(this.jobs, a, b);

  readonly #comparePressing = (a: number, b: number): number =>
    this.entries[a]!.latestStartMs - this.entries[b]!.latestStartMs || a - b;

  #sorted(compare: (a: number, b: number) => number, from?: SortedInts): SortedInts {
    return from ? from.copy(compare) : new SortedInts(compare);
  }

  #makeEntry(lane: Lane, facts: EntryFacts): Entry {
    const id = this.#vacant.pop() ?? this.entries.length;
    const entry: Entry = {
      id,
      lane,
      facts,
      rank: 0,
      urgent: false,
      latestStartMs: never,
      aheadMs: 0,
      starvesAfterMs: never,
      duration: { ms: 0, assumed: true },
      passMs: 0,
      behindMs: 0,
      line: null as unknown as Line,
      jobs: new SortedInts(this.compareJobs),
      starved: null,
      saved: new Set(),
      uses: 0,
      told: null,
    };
    this.entries[id] = entry;
    lane.uses++;
    this.#rate(entry);
    return entry;
  }

  /** What the policy makes of the entry; it has no job in line meanwhile. */
  #rate(entry: Entry): void {
    const { tier: name, priority, deadlineMs } = entry.facts;
    const tier = tierNamed(this.#policy, name);
    entry.duration = durationOf(this.#policy, entry.facts);
    entry.rank = tier?.rank ?? unknownTierRank;
    entry.behindMs = behindMsOf(this.#policy, entry.facts);
    entry.aheadMs = priority * this.#policy.ageing.pointMs - entry.behindMs;
    entry.latestStartMs =
      deadlineMs === null ? never : deadlineMs - entry.duration.ms - this.#policy.deadline.marginMs;
    entry.urgent = false;
    entry.starvesAfterMs = tier?.starvesAfterMs ?? never;
    entry.passMs = passMsOf(this.#policy, entry.facts);
    entry.line = this.lines.of(entry.lane.project, entry.rank);
  }

  #laneOf(shape: Shape, { project, user }: EntryFacts): Lane {
    const node = this.projects.at(project);
    const key = `${shape.id}|${node.id}|${user}`;
    let lane = this.#laneByKey.get(key);
    if (!lane) {
      const id = this.#vacantLanes.pop() ?? this.lanes.length;
      const entries = new SortedInts(this.#compareEntries);
      const apart = new SortedInts(this.#compareStarvedEntries);
      lane = {
        id,
        key,
        shape,
        project: node,
        user,
        entries,
        starved: apart,
        uses: 0,
        waiting: 0,
        gated: null,
        head: null,
      };
      this.lanes[id] = lane;
      this.#laneByKey.set(key, lane);
      shape.uses++;
    }
    return lane;
  }

  #lineUp(job: number, nowMs: number): void {
    const entry = this.entryOf(job);
    const { lane } = entry;
    const { shape } = lane;
    if (waitingOf(entry) === 0) this.fresh.add(entry);
    if (lane.waiting === 0) {
      shape.lanes.add(lane);
      addTo(this.#waitingAt, lane.project, lane);
    }
    this.#joinLine(job, nowMs);
    lane.waiting++;
    this.waiting++;
    if (shape.blocked === null && lane.gated === null) this.open.add(shape);
  }

  #stepOut(job: number): void {
    const entry = this.entryOf(job);
    const { lane } = entry;
    this.#leaveLine(job);
    this.jobs.line[job] = notInLine;
    lane.waiting--;
    this.waiting--;
    if (waitingOf(entry) === 0) {
      entry.told = null;
      this.fresh.delete(entry);
      this.emptied.add(entry.id);
    }
    if (lane.waiting > 0) return;
    this.ungate(lane);
    this.ungated.delete(lane);
    lane.shape.lanes.delete(lane);
    this.#waitingAt.get(lane.project)!.delete(lane);
    if (lane.shape.lanes.size === 0) this.open.delete(lane.shape);
  }

  /** Into the entry's list and all that follow from it: starved when its time has come, else in its project's line. */
  #joinLine(job: number, nowMs: number): void {
    const entry = this.entryOf(job);
    const { lane } = entry;
    lane.head = null;
    const savedMs = this.jobs.savedMs(job);
    if (savedMs > 0) entry.saved.add(job);
    this.jobs.turnMs[job] = this.jobs.submittedMs[job]! + laterMsOf(this.#policy, entry.facts, savedMs);
    if (this.starvesAtMs(job) <= nowMs) {
      this.jobs.line[job] = starved;
      entry.starved ??= new SortedInts(this.compareStarved);
      const leads = entry.starved.size > 0 && this.compareStarved(job, entry.starved.at(0)) < 0;
      if (leads) lane.starved.remove(entry.id);
      entry.starved.insert(job);
      if (leads || entry.starved.size === 1) lane.starved.insert(entry.id);
      this.starved.insert(job);
      return;
    }
    this.jobs.line[job] = inLine;
    if (entry.jobs.size === 0) {
      entry.urgent = entry.latestStartMs <= nowMs;
      if (!entry.urgent && entry.latestStartMs !== never) this.pressing.insert(entry.id);
    }
    const leads = entry.jobs.size > 0 && this.compareJobs(job, entry.jobs.at(0)) < 0;
    if (leads) lane.entries.remove(entry.id);
    entry.jobs.insert(job);
    if (leads || entry.jobs.size === 1) lane.entries.insert(entry.id);
    this.lines.join(entry.line, job);
    if (entry.starvesAfterMs !== never) this.starving.insert(job);
  }

  #leaveLine(job: number): void {
    const entry = this.entryOf(job);
    const { lane } = entry;
    lane.head = null;
    entry.saved.delete(job);
    if (this.jobs.line[job] === starved) {
      const leads = entry.starved!.at(0) === job;
      if (leads) lane.starved.remove(entry.id);
      entry.starved!.remove(job);
      if (leads && entry.starved!.size > 0) lane.starved.insert(entry.id);
      this.starved.remove(job);
      return;
    }
    const leads = entry.jobs.at(0) === job;
    if (leads) lane.entries.remove(entry.id);
    entry.jobs.remove(job);
    if (leads && entry.jobs.size > 0) lane.entries.insert(entry.id);
    this.lines.leave(entry.line, job);
    if (entry.starvesAfterMs !== never) this.starving.remove(job);
    if (entry.jobs.size === 0 && !entry.urgent && entry.latestStartMs !== never)
      this.pressing.remove(entry.id);
  }

  /** Takes the entry's jobs out, lets `change` move the entry, and puts them back. */
  #replaced(entry: Entry, nowMs: number, change: () => void): void {
    const jobs: number[] = [];
    for (let p = entry.jobs.first(); p >= 0; p = entry.jobs.next(p)) jobs.push(entry.jobs.at(p));
    for (const job of jobs) this.#leaveLine(job);
    change();
    for (const job of jobs) this.#joinLine(job, nowMs);
  }

  #release(entry: Entry, weight: number): void {
    entry.uses--;
    this.mix.add(entry.lane.shape.mix, -weight);
    if (entry.uses === 0) this.#drop(entry);
  }

  #drop(entry: Entry): void {
    invariant(waitingOf(entry) === 0, 'an entry without jobs has none waiting');
    const { lane } = entry;
    this.#byKey.delete(keyIn(entry));
    this.entries[entry.id] = undefined;
    this.#vacant.push(entry.id);
    lane.uses--;
    if (lane.uses > 0) return;
    this.#laneByKey.delete(lane.key);
    this.lanes[lane.id] = undefined;
    this.#vacantLanes.push(lane.id);
    this.shapes.release(lane.shape);
  }

  #copyFrom(from: Queue): ShapeTable {
    const shapes = new Map<Shape, Shape>();
    const table = from.shapes.copy(shapes);
    const lines = this.lines.copyFrom(from.lines, ({ id }) => this.projects.all[id]!);
    this.lanes = from.lanes.map((lane) => lane && this.#copyLane(lane, shapes.get(lane.shape)!, from));
    this.entries = from.entries.map((entry) => {
      if (!entry) return undefined;
      const twin: Entry = {
        ...entry,
        lane: this.lanes[entry.lane.id]!,
        line: lines.get(entry.line)!,
        jobs: entry.jobs.copy(this.compareJobs),
        starved: entry.starved?.copy(this.compareStarved) ?? null,
        saved: new Set(entry.saved),
      };
      this.#byKey.set(keyIn(twin), twin);
      if (from.fresh.has(entry)) this.fresh.add(twin);
      return twin;
    });
    for (const shape of from.open) this.open.add(shapes.get(shape)!);
    for (const id of from.emptied) this.emptied.add(id);
    this.waiting = from.waiting;
    this.#vacant = from.#vacant.slice();
    this.#vacantLanes = from.#vacantLanes.slice();
    return table;
  }

  #copyLane(lane: Lane, shape: Shape, from: Queue): Lane {
    const twin: Lane = {
      ...lane,
      shape,
      project: this.projects.all[lane.project.id]!,
      entries: lane.entries.copy(this.#compareEntries),
      starved: lane.starved.copy(this.#compareStarvedEntries),
      gated: null,
      head: null,
    };
    this.#laneByKey.set(twin.key, twin);
    if (lane.waiting > 0) {
      shape.lanes.add(twin);
      addTo(this.#waitingAt, twin.project, twin);
    }
    if (lane.gated) this.gate(twin, { ...lane.gated, at: this.projects.all[lane.gated.at.id]! });
    if (from.ungated.has(lane)) this.ungated.add(twin);
    return twin;
  }
}

function setIn<T>(set: Set<T>, item: T, isIn: boolean): void {
  if (isIn) set.add(item);
  else set.delete(item);
}

function addTo(lanes: Map<Project, Set<Lane>>, project: Project, lane: Lane): void {
  const known = lanes.get(project);
  if (known) known.add(lane);
  else lanes.set(project, new Set([lane]));
}
