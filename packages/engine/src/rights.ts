// Who may end whose run (decision 0007, section 5). The search asks for every run it looks at, and tells which runs it counts
// as gone, because use and with it rights change as victims are added. What is being stopped already counts as gone too:
// otherwise two jobs would take from a project what it borrows only once.
//
// Rights follow from few things: the tier, the project and priority where they matter, and for reclaim from whom it may be
// taken. `reach` writes these down as a text. Jobs of one demand and reach have the same right to every run, so that one search
// serves them all; and with an empty reach there is no right to any run, so that nobody need be looked at.
import { type Right, type Tier, tierNamed } from '@muster/model';
import { Borrowers, borrows, staysWithinNow, useNow } from './borrowers.ts';
import type { Entry, Lane } from './entry.ts';
import { stopsFromMs } from './expected-run.ts';
import { LongerRuns } from './longer-runs.ts';
import { type Limit, Margins } from './margins.ts';
import { none } from './project-amounts.ts';
import { type Fork, findFork } from './project-fork.ts';
import type { Project } from './projects.ts';
import { type Ask, areEqual } from './resource-keys.ts';
import type { RunGroup } from './run-table.ts';
import type { State } from './state.ts';
import { byTier, keepsFrom, type TierBook } from './tier-book.ts';
import { never } from './victims.ts';

export interface Rights {
  /** By what right the job may end the run; null for none. `run` is a slot of the run table. */
  mayTake(job: number, run: number): Right | null;
  /** When a right comes to a run to which there is none, though nothing else changes; never where it does not. */
  dueMs(job: number, run: number): number;
  /** The run counts as gone while an offer is made for the job. True when its rights to other runs have changed with it. */
  suppose(job: number, run: number): boolean;
  unsuppose(run: number): void;
  /** The run counts as gone from here on. True when the job's rights to other runs, or offers that were made, may have changed with it. */
  taken(job: number, run: number): boolean;
  putBack(run: number): void;
  /** Projects whose use moved so far in this plan that offers with their runs may be others; the last one came last. */
  readonly moved: readonly Project[];
  /** Whose the run is, and what it uses. */
  projectOf(run: number): Project;
  usesOf(run: number): Ask;
  /** Groups of runs (run-table.ts) among which are all that the job may end; only those of a project above it and below that, where one is named. */
  groups(job: number, below?: Project): ReadonlySet<RunGroup>;
}

/** Whether a job could ever have a right to a run, by what the policy says. */
export function mightPreempt(state: State, job: number): boolean {
  return entryMightPreempt(state, state.queue.entryOf(job));
}

function entryMightPreempt({ policy }: State, { facts, lane }: Entry): boolean {
  if (policy.runTimes.stop === 'longer') return true;
  if ((tierNamed(policy, facts.tier)?.preempts.length ?? 0) > 0) return true;
  if (lane.project.quota?.preemptWithin === 'lower-priority') return true;
  return policy.quotas.some(({ guaranteed }) => Object.keys(guaranteed).length > 0);
}

interface Judged {
  at: number;
  keys: readonly number[];
  right: Right | null;
}

export class QuotaRights implements Rights {
  readonly #state: State;
  readonly #tiers: TierBook;
  readonly #forks = new Map<number, Fork>();
  /** What was judged last of the runs of each entry, by the keys they use, for whom, and when as `#moves` counts. */
  readonly #judged: (Judged | undefined)[] = [];
  #judgedFor = -1;
  /** Counts whatever may have changed use, and with it rights. */
  #moves = 0;
  /** Moves when rights may have changed through what a plan gave to somebody. */
  epoch = 0;
  /** Whether rights follow use; without guarantees they are the same for all runs of an entry. */
  readonly #follows: boolean;
  readonly #fixed = new Map<number, (Right | null | undefined)[]>();
  /** Those of the entry that asked last. */
  #fixedOf: (Right | null | undefined)[] = [];
  #fixedFor = -1;
  readonly #reachOfTier = new Map<string, string>();
  readonly #lower = new Map<string, readonly RunGroup[]>();
  readonly #borrowers: Borrowers;
  readonly #margins: Margins;
  readonly longer: LongerRuns;
  /** By entry: the line stands still while a plan is made. */
  readonly #fromMs: number[] = [];

  constructor(state: State, tiers: TierBook) {
    this.#state = state;
    this.#tiers = tiers;
    this.#follows = state.policy.quotas.some(({ guaranteed }) => Object.keys(guaranteed).length > 0);
    this.#borrowers = new Borrowers(state);
    this.#margins = new Margins(state.projects);
    this.longer = new LongerRuns(state);
  }

  /** Whether the job could have a right to any run at all; asked before anything is looked at. */
  any(job: number): boolean {
    return entryMightPreempt(this.#state, this.#state.queue.entryOf(job));
  }

  /** Equal for entries of one demand that have the same right to every run; empty when they have none to any. */
  reach(entry: Entry, reclaims = this.reclaimReach(entry.lane)): string {
    const { tier } = entry.facts;
    const guaranteed = tierNamed(this.#state.policy, tier)?.guaranteed;
    // What is taken back for others depends on whose tier may take it again.
    const other = reclaims.other === '' ? '' : `${reclaims.other}|k${tier}`;
    const reclaim = guaranteed ? reclaims.guaranteed : other;
    return this.#tierReach(entry) + reclaim + this.#priorityReach(entry) + this.#shorterReach(entry);
  }

  groups(job: number, below: Project | null = null): ReadonlySet<RunGroup> {
    const { queue, table } = this.#state;
    const { lane } = queue.entryOf(job);
    const tier = this.#tiers.of(job);
    const found = new Set<RunGroup>();
    if (tier !== null && tier.preempts.length > 0)
      for (const group of this.#lowerGroups(tier, below)) found.add(group);
    if (lane.project.quota?.preemptWithin === 'lower-priority')
      for (const group of table.groupsOf[lane.project.id] ?? []) found.add(group);
    if (this.#follows) this.#addLenders(lane, below, found);
    if (this.longer.fromMs !== never)
      for (const group of below === null ? table.groups : this.#groupsBelow(below))
        if (group.first >= 0 && this.longer.mightHave(job, group.first)) found.add(group);
    for (const group of found) if (!this.#mayTakeOf(job, group)) found.delete(group);
    return found;
  }

  /** Those with runs of a tier that it may stop, found out once a plan: there are as many groups as projects that ever ran anything. */
  #lowerGroups(tier: Tier, below: Project | null): readonly RunGroup[] {
    const key = `${below?.id ?? ''}/${tier.name}`;
    const known = this.#lower.get(key);
    if (known) return known;
    const { table, policy } = this.#state;
    const lower = new Set(policy.tiers.filter((other) => byTier(tier, other)).map(({ name }) => name));
    const found: RunGroup[] = [];
    for (const group of below === null ? table.groups : this.#groupsBelow(below))
      if (group.first >= 0 && (lower.has(group.tier) || tierNamed(policy, group.tier) === null))
        found.push(group);
    this.#lower.set(key, found);
    return found;
  }

  /** By tier and to reclaim what is said of one is said of all; inside a project priorities count too, and lengths everywhere. */
  #mayTakeOf(job: number, { first, project }: RunGroup): boolean {
    const { lane } = this.#state.queue.entryOf(job);
    if (first < 0) return false;
    if (this.longer.mightHave(job, first)) return true;
    if (project === lane.project.id && lane.project.quota?.preemptWithin === 'lower-priority') return true;
    return this.mayTake(job, first) !== null;
  }

  /** Groups beside a project that stays within its guarantee with the job: all of those that borrow, others where loose. */
  #addLenders({ project, shape }: Lane, below: Project | null, found: Set<RunGroup>): void {
    const { table, policy } = this.#state;
    for (let at: Project = project; at !== below && at.parent !== null; at = at.parent) {
      if (!staysWithinNow(at, shape.ask)) continue;
      const keys = shape.ask.keys.filter((key) => at.guaranteed(key) !== none);
      for (const group of table.groupsOf[at.parent.id] ?? []) found.add(group);
      for (const child of at.parent.children) {
        if (child === at) continue;
        const all = keys.some((key) => borrows(child, key));
        if (!all && this.#borrowers.loose(child) === 0) continue;
        for (const group of this.#groupsBelow(child))
          if (all || !tierNamed(policy, group.tier)?.guaranteed) found.add(group);
      }
    }
  }

  *#groupsBelow(project: Project): IterableIterator<RunGroup> {
    for (const { id } of subtree(project)) yield* this.#state.table.groupsOf[id] ?? [];
  }

  mayTake(job: number, run: number): Right | null {
    return this.#lasting(job, run) ?? (this.#isLonger(job, run) ? 'shorter' : null);
  }

  dueMs(job: number, run: number): number {
    return this.longer.fromMs === never ? never : this.longer.dueMs(job, run);
  }

  /** It has saved its work and is expected to be much longer; unless it is protected as from a higher tier. */
  #isLonger(job: number, run: number): boolean {
    if (this.longer.fromMs === never || !this.longer.has(job, run)) return false;
    const mine = this.#state.queue.entryOf(job).lane.project;
    const theirs = this.projectOf(run);
    const fork = mine === theirs ? null : this.#forkOf(mine, theirs);
    return !this.#isProtected(fork, this.#tiers.of(this.#state.table.job[run]!), run);
  }

  /** Rights that do not come with time. */
  #lasting(job: number, run: number): Right | null {
    if (this.#follows) return this.#judgeOnce(job, run);
    const { jobs, table } = this.#state;
    if (this.#fixedFor !== jobs.entry[job]!) this.#fixFor(jobs.entry[job]!);
    const other = jobs.entry[table.job[run]!]!;
    let right = this.#fixedOf[other];
    if (right === undefined) {
      right = this.#judge(job, run);
      this.#fixedOf[other] = right;
    }
    return right;
  }

  #fixFor(entry: number): void {
    this.#fixedFor = entry;
    this.#fixedOf = this.#fixed.get(entry) ?? [];
    this.#fixed.set(entry, this.#fixedOf);
  }

  /** Of the run itself only the keys it uses count: until use changes, what was said of one is said of all like it. */
  #judgeOnce(job: number, run: number): Right | null {
    const { jobs, table } = this.#state;
    if (this.#judgedFor !== jobs.entry[job]!) {
      this.#judgedFor = jobs.entry[job]!;
      this.#moves++;
    }
    const { keys } = this.usesOf(run);
    const entry = jobs.entry[table.job[run]!]!;
    let judged = this.#judged[entry];
    if (judged?.at === this.#moves && areEqual(judged.keys, keys)) return judged.right;
    judged ??= { at: 0, keys, right: null };
    judged.right = this.#judge(job, run);
    judged.at = this.#moves;
    judged.keys = keys;
    this.#judged[entry] = judged;
    return judged.right;
  }

  #judge(job: number, run: number): Right | null {
    const { table, queue } = this.#state;
    const mine = queue.entryOf(job);
    const theirs = queue.entryOf(table.job[run]!);
    const tier = this.#tiers.of(job);
    const other = this.#tiers.of(table.job[run]!);
    const sameProject = mine.lane.project === theirs.lane.project;
    const fork = sameProject ? null : this.#forkOf(mine.lane.project, theirs.lane.project);
    if (tier !== null && byTier(tier, other) && !this.#isProtected(fork, other, run)) return 'tier';
    if (fork !== null && this.#reclaims(fork, mine.lane.shape.ask, tier, other, run)) return 'reclaim';
    if (!sameProject || mine.lane.project.quota?.preemptWithin !== 'lower-priority') return null;
    return mine.rank === theirs.rank && theirs.facts.priority < mine.facts.priority ? 'priority' : null;
  }

  suppose(job: number, run: number): boolean {
    if (!this.#follows) return false;
    this.#moves++;
    const ask = this.usesOf(run);
    const project = this.projectOf(run);
    const changes = this.#margins.suppose(project, ask, this.#laneOf(job));
    this.#state.projects.leave(project, ask, 1);
    return changes;
  }

  unsuppose(run: number): void {
    if (!this.#follows) return;
    this.#moves++;
    this.#state.projects.leave(this.projectOf(run), this.usesOf(run), -1);
  }

  taken(job: number, run: number): boolean {
    if (!this.#follows) return false;
    this.#moves++;
    const ask = this.usesOf(run);
    const project = this.projectOf(run);
    const changes = this.#margins.take(project, ask, this.#laneOf(job));
    this.#state.projects.leave(project, ask, 1);
    return changes;
  }

  putBack(run: number): void {
    if (!this.#follows) return;
    this.#moves++;
    this.#margins.putBack(this.projectOf(run), this.usesOf(run));
    this.#state.projects.leave(this.projectOf(run), this.usesOf(run), -1);
  }

  /** The run is stopped by this plan. */
  doomed(run: number): void {
    if (!this.#follows) return;
    this.#moves++;
    const ask = this.usesOf(run);
    const project = this.projectOf(run);
    if (this.#margins.lose(project, ask)) this.#crossed();
    this.#state.projects.leave(project, ask, 1);
  }

  /** The project uses so much more: its runs may be borrowed room from here on. */
  used(project: Project, ask: Ask): void {
    if (!this.#follows) return;
    this.#moves++;
    if (this.#margins.gain(project, ask)) this.#crossed();
  }

  get moved(): readonly Project[] {
    return this.#margins.moved;
  }

  /** From here on `watched` tells which projects had no more to give in one search. */
  watch(): void {
    this.#margins.watch();
  }

  get watched(): readonly Limit[] {
    return this.#margins.watched;
  }

  /** The same of all searches of the plan. */
  get limits(): Iterable<Limit> {
    return this.#margins.limits;
  }

  /** Whether in a search of the plan somebody had no more to give: then who is taken first decides who may be taken at all. */
  get isLimited(): boolean {
    return this.#margins.isLimited;
  }

  keepLimit(limit: Limit): void {
    this.#margins.keep(limit);
  }

  /** How often there was more to take than offers had counted with. */
  get rises(): number {
    return this.#margins.rises;
  }

  #crossed(): void {
    this.epoch++;
    this.#borrowers.clear();
  }

  #laneOf(job: number): Lane {
    return this.#state.queue.entryOf(job).lane;
  }

  /** Runs of the tiers that it names, in whatever project; whether they are protected depends on the project, though. */
  #tierReach({ facts, lane }: Entry): string {
    let reach = this.#reachOfTier.get(facts.tier);
    if (reach === undefined) {
      reach = this.#tierReachOf(tierNamed(this.#state.policy, facts.tier));
      this.#reachOfTier.set(facts.tier, reach);
    }
    return reach.endsWith(guarded) ? `${reach}${lane.project.id}${withinPlan}${this.epoch}` : reach;
  }

  #tierReachOf(tier: Tier | null): string {
    if (tier === null || tier.preempts.length === 0) return '';
    const { policy, table } = this.#state;
    let any = false;
    let protects = false;
    for (const { tier: name, count } of table.groups) {
      const other = tierNamed(policy, name);
      if (count === 0 || !byTier(tier, other)) continue;
      any = true;
      protects ||= this.#follows && other?.guaranteed === true;
    }
    return any ? `|t${tier.name}${protects ? guarded : ''}` : '';
  }

  /** Runs of the same rank; from what length on is told apart. */
  #shorterReach(entry: Entry): string {
    if (stopsFromMs(this.#state.policy, entry.facts, 0) === never) return '';
    // Who is protected follows use, and depends on the project that asks.
    return this.#follows
      ? `|s${entry.rank}/${entry.lane.project.id}${withinPlan}${this.epoch}`
      : `|s${entry.rank}`;
  }

  /** From what length on a run may be stopped for one of the entry. */
  fromMs(entry: Entry): number {
    const known = this.#fromMs[entry.id];
    if (known !== undefined) return known;
    const { policy, queue } = this.#state;
    const stops = stopsFromMs(policy, entry.facts, 0) !== never;
    const fromMs = stops ? this.longer.fromOf(queue.leastSaved(entry)) : never;
    this.#fromMs[entry.id] = fromMs;
    return fromMs;
  }

  #priorityReach({ facts, lane, rank }: Entry): string {
    const { project } = lane;
    if (project.quota?.preemptWithin !== 'lower-priority' || !this.#borrowers.runsIn(project)) return '';
    return `|p${project.id}/${facts.priority}/${rank}`;
  }

  /** What a lane's entries have in common of it: level by level, where they stay within a guarantee, who beside it can give back. */
  reclaimReach({ project, shape }: Lane): ReclaimReach {
    const { ask } = shape;
    let [guaranteed, other] = ['', ''];
    if (!this.#follows) return { guaranteed, other };
    for (let at: Project = project; at.parent !== null; at = at.parent) {
      if (!staysWithinNow(at, ask)) continue;
      const beside = at.parent;
      let from = '';
      let keys = '';
      for (const key of ask.keys) {
        if (at.guaranteed(key) === none) continue;
        keys += `,${key}`;
        from += this.#borrowers.of(beside, key);
      }
      const loose = this.#borrowers.loose(beside) > this.#borrowers.loose(at);
      const text = `|r${beside.id}${keys}:${from}`;
      const apart = loose && this.#borrowers.loose(at) > 0 ? `-${at.id}` : '';
      if (from !== '') other += text;
      if (from !== '' || loose) guaranteed += `${text}${loose ? `~${apart}` : ''}`;
    }
    return { guaranteed, other };
  }

  /** A guaranteed tier's run of another project that is within its guarantee for all the run uses. */
  #isProtected(fork: Fork | null, other: Tier | null, run: number): boolean {
    if (fork === null || fork.other === null || !other?.guaranteed) return false;
    const { keys } = this.usesOf(run);
    let any = false;
    for (const key of keys) {
      const guaranteed = fork.other.guaranteed(key);
      if (guaranteed === none) continue;
      if (useNow(fork.other, key) > guaranteed) return false;
      any = true;
    }
    return any;
  }

  /** Within its own guarantee with this job, a project takes back what others borrow of the same; one that is guaranteed also what nobody guarantees them. */
  #reclaims({ own, other }: Fork, ask: Ask, tier: Tier | null, theirs: Tier | null, run: number): boolean {
    if (own === null || !staysWithinNow(own, ask) || !keepsFrom(tier, theirs)) return false;
    const unborrowed = tier?.guaranteed === true && !theirs?.guaranteed;
    const used = this.usesOf(run).keys;
    for (const key of ask.keys) {
      if (own.guaranteed(key) === none || !used.includes(key)) continue;
      if (unborrowed || borrows(other, key)) return true;
    }
    return false;
  }

  #forkOf(mine: Project, theirs: Project): Fork {
    const key = mine.id * 0x10_0000 + theirs.id;
    let fork = this.#forks.get(key);
    if (!fork) {
      fork = findFork(mine, theirs);
      this.#forks.set(key, fork);
    }
    return fork;
  }

  projectOf(run: number): Project {
    return this.#state.queue.entryOf(this.#state.table.job[run]!).lane.project;
  }

  usesOf(run: number): Ask {
    return this.#state.table.uses[run]!;
  }
}

/** Of the reach what is for reclaiming: for jobs of a guaranteed tier, and for others. */
export interface ReclaimReach {
  readonly guaranteed: string;
  readonly other: string;
}

/** After a tier whose victims may be protected; and before the number of an epoch. */
const guarded = '!';
const withinPlan = '@';

/** Whether a reach means the same in another plan. */
export function isLasting(reach: string): boolean {
  return !reach.includes(withinPlan);
}

function* subtree(project: Project): IterableIterator<Project> {
  yield project;
  for (const child of project.children) yield* subtree(child);
}
