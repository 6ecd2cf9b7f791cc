// The search for victims (decision 0007, section 5): for a job that has no place, the runs to stop so that it has one, and
// the exact places it then gets. Take, again and again, what the best node offers until the job fits; then put back every
// victim without whom it still fits. The fleet is changed while looking and is afterwards as it was.
import { type Claim, invariant, type JobId, type Right, type TaskPlacement } from '@muster/model';
import { Attempt } from './attempt.ts';
import type { Lane } from './entry.ts';
import { domainGround, groupOrder, likeliest, place } from './fit.ts';
import { type ProjectOver, projectOver } from './gates.ts';
import { undo } from './ledger.ts';
import { NodeOffers, type Offer } from './node-offers.ts';
import { compareText } from './order.ts';
import { roomsOf } from './packing.ts';
import { tasksOf } from './plan-units.ts';
import type { Project } from './projects.ts';
import type { Rights } from './rights.ts';
import type { Rooms } from './rooms.ts';
import type { RunTable } from './run-table.ts';
import { isGreedy, matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';
import { putBack, takeOut } from './take-out.ts';
import { root } from './tree.ts';
import { never, type Victims } from './victims.ts';

/** A job that waits for an end that is near instead of preempting. */
export interface NearEnd {
  readonly job: JobId;
  /** Null for a run that is being stopped. */
  readonly endMs: number | null;
}

/** Whether a job is within its ceilings, or would be if victims below them were gone. */
export type Gate = 'open' | 'eased';

export class VictimSearch {
  readonly #state: State;
  readonly #project: Project;
  readonly #gate: Gate;
  readonly #rights: Rights;
  readonly #victims: Victims;
  readonly #shape: Shape;
  /** Offers for each group and option that was short, or for the first task alone, made when first asked for. */
  readonly #offers = new Map<string, NodeOffers>();
  /** What all nodes hold of each option of the first group. */
  readonly #rooms: Rooms[] = [];
  /** Runs that count as gone. */
  readonly #out = new Set<number>();
  /** By what right each of them was taken, as things stood then. */
  readonly #takenBy = new Map<number, Right>();
  readonly #own: boolean;
  readonly #accepts: ((victims: Iterable<number>) => boolean) | null;
  /** Where victims are looked for. */
  #region = root;
  #job = -1;
  /** Whether such a job finds victims as the walk begins; null before it was looked for. */
  hasVictims: boolean | null = null;
  /** What it was that was found then, and for which job. */
  first: { readonly job: number; readonly claim: Claim } | null = null;
  /** Nodes with a possible victim, when the last search was for a single task and none of them made an offer; else null. */
  candidates: ReadonlySet<number> | null = null;
  /** Set when offers were made with rights that only the last search had. */
  #renewed = false;
  /** How many of the projects that moved in this plan its offers know of. */
  #seen = 0;
  nearEnd: NearEnd | null = null;
  /** After how many takings of the plan it looked in vain; until then the next job of its kind does too. */
  vainAt = -1;

  /** `accepts` says, once the job has its place, whether these victims will do. */
  constructor(
    state: State,
    { shape, project }: Lane,
    gate: Gate,
    victims: Victims,
    own: boolean,
    accepts: ((victims: Iterable<number>) => boolean) | null = null,
  ) {
    this.#state = state;
    this.#accepts = accepts;
    this.#project = project;
    this.#gate = gate;
    this.#own = own;
    this.#rights = victims.rights;
    this.#victims = victims;
    this.#shape = shape;
    matchShape(shape, state.fleets.live.classes);
  }

  /** Whether what does not fit now cannot fit later in the plan. */
  get isSteady(): boolean {
    return !isGreedy(this.#shape) && this.#state.fleets.live.resources.list.length === 0;
  }

  touch(slot: number): void {
    for (const offers of this.#offers.values()) offers.touch(slot);
  }

  /** Alternatives in their order; the first for which there are victims enough. None when near ends are enough. */
  find(job: number, ending: readonly number[]): Claim | null {
    this.#job = job;
    this.#lookAgain();
    this.candidates = null;
    this.nearEnd = this.#nearEnd(ending);
    if (this.nearEnd) return null;
    const { groups, combinations } = this.#shape;
    let offered = groups.length > 1 || groups[0]!.demand.tasks > 1 || isGreedy(this.#shape);
    for (const combination of combinations) {
      const level = this.#requiredLevel();
      if (level >= 0) {
        const claim = this.#cheapestDomain(combination, level);
        if (claim) return claim;
        continue;
      }
      const room = this.#makeRoom(combination);
      offered ||= room || this.#out.size > 0;
      const claim = room ? this.#claim(combination) : null;
      this.#restore();
      if (claim) return claim;
    }
    if (!offered) this.candidates = this.#allCandidates();
    return null;
  }

  /** Offers that were made before stay, but for those that rest on what has moved since. */
  #lookAgain(): void {
    const { moved } = this.#rights;
    const projects = this.#seen < moved.length ? new Set(moved.slice(this.#seen)) : null;
    for (const offers of this.#offers.values()) {
      if (this.#renewed) offers.forget();
      if (projects) offers.renew(projects);
      offers.lookFor(this.#job);
    }
    this.#seen = moved.length;
    this.#renewed = false;
  }

  /** The level of which all tasks must be in one domain; below 0 where there is none. */
  #requiredLevel(): number {
    const { topology, groups } = this.#shape.demand;
    const asked = topology ?? (groups.length === 1 ? groups[0]!.topology : null);
    return asked?.mode === 'required' ? this.#state.fleets.live.tree.levelNamed(asked.level) : -1;
  }

  /** Domain by domain, because the cheapest nodes of the fleet may be in different ones: least damage, fewest victims, by path. */
  #cheapestDomain(combination: readonly number[], level: number): Claim | null {
    const { tree } = this.#state.fleets.live;
    const domains = this.#domainsWithVictims(level);
    let best: Claim | null = null;
    let bestDamage = never;
    for (const domain of tree.within(root, level)) {
      if (!domains.has(domain)) continue;
      this.#region = domain;
      this.#offers.clear();
      const claim = this.#makeRoom(combination) ? this.#claim(combination) : null;
      let damage = 0;
      for (const run of this.#out) damage += this.#victims.damage(run);
      this.#restore();
      const fewer = claim !== null && best !== null && claim.victims.length < best.victims.length;
      if (claim === null || damage > bestDamage || (damage === bestDamage && !fewer)) continue;
      best = claim;
      bestDamage = damage;
    }
    this.#offers.clear();
    this.#region = root;
    return best;
  }

  #domainsWithVictims(level: number): ReadonlySet<number> {
    const { table, fleets } = this.#state;
    const found = new Set<number>();
    for (const group of this.#rights.groups(this.#job))
      for (let run = group.first; run >= 0; run = table.nextOfGroup[run]!) {
        if (!this.#victims.isVictim(run, this.#job, this.#own)) continue;
        for (let link = table.firstLink[run]!; link >= 0; link = table.linkOfRun[link]!)
          found.add(fleets.live.tree.at(table.linkNode[link]!, level));
      }
    return found;
  }

  offersAt(job: number, slot: number): boolean {
    return this.#shape.combinations.some(([option]) => this.#offersOf(0, option!).offersAt(job, slot));
  }

  #allCandidates(): ReadonlySet<number> {
    const all = new Set<number>();
    for (const offers of this.#offers.values()) for (const slot of offers.candidates) all.add(slot);
    return all;
  }

  /** The last of the ends that would give the job room by themselves. */
  #nearEnd(ending: readonly number[]): NearEnd | null {
    const { table, jobs } = this.#state;
    const free = ending.filter((run) => table.doomed[run] === 0 && this.#victims.shields.answers(run));
    if (free.length === 0) return null;
    for (const run of free) this.#takeOut(run);
    const fits = !this.#isOver() && this.#shape.combinations.some((each) => this.#shortOf(each) < 0);
    this.#restore();
    if (!fits) return null;
    const last = free.reduce((a, b) => (compareEnds(table, a, b) >= 0 ? a : b));
    const endMs = table.stopping[last] === 1 ? null : table.endMs[last]!;
    return { job: jobs.ids[table.job[last]!]!, endMs };
  }

  #makeRoom(combination: readonly number[]): boolean {
    if (!this.#ease()) return false;
    for (let short = this.#shortOf(combination); short >= 0; short = this.#shortOf(combination)) {
      const offer = this.#takeOffer(short, combination[short]!);
      if (!offer) return false;
      this.#accept(offer.victims);
    }
    return true;
  }

  /** Where there is room for all tasks, or no more can be made, a port for the first of them is what may be missing. */
  #takeOffer(group: number, option: number): Offer | null {
    const offers = this.#offersOf(group, option);
    if (group > 0 || this.#shape.groups[0]!.demand.tasks === 1) return offers.take(this.#job);
    const offer = this.isSteady && offers.hasRoom ? null : offers.take(this.#job);
    return offer ?? this.#offersOf(group, option, true).take(this.#job);
  }

  #isOver(): boolean {
    return this.#over() !== null;
  }

  #over(): ProjectOver | null {
    if (this.#gate === 'open') return null;
    return projectOver(this.#project, this.#shape.ask, this.#victims.goneOf(this.#out));
  }

  /** Where ceilings are in the way: takes victims below the lowest of them, in their order, until none is. */
  #ease(): boolean {
    const below = this.#over()?.lowest;
    for (let over = this.#over(); below && over; over = this.#over()) {
      const victim = this.#easing(below, over.keys);
      if (victim < 0) return false;
      this.#accept([victim]);
    }
    return true;
  }

  /** The first run in the order of victims that uses one of the keys below the project; -1 when there is none. */
  #easing(below: Project, keys: ReadonlySet<number>): number {
    const { table } = this.#state;
    let best = -1;
    for (const group of this.#rights.groups(this.#job, below))
      for (let run = group.first; run >= 0; run = table.nextOfGroup[run]!) {
        if (!this.#rights.usesOf(run).keys.some((key) => keys.has(key))) continue;
        if (!this.#victims.isVictim(run, this.#job, this.#own)) continue;
        if (best < 0 || this.#victims.compare(run, best) < 0) best = run;
      }
    return best;
  }

  /** The group that finds no place; -1 when all do, be it with another alternative: nobody is stopped for one that is not needed. */
  #shortOf(combination: readonly number[]): number {
    const { live } = this.#state.fleets;
    // Without a topology and countable resources nodes do not depend on each other: the job fits when their room adds up.
    if (this.isSteady)
      return this.#shape.combinations.some(([option]) => this.#offersOf(0, option!).fits) ? -1 : 0;
    // With countable resources their room is still the most that there can be, unless devices differ in what they take.
    if (!isGreedy(this.#shape) && this.#shape.combinations.every(([option]) => this.#isTooLittle(option!)))
      return 0;
    const whole = place(live, this.#shape, []);
    if (whole) {
      undo(live, whole);
      return -1;
    }
    const order = groupOrder(this.#shape, combination);
    // Of a domain that is looked at by itself, the group that finds no place there.
    const here = this.#region !== root;
    const ground = here ? domainGround(live, this.#region) : likeliest(live, this.#shape, combination);
    const attempt = new Attempt(live, this.#shape, ground);
    const { group } = attempt.run(combination, order);
    undo(live, attempt.placement);
    // Where a topology alone is in the way, more room for the group that chooses first is what may help.
    return group < 0 ? order[0]! : group;
  }

  #isTooLittle(option: number): boolean {
    if (this.#shape.groups[0]!.options[option]!.fits.some((fit) => fit.needsLess)) return false;
    this.#rooms[option] ??= roomsOf(this.#state.fleets.live, this.#shape, 0, option);
    return this.#rooms[option].sync().room[root]! < this.#shape.groups[0]!.demand.tasks;
  }

  #accept(victims: readonly number[]): void {
    let changed = false;
    for (const run of victims) {
      const right = this.#rights.mayTake(this.#job, run);
      invariant(right !== null, 'nobody is stopped without a right');
      this.#takenBy.set(run, right);
      changed = this.#takeOut(run) || changed;
    }
    if (!changed) return;
    this.#renewed = true;
    // Mostly the job fits now, and nobody asks again.
    for (const offers of this.#offers.values()) offers.forget();
  }

  #takeOut(run: number): boolean {
    takeOut(this.#state, run);
    this.#out.add(run);
    this.#touchRun(run);
    return this.#rights.taken(this.#job, run);
  }

  /** Puts back whom the job does not need, and says where it goes then. */
  #claim(combination: readonly number[]): Claim | null {
    this.#spare(combination);
    const { fleets, jobs } = this.#state;
    const avoid = this.#accepts === null || this.#own ? jobs.avoid(this.#job) : [];
    const placement = place(fleets.live, this.#shape, avoid);
    if (!placement) return null;
    const { exclusive, groups } = this.#shape.demand;
    const { keys } = this.#state.projects;
    const uses = keys.uses(keys.placed(fleets.live, placement));
    const tasks: TaskPlacement[] = tasksOf(fleets.live, placement.from, placement.to, groups.length);
    const { port } = placement;
    const accepted = this.#accepts?.(this.#out) ?? true;
    undo(fleets.live, placement);
    if (!accepted) return null;
    return { exclusive, tasks, port, uses, victims: this.#named() };
  }

  #spare(combination: readonly number[]): void {
    for (const run of [...this.#out].sort(this.#victims.compareSparing)) {
      putBack(this.#state, run);
      this.#touchRun(run);
      this.#out.delete(run);
      const spared = !this.#isOver() && this.#shortOf(combination) < 0;
      if (spared) {
        this.#rights.putBack(run);
        continue;
      }
      this.#out.add(run);
      takeOut(this.#state, run);
      this.#touchRun(run);
    }
  }

  #named(): Claim['victims'] {
    const { table, jobs } = this.#state;
    return [...this.#out]
      .map((run) => ({
        job: jobs.ids[table.job[run]!]!,
        run: table.live[run]!.run,
        right: this.#takenBy.get(run)!,
      }))
      .sort((a, b) => compareText(a.run, b.run));
  }

  #restore(): void {
    for (const run of this.#out) {
      putBack(this.#state, run);
      this.#rights.putBack(run);
      this.#touchRun(run);
    }
    this.#out.clear();
    this.#takenBy.clear();
  }

  #offersOf(group: number, option: number, first = false): NodeOffers {
    const key = `${group}/${option}${first ? '/first' : ''}`;
    let offers = this.#offers.get(key);
    if (!offers) {
      offers = new NodeOffers(
        this.#state,
        this.#shape,
        group,
        option,
        this.#victims,
        this.#own,
        this.#region,
        first,
      );
      this.#offers.set(key, offers);
    }
    return offers;
  }

  #touchRun(run: number): void {
    const { table } = this.#state;
    for (let link = table.firstLink[run]!; link >= 0; link = table.linkOfRun[link]!)
      this.touch(table.linkNode[link]!);
  }
}

/** The later end; runs that are being stopped are taken to end first. */
function compareEnds(table: RunTable, a: number, b: number): number {
  const endOf = (run: number): number => (table.stopping[run] === 1 ? 0 : table.endMs[run]!);
  return endOf(a) - endOf(b) || compareText(table.live[b]!.run, table.live[a]!.run);
}
