// The preemptions of one plan (decision 0007, section 5): who looks for victims (victim-search.ts), and what is claimed.
//
// A search is kept for all jobs of one demand with the same rights while a plan is made, because the next one finds the same
// offers but for the nodes that the last one touched and the projects whose use has moved (margins.ts). And where one looked in
// vain the next does too: within a plan room only gets less and possible victims fewer, unless a project is given more of which
// others may take. That is not so for gangs that are placed greedily, and where domains have countable resources, because less
// room elsewhere may happen to help them: they look again once something was taken.
import type { Claim, JobId } from '@muster/model';
import type { Entry, Lane } from './entry.ts';
import { isUserOver, overAt, projectOver } from './gates.ts';
import type { Placement } from './ledger.ts';
import type { Limit } from './margins.ts';
import type { Members } from './members.ts';
import { Moves } from './moves.ts';
import type { Found } from './pass.ts';
import type { Ask } from './resource-keys.ts';
import { isLasting, QuotaRights, type ReclaimReach } from './rights.ts';
import { Shields } from './shields.ts';
import { lookedInVain, type State } from './state.ts';
import { TierBook } from './tier-book.ts';
import { type Gate, type NearEnd, VictimSearch } from './victim-search.ts';
import { isNear, never, Victims } from './victims.ts';

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
  /** Made when somebody looks for victims: most walks have nobody who does. */
  #known: { readonly rights: QuotaRights; readonly victims: Victims; readonly moves: Moves } | null = null;
  readonly #searches = new Map<string, VictimSearch>();
  #ending: readonly number[] | null = null;
  /** By demand and reach: who stops runs from this length on, or from a greater one, finds none any more in this plan. */
  readonly #vainFromMs = new Map<string, number>();
  readonly #stopsLonger: boolean;
  /** How often something was taken in this plan. */
  #taken = 0;
  /** How often a project was given more that others may take, when it was last looked for those who looked in vain. */
  #rises = 0;
  #againMs = never;

  /** `exempt` is a job that stops nobody; -1 for none. A question adds nothing to what is remembered. */
  constructor(state: State, nowMs: number, members: Members, exempt = -1, remembers = false) {
    this.#state = state;
    this.#members = members;
    this.#nowMs = nowMs;
    this.#allowed = state.table.size > 0;
    this.#exempt = exempt;
    this.#stopsLonger = state.policy.runTimes.stop === 'longer';
    this.#remembers = remembers;
  }

  get #rights(): QuotaRights {
    return this.#look().rights;
  }

  get #victims(): Victims {
    return this.#look().victims;
  }

  get #moves(): Moves {
    return this.#look().moves;
  }

  #look() {
    if (this.#known === null) {
      const tiers = new TierBook(this.#state);
      const rights = new QuotaRights(this.#state, tiers);
      const shields = new Shields(this.#state, tiers, this.#nowMs);
      const victims = new Victims(this.#state, tiers, rights, shields, this.#nowMs);
      this.#known = { rights, victims, moves: new Moves(this.#state, tiers, shields) };
    }
    return this.#known;
  }

  /** When a job that found no victims might find some though nothing else changes. */
  get againMs(): number {
    if (this.#known === null) return this.#againMs;
    const { victims, moves } = this.#known;
    return Math.min(this.#againMs, victims.againMs, moves.againMs);
  }

  /** Projects of which more use would give somebody more victims. */
  *limits(): IterableIterator<Limit> {
    if (this.#known !== null) for (const limit of this.#known.rights.limits) if (!limit.own) yield limit;
  }

  /** Whether there are victims for a waiting job of the lane as things stand; asked before anything is taken. */
  mayLane(lane: Lane): boolean {
    if (!this.#allowed) return false;
    const { queue, wanting } = this.#state;
    const over = this.#gateOf(lane);
    if (over === 'shut') return false;
    const reclaims = this.#rights.reclaimReach(lane);
    let any = false;
    for (const entry of this.#eagerFirst(queue.waitingIn(lane))) {
      if (this.#stopsLonger && over === 'open' && this.#moves.may(entry, this.#endsNear())) any = true;
      any ||= this.#hasVictims(entry, over, reclaims);
      if (!wanting.has(entry.id)) this.wanting.add(entry.id);
    }
    return any;
  }

  /** Who may stop most comes first, because what it does not find the others need not look for. */
  #eagerFirst(entries: readonly Entry[]): readonly Entry[] {
    if (!this.#stopsLonger || entries.length === 1) return entries;
    return entries.toSorted((a, b) => this.#rights.fromMs(a) - this.#rights.fromMs(b));
  }

  eagerLanes(lanes: ReadonlySet<Lane>): Iterable<Lane> {
    if (!this.#stopsLonger || lanes.size === 1 || !this.#allowed) return lanes;
    const { queue } = this.#state;
    const least = new Map(
      [...lanes].map((lane) => [
        lane,
        Math.min(...queue.waitingIn(lane).map((entry) => this.#rights.fromMs(entry))),
      ]),
    );
    return [...lanes].sort((a, b) => least.get(a)! - least.get(b)!);
  }

  /** For any job of the entry that is not cooling and was never preempted. */
  #hasVictims(entry: Entry, gate: Gate, reclaims: ReclaimReach): boolean {
    const reach = this.#rights.reach(entry, reclaims);
    if (reach === '') return false;
    const { lane } = entry;
    const key = keyOf(lane, gate, reach);
    const fromMs = this.#rights.fromMs(entry);
    const vainMs = this.#vainFromMs.get(key);
    if (vainMs !== undefined && fromMs >= vainMs) return false;
    const search = this.#searchFor(lane, gate, key, fromMs);
    search.hasVictims ??= this.#finds(search, entry, gate === 'open' && isLasting(reach) ? key : null);
    if (search.nearEnd) this.patient.add(entry.id);
    else if (!search.hasVictims && search.isSteady) this.#vainFromMs.set(key, fromMs);
    return search.hasVictims;
  }

  /** `lasting` is the key under which the search is remembered when it is in vain; null where it is not. */
  #finds(search: VictimSearch, entry: Entry, lasting: string | null): boolean {
    const { fleets, vain } = this.#state;
    const job = this.#state.queue.leastSaved(entry);
    const offers = (slot: number): boolean => search.offersAt(job, slot);
    const fromMs = this.#rights.fromMs(entry);
    this.#rights.longer.askFor(job);
    if (lasting !== null && vain.holds(lasting, fromMs, fleets.live, offers, this.#remembers)) {
      this.#againMs = Math.min(this.#againMs, vain.untilMs);
      for (const limit of vain.limitsOf(lasting)) this.#rights.keepLimit(limit);
      return false;
    }
    this.#rights.watch();
    const found = search.find(job, this.#endsNear());
    search.first = found && { job, claim: found };
    if (lasting !== null && this.#remembers && search.candidates)
      vain.add(lasting, fromMs, fleets.live, search.candidates, this.#rights.watched);
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
    const gate = this.#gateOf(entry.lane);
    if (gate === 'shut') return 'out';
    this.#rights.longer.askFor(job);
    // The next of its lane may be expected to be shorter.
    const none = this.#rights.longer.fromMs === never ? 'out' : 'for-longer';
    const moved = gate === 'open' ? this.#moves.find(job, this.#endsNear(), this.#taken) : null;
    const found = moved ?? this.#findFor(job, gate);
    // Where groups are placed greedily, what others took may have made room: it starts when that has come back.
    if (!found || found.victims.length === 0) return none;
    // The nodes it would get may make it use more than it asked for at least.
    const uses = projects.keys.ask(found.uses);
    const gone = this.#victims.goneOf(found.victims.map(({ run }) => this.#state.table.slotOf(run)));
    if (isUserOver(project, user, uses) || projectOver(project, uses, gone) !== null) return none;
    this.#hold(job, found, uses);
    return 'has';
  }

  #findFor(job: number, gate: Gate): Claim | null {
    const { jobs, queue } = this.#state;
    this.#forgetVain();
    const entry = queue.entryOf(job);
    const { lane } = entry;
    const reach = this.#rights.reach(entry);
    if (reach === '') return null;
    const key = keyOf(lane, gate, reach);
    const search = this.#searchFor(lane, gate, key, this.#rights.longer.fromMs);
    const found = this.#findForAny(job, search, key);
    if (jobs.preempted(job).length === 0) return found;
    // A job that was preempted itself has others that are not its victims, so that it searches by itself where anybody finds
    // some. And where nobody does because the first of a node's victims leaves no right to the next: that first one may be none of its.
    if (!found && search.isSteady && !this.#rights.isLimited) return null;
    const own = new VictimSearch(this.#state, lane, gate, this.#victims, true);
    const foundItself = own.find(job, this.#endsNear());
    this.nearEnd = own.nearEnd;
    return foundItself;
  }

  /** What any job of its kind would find, whatever happened to it. */
  #findForAny(job: number, search: VictimSearch, key: string): Claim | null {
    const { fromMs } = this.#rights.longer;
    const vainMs = this.#vainFromMs.get(key);
    if ((vainMs !== undefined && fromMs >= vainMs) || search.vainAt >= this.#taken) return null;
    const known = this.#taken === 0 && search.first?.job === job ? search.first.claim : null;
    const found = known ?? search.find(job, this.#endsNear());
    this.nearEnd = search.nearEnd;
    if (found) return found;
    // An end that is near may be enough for fewer.
    search.vainAt = search.isSteady && !search.nearEnd ? never : this.#taken;
    if (search.vainAt === never) this.#vainFromMs.set(key, fromMs);
    return null;
  }

  /** Where a project that others may take from was given more, who looked in vain may find somebody. */
  #forgetVain(): void {
    if (this.#rises === this.#rights.rises) return;
    this.#rises = this.#rights.rises;
    this.#vainFromMs.clear();
    for (const search of this.#searches.values()) search.vainAt = -1;
  }

  /** For a question: how many runs would be stopped for the job as things stand, or for whom it waits. Keeps nothing. */
  alone(job: number): Alone {
    const { queue, jobs } = this.#state;
    const { lane } = queue.entryOf(job);
    const leads = queue.stands(job) && queue.firstOf(lane) === job;
    const entries =
      leads || this.#stopsLonger ? [jobs.entry[job]!] : [...queue.waitingIn(lane)].map(({ id }) => id);
    // Nothing has changed since one of its kind looked in vain; only an end that is near may have come closer.
    if (entries.some((id) => lookedInVain(this.#state, id)) && this.#endsNear().length === 0) return inVain;
    const victims = this.try(job) === 'has' ? this.claims.at(-1)!.claim.victims.length : 0;
    this.undo();
    return { victims, nearEnd: this.nearEnd };
  }

  /** Something was placed: offers of its nodes are stale, and so may be rights to runs of its project. */
  placed(job: number, placement: Placement, uses: Ask): void {
    // Without runs there is nobody to stop, and nobody looks.
    if (this.#allowed) this.#note(job, placement, uses);
  }

  #note(job: number, { from, to }: Placement, uses: Ask): void {
    this.#taken++;
    const { ledger } = this.#state.fleets.live;
    if (this.#searches.size > 0) for (let pick = from; pick < to; pick++) this.#touch(ledger.slot[pick]!);
    this.#known?.rights.used(this.#state.queue.entryOf(job).lane.project, uses);
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

  #searchFor(lane: Lane, gate: Gate, base: string, fromMs: number): VictimSearch {
    const key = fromMs === never ? base : `${base}/${fromMs}`;
    let search = this.#searches.get(key);
    if (!search) {
      search = new VictimSearch(this.#state, lane, gate, this.#victims, false);
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

/** Jobs of equal key find the same victims. */
function keyOf({ shape, project }: Lane, gate: Gate, reach: string): string {
  return gate === 'open' ? `${shape.id}${reach}` : `${shape.id}${reach}|o${project.id}`;
}
