// The search for victims (decision 0007, section 5): for a job that has no place, the runs to stop so that it has one, and
// the exact places it then gets. Take, again and again, what the best node offers until the job fits; then put back every
// victim without whom it still fits. The fleet is changed while looking and is afterwards as it was.
//
// A search is kept for all jobs of one demand with the same rights while a plan is made, because the next one finds the same
// offers but for the nodes that the last one touched. And where one looked in vain the next does too: within a plan room only
// gets less and possible victims fewer. That is not so for gangs that are placed greedily, and where domains have countable
// resources, because less room elsewhere may happen to help them: they look again once something was taken.
import type { Claim, JobId, Right, TaskPlacement } from '@muster/model';
import { Attempt } from './attempt.ts';
import { domainGround, groupOrder, likeliest, place } from './fit.ts';
import { isUserOver, overAt, type ProjectOver, projectOver } from './gates.ts';
import { type Placement, undo } from './ledger.ts';
import { tasksOf } from './make-plan.ts';
import type { Members } from './members.ts';
import { NodeOffers, type Offer } from './node-offers.ts';
import { compareText } from './order.ts';
import { roomsOf } from './packing.ts';
import type { Found } from './pass.ts';
import { isWithin, type Project } from './projects.ts';
import type { Entry, Lane } from './queue.ts';
import type { Ask } from './resource-keys.ts';
import { isLasting, QuotaRights, type Rights, TierBook } from './rights.ts';
import type { Rooms } from './rooms.ts';
import type { RunTable } from './run-table.ts';
import { isGreedy, matchShape, type Shape } from './shape.ts';
import { lookedInVain, type State } from './state.ts';
import { putBack, takeOut } from './take-out.ts';
import { root } from './tree.ts';
import { isNear, never, Victims } from './victims.ts';

/** A job that waits for an end that is near instead of preempting. */
export interface NearEnd {
  readonly job: JobId;
  /** Null for a run that is being stopped. */
  readonly endMs: number | null;
}

/** What a job would find by itself; no victims when it finds none. */
export interface Alone {
  readonly victims: number;
  readonly nearEnd: NearEnd | null;
}

const inVain: Alone = { victims: 0, nearEnd: null };

/** The preemptions of one plan while it is being made. */
export class Preemptions {
  readonly claims: { readonly job: number; readonly id: JobId; readonly claim: Claim; readonly uses: Ask }[] =
    [];
  /** Ids of the entries of jobs that looked for victims, or need not look because they have a right to nobody. */
  readonly wanting = new Set<number>();
  /** Ids of entries for which ends that are near were enough as the walk began. */
  readonly patient = new Set<number>();
  /** For whom the last job that was tried waits, when it would have found victims or need not look for any. */
  nearEnd: NearEnd | null = null;
  readonly #state: State;
  readonly #nowMs: number;
  readonly #allowed: boolean;
  readonly #exempt: number;
  readonly #members: Members;
  readonly #remembers: boolean;
  readonly #rights: QuotaRights;
  readonly #victims: Victims;
  readonly #searches = new Map<string, Search>();
  #ending: readonly number[] | null = null;
  /** How often something was taken in this plan. */
  #taken = 0;
  #againMs = never;

  /** `exempt` is a job that stops nobody; -1 for none. A question adds nothing to what is remembered. */
  constructor(state: State, nowMs: number, members: Members, exempt = -1, remembers = false) {
    this.#state = state;
    this.#members = members;
    this.#nowMs = nowMs;
    this.#allowed = state.table.size > 0;
    this.#exempt = exempt;
    this.#remembers = remembers;
    const tiers = new TierBook(state);
    this.#rights = new QuotaRights(state, tiers);
    this.#victims = new Victims(state, tiers, this.#rights, nowMs);
  }

  /** When a job that found no victims might find some though nothing else changes. */
  get againMs(): number {
    return Math.min(this.#againMs, this.#victims.againMs);
  }

  /** Whether there are victims for a waiting job of the lane as things stand; asked before anything is taken. */
  mayLane(lane: Lane): boolean {
    if (!this.#allowed) return false;
    const { queue, wanting } = this.#state;
    const over = this.#gateOf(lane);
    if (over === 'shut') return false;
    const reclaims = this.#rights.reclaimReach(lane);
    let any = false;
    for (const entry of queue.waitingIn(lane)) {
      any ||= this.#hasVictims(entry, over, reclaims);
      if (!wanting.has(entry.id)) this.wanting.add(entry.id);
    }
    return any;
  }

  /** For any job of the entry that is not cooling and was never preempted. */
  #hasVictims(entry: Entry, gate: Gate, reclaims: string): boolean {
    const reach = this.#rights.reach(entry, reclaims);
    if (reach === '') return false;
    const { lane } = entry;
    const key = keyOf(lane, gate, reach);
    const search = this.#searchFor(lane, gate, key);
    search.hasVictims ??= this.#finds(search, entry, gate === 'open' && isLasting(reach) ? key : null);
    if (search.nearEnd) this.patient.add(entry.id);
    return search.hasVictims;
  }

  /** `lasting` is the key under which the search is remembered when it is in vain; null where it is not. */
  #finds(search: Search, entry: Entry, lasting: string | null): boolean {
    const { fleets, vain } = this.#state;
    const job = (entry.jobs.size > 0 ? entry.jobs : entry.starved!).at(0);
    const offers = (slot: number): boolean => search.offersAt(job, slot);
    if (lasting !== null && vain.holds(lasting, fleets.live, offers, this.#remembers)) return false;
    const found = search.find(job, this.#endsNear());
    search.first = found && { job, claim: found };
    if (lasting !== null && this.#remembers && search.candidates)
      vain.add(lasting, fleets.live, search.candidates);
    return found !== null && found.victims.length > 0;
  }

  /**
   * The job may get a claim in this plan, and what it claims is nobody else's for the rest of it. One that is cooling steps
   * aside; else the first that finds nobody speaks for all of its lane.
   */
  try(job: number): Found {
    const { jobs, queue, projects } = this.#state;
    this.nearEnd = null;
    if (!this.#allowed || job === this.#exempt || !this.#rights.any(job)) return 'out';
    this.wanting.add(jobs.entry[job]!);
    if (!this.#cooled(job)) return 'aside';
    const entry = queue.entryOf(job);
    const { project, user } = entry.lane;
    const reach = this.#rights.reach(entry);
    if (reach === '') return 'out';
    // A job that was preempted itself has others that are not its victims, so it searches by itself.
    const own = jobs.preempted(job).length > 0;
    const gate = this.#gateOf(entry.lane);
    if (gate === 'shut') return 'out';
    const search = own
      ? new Search(this.#state, entry.lane, gate, this.#victims, true)
      : this.#searchFor(entry.lane, gate, keyOf(entry.lane, gate, reach));
    const vain = search.vainAt >= this.#taken;
    const known = this.#taken === 0 && search.first?.job === job ? search.first.claim : null;
    const found = vain ? null : (known ?? search.find(job, this.#endsNear()));
    this.nearEnd = search.nearEnd;
    // An end that is near may be enough for fewer.
    if (!found) search.vainAt = search.isSteady && !search.nearEnd ? never : this.#taken;
    // Where groups are placed greedily, what others took may have made room: it starts when that has come back.
    if (!found || found.victims.length === 0) return 'out';
    // The nodes it would get may make it use more than it asked for at least.
    const uses = projects.keys.ask(found.uses);
    const gone = this.#victims.goneOf(found.victims.map(({ run }) => this.#state.table.slotOf(run)));
    if (isUserOver(project, user, uses) || projectOver(project, uses, gone) !== null) return 'out';
    this.#hold(job, found, uses);
    return 'has';
  }

  /** For a question: how many runs would be stopped for the job as things stand, or for whom it waits. Keeps nothing. */
  alone(job: number): Alone {
    const { queue, jobs } = this.#state;
    const { lane } = queue.entryOf(job);
    const leads = queue.stands(job) && queue.firstOf(lane) === job;
    const entries = leads ? [jobs.entry[job]!] : [...queue.waitingIn(lane)].map(({ id }) => id);
    // Nothing has changed since one of its kind looked in vain; only an end that is near may have come closer.
    if (entries.some((id) => lookedInVain(this.#state, id)) && this.#endsNear().length === 0) return inVain;
    const victims = this.try(job) === 'has' ? this.claims.at(-1)!.claim.victims.length : 0;
    this.undo();
    return { victims, nearEnd: this.nearEnd };
  }

  /** Something was placed: offers of its nodes are stale, and so may be rights to runs of its project. */
  placed(job: number, { from, to }: Placement, uses: Ask): void {
    // Without runs there is nobody to stop, and nobody looks.
    if (!this.#allowed) return;
    this.#taken++;
    const { ledger } = this.#state.fleets.live;
    if (this.#searches.size > 0) for (let pick = from; pick < to; pick++) this.#touch(ledger.slot[pick]!);
    this.#rights.used(this.#state.queue.entryOf(job).lane.project, uses);
  }

  /** Gives every claim of this plan back, last first. */
  undo(): void {
    const { claims, fleets, table, projects, queue } = this.#state;
    for (let i = this.claims.length - 1; i >= 0; i--) {
      const { job, id, claim, uses } = this.claims[i]!;
      const { project, user } = queue.entryOf(job).lane;
      projects.keep(project, user, uses, -1);
      claims.remove(fleets.live, id);
      for (const { run } of claim.victims) {
        const slot = table.slotOf(run);
        table.doomed[slot] = 0;
        this.#rights.putBack(slot);
      }
    }
  }

  #hold(job: number, claim: Claim, uses: Ask): void {
    const { claims, fleets, runs, table, projects, queue } = this.#state;
    const id = this.#members.take(job);
    const { project, user, shape } = queue.entryOf(job).lane;
    const touched = new Set<number>();
    for (const { run } of claim.victims) {
      const slot = table.slotOf(run);
      table.doomed[slot] = 1;
      this.#rights.doomed(slot);
      for (let link = table.firstLink[slot]!; link >= 0; link = table.linkOfRun[link]!)
        touched.add(table.linkNode[link]!);
    }
    const held = claims.add(fleets.live, { job: id, demand: shape.demand }, claim, runs);
    projects.keep(project, user, uses, 1);
    this.#rights.used(project, uses);
    this.#taken++;
    this.claims.push({ job, id, claim, uses });
    for (const slot of held.nodes.keys()) touched.add(slot);
    for (const slot of touched) this.#touch(slot);
  }

  #touch(slot: number): void {
    for (const search of this.#searches.values()) search.touch(slot);
  }

  /** Ceilings of projects are `eased` by victims below them; those of users are not. */
  #gateOf({ project, user, shape }: Lane): Gate | 'shut' {
    if (overAt(project, user, shape.ask) === null) return 'open';
    return isUserOver(project, user, shape.ask) ? 'shut' : 'eased';
  }

  #searchFor(lane: Lane, gate: Gate, key: string): Search {
    let search = this.#searches.get(key);
    if (!search) {
      search = new Search(this.#state, lane, gate, this.#victims, false);
      this.#searches.set(key, search);
    }
    return search;
  }

  /** Runs whose end is near, and runs that are being stopped for nobody: looked for once a plan. */
  #endsNear(): readonly number[] {
    if (this.#ending) return this.#ending;
    const { table, claims, policy } = this.#state;
    const { nearEndMs } = policy.preemption;
    const found: number[] = [];
    const { ends } = table;
    // Those whose end has long passed would come first; there are none but runs that nobody could stop.
    for (let p = ends.lowerBound(table.endMs, this.#nowMs - nearEndMs); p >= 0; p = ends.next(p)) {
      const run = ends.at(p);
      if (table.endMs[run]! - nearEndMs > this.#nowMs) break;
      if (table.gone[run] === 1 || !isNear(table.endMs[run]!, this.#nowMs, nearEndMs)) continue;
      if (table.stopping[run] === 0) found.push(run);
      this.#againMs = Math.min(this.#againMs, table.endMs[run]! + nearEndMs);
    }
    for (const run of table.stopped)
      if (table.gone[run] === 0 && !claims.isVictim(table.live[run]!.run)) found.push(run);
    this.#ending = found;
    return found;
  }

  /** A job whose last attempt failed a short while ago must not cost others their work. */
  #cooled(job: number): boolean {
    const failedMs = this.#state.jobs.failedMs(job);
    if (failedMs === null) return true;
    const cooledMs = failedMs + this.#state.policy.preemption.coolingMs;
    if (cooledMs <= this.#nowMs) return true;
    this.#againMs = Math.min(this.#againMs, cooledMs);
    return false;
  }
}

/** Whether a job is within its ceilings, or would be if victims below them were gone. */
type Gate = 'open' | 'eased';

/** Jobs of equal key find the same victims. */
function keyOf({ shape, project }: Lane, gate: Gate, reach: string): string {
  return gate === 'open' ? `${shape.id}${reach}` : `${shape.id}${reach}|o${project.id}`;
}

class Search {
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
  readonly #own: boolean;
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
  nearEnd: NearEnd | null = null;
  /** After how many takings of the plan it looked in vain; until then the next job of its kind does too. */
  vainAt = -1;

  constructor(state: State, { shape, project }: Lane, gate: Gate, victims: Victims, own: boolean) {
    this.#state = state;
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
    for (const offers of this.#offers.values()) {
      if (this.#renewed) offers.renew(job);
      else offers.lookFor(job);
    }
    this.#renewed = false;
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
    const free = ending.filter((run) => table.doomed[run] === 0 && this.#victims.answers(run));
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
    for (const group of this.#rights.groups(this.#job))
      for (let run = group.first; run >= 0; run = table.nextOfGroup[run]!) {
        if (!isWithin(this.#rights.projectOf(run), below)) continue;
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
    for (const run of victims) changed = this.#takeOut(run) || changed;
    if (!changed) return;
    this.#renewed = true;
    for (const offers of this.#offers.values()) offers.renew(this.#job);
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
    const placement = place(fleets.live, this.#shape, jobs.avoid(this.#job));
    if (!placement) return null;
    const { exclusive, groups } = this.#shape.demand;
    const { keys } = this.#state.projects;
    const uses = keys.uses(keys.placed(fleets.live, placement));
    const tasks: TaskPlacement[] = tasksOf(fleets.live, placement.from, placement.to, groups.length);
    const { port } = placement;
    undo(fleets.live, placement);
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
      .map((run) => {
        const right: Right = this.#rightTo(run);
        return { job: jobs.ids[table.job[run]!]!, run: table.live[run]!.run, right };
      })
      .sort((a, b) => compareText(a.run, b.run));
  }

  #rightTo(run: number): Right {
    this.#rights.putBack(run);
    const right = this.#rights.mayTake(this.#job, run);
    this.#rights.taken(this.#job, run);
    return right ?? 'tier';
  }

  #restore(): void {
    for (const run of this.#out) {
      putBack(this.#state, run);
      this.#rights.putBack(run);
      this.#touchRun(run);
    }
    this.#out.clear();
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
