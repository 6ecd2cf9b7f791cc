// Planned starts of one walk, and what is kept free for them (docs/decisions/0007-one-order-of-policies.md, section 6). The first
// jobs in the order that wait for room are given the earliest end of anything at which they fit; the places they get then are
// reserved. Whoever is tried later and would still run then is tried with the reserved room taken (slack.ts). Nothing of it is
// state: it follows from what runs and waits, and a walk that finds both as they were finds what was kept (plan-ready.ts).
//
// A planned start is looked for when the next job is tried: behind the last one there is nobody whom it could concern.
import { invariant, type JobId, type PlannedStart } from '@muster/model';
import { place } from './fit.ts';
import { Future } from './future.ts';
import { overAt } from './gates.ts';
import { type Holding, holdingOfPlaced, holdingOfPlacement, slotsIn } from './holding.ts';
import { type Placement, undo } from './ledger.ts';
import type { Kept } from './pass.ts';
import type { PlacedJobs } from './placed-jobs.ts';
import { PlacedOn } from './placed-on.ts';
import { planReady } from './plan-ready.ts';
import { isGreedy, isPlain, isSteady, matchShape, type Shape } from './shape.ts';
import { besideOf, Slack } from './slack.ts';
import type { State } from './state.ts';
import { fitsIdle } from './verdict.ts';

/** How often in a walk all is planned once more for a job that might be in the way. */
const againMax = 16;

/** How many ends and starts of runs are looked at in a walk, for all jobs that need the whole future. */
const looksMax = 100_000;

export interface Planned extends Found {
  /** The job that has it: of an array, the member. */
  readonly id: JobId;
}

export interface Found {
  readonly job: number;
  readonly start: PlannedStart;
  readonly holding: Holding;
  readonly slack: Slack;
}

export class Reservations {
  /** Set when nobody may pass the job that waits: the mode is strict. */
  readonly strict: boolean;
  /** Jobs that were given a planned start, or will be when somebody asks for it. */
  readonly jobs: number[] = [];
  readonly #ids: JobId[] = [];
  readonly #state: State;
  readonly #placed: PlacedJobs;
  readonly #depth: number;
  /** Of the first of those. */
  readonly #holdings: Holding[] = [];
  /** In the order of the walk. */
  #planned: Planned[] = [];
  #byStart: Planned[] = [];
  /** Place in `jobs` of one whose start is not looked for yet. */
  #pending = -1;
  readonly #looks = { left: looksMax };
  /** How often all was planned once more in this walk. */
  #again = 0;
  /** Set when a claim was made since they were planned: they are planned once more before anybody is tried. */
  #stale = false;
  /** How many of `#byStart` are shaded. */
  #shaded = 0;
  /** The start that would have been later for the job that was taken back last. */
  #delayedMs: number | null = null;

  /** `placed` is what the walk has placed, and grows. */
  constructor(state: State, placed: PlacedJobs) {
    const { mode, depth } = state.policy.backfill;
    this.#state = state;
    this.#placed = placed;
    this.strict = mode === 'strict';
    this.#depth = mode === 'skip' ? 0 : mode === 'conservative' ? depth : 1;
  }

  /** Whether any job gets a planned start in this mode. */
  get active(): boolean {
    return this.#depth > 0;
  }

  /** Whether a start is planned; asked after `binding`, which looks for what was not looked for yet. */
  get any(): boolean {
    return this.#planned.length > 0;
  }

  /** Whether another job that waits for room would get one. */
  get open(): boolean {
    return this.jobs.length < this.#depth;
  }

  /** What was found; looks for what was not looked for yet. */
  planned(): readonly Planned[] {
    this.unshade();
    this.#resolve();
    return this.#planned;
  }

  /** The job waits for room. False when it gets no planned start: enough have one, or more than ends is in its way. */
  plan(job: number, id: JobId): boolean {
    const { fleets, queue } = this.#state;
    if (!this.open || !fitsIdle(fleets, queue.entryOf(job).lane.shape)) return false;
    this.unshade();
    this.#resolve();
    this.#pending = this.jobs.length;
    this.jobs.push(job);
    this.#ids.push(id);
    return true;
  }

  /** How many reservations a job ending then would still meet; called before it is tried. */
  binding(endMs: number): number {
    if (this.#stale || this.#pending >= 0) {
      this.unshade();
      this.#resolve();
    }
    let binding = 0;
    while (binding < this.#byStart.length && this.#byStart[binding]!.start.startMs < endMs) binding++;
    return binding;
  }

  /** Whether the room of so many reservations is taken in the fleet, and of no others. */
  isShaded(binding: number): boolean {
    return this.#shaded === binding;
  }

  /** Takes what must stay free for the first reservations. */
  shade(binding: number): void {
    if (this.#shaded === binding) return;
    this.unshade();
    for (let i = 0; i < binding; i++) this.#byStart[i]!.slack.shade();
    this.#shaded = binding;
  }

  /** Whether a placement concerns one of the first reservations. */
  meets(placement: Placement, binding: number): boolean {
    for (let i = 0; i < binding; i++) if (this.#byStart[i]!.slack.meets(placement)) return true;
    return false;
  }

  /** Whether nodes of the first reservations may hold a task of the shape's only group beside them; asked without shade. */
  leaveRoomFor(shape: Shape, binding: number): boolean {
    for (let i = 0; i < binding; i++) if (this.#byStart[i]!.slack.leavesRoomFor(shape)) return true;
    return false;
  }

  /** Something was claimed, and the starts may be others now. */
  changed(): void {
    this.unshade();
    this.#stale = this.jobs.length > 0;
  }

  unshade(): void {
    for (let i = this.#shaded - 1; i >= 0; i--) this.#byStart[i]!.slack.unshade();
    this.#shaded = 0;
  }

  /**
   * The last job placed, whose places and use are taken, may stay unless a job with a planned start would start later for
   * it. Its places are beside all that is reserved; but where a gang chooses greedily the next plan could choose otherwise,
   * so that it is made once more to see, a few times in a walk. That is so even of one that would have ended by all of them: with
   * less room now such a gang may fit sooner, and then be in the way of the next. Asked only where any start is planned.
   */
  admitsLast(): boolean {
    const placed = this.#placed.last()!;
    const { project, user } = this.#state.queue.entryOf(placed.job).lane;
    let binding = 0;
    for (const { start, slack } of this.#byStart) {
      if (start.startMs >= placed.endMs) break;
      if (slack.isOver(project, user, placed.uses)) return false;
      binding++;
    }
    if (binding === 0 && this.#planned.length === 1) return true;
    if (!this.#isSteady()) return this.#staysWith(binding === 0);
    for (let i = 0; i < binding; i++) {
      const { slack } = this.#byStart[i]!;
      slack.takePlaced(placed.placement);
      slack.takeQuota(project, user, placed.uses);
    }
    return true;
  }

  /** Whether whoever leaves all that is reserved whole leaves it where it is. */
  #isSteady(): boolean {
    const isFound = this.#depth === 1 ? isPlain : isSteady;
    return this.#planned.every(({ job }) => isFound(this.#shapeOf(job)));
  }

  /** The starts that were looked for so far. */
  get startsMs(): readonly number[] {
    return this.#byStart.map(({ start }) => start.startMs);
  }

  /** The first start that a job ending then would still meet; of one that would meet none, the one that would be later for it. */
  keptFor(endMs: number): Kept {
    const binding = this.#byStart.find(({ start }) => start.startMs < endMs);
    const startMs = binding?.start.startMs ?? this.#delayedMs;
    invariant(startMs !== null, 'room is kept for a job that starts before others end, or would be later');
    return { startMs };
  }

  #resolve(): void {
    if (this.#stale) {
      this.#stale = false;
      this.#pending = -1;
      this.#planned = [];
      this.#byStart = [];
      for (const at of this.jobs.keys()) this.#seek(at);
    }
    if (this.#pending < 0) return;
    const at = this.#pending;
    this.#pending = -1;
    this.#seek(at);
  }

  #seek(at: number): void {
    const found = this.#find(this.jobs[at]!);
    if (found) this.#add({ ...found, id: this.#ids[at]! });
  }

  #shapeOf(job: number): Shape {
    return this.#state.queue.entryOf(job).lane.shape;
  }

  /**
   * Plans all of them anew, beside what was placed last. Where no more may be looked at, one that ends before they start stays
   * unseen, and nobody else.
   */
  #staysWith(endsBefore: boolean): boolean {
    if (++this.#again > againMax) return endsBefore;
    this.unshade();
    const [planned, byStart] = [this.#planned, this.#byStart];
    this.#planned = [];
    this.#byStart = [];
    for (const { job, id, start } of planned) {
      const found = this.#find(job);
      if (found && found.start.startMs <= start.startMs) {
        this.#add({ ...found, id });
        continue;
      }
      this.#planned = planned;
      this.#byStart = byStart;
      if (!found && this.#looks.left <= 0 && endsBefore) return true;
      this.#delayedMs = start.startMs;
      // The last one placed is taken back.
      this.#holdings.length = Math.min(this.#holdings.length, this.#placed.length - 1);
      return false;
    }
    return true;
  }

  #add(found: Planned): void {
    for (const { start, slack } of this.#planned)
      if (start.startMs >= found.start.startMs && start.startMs < found.holding.endMs) {
        const { project, user, uses } = found.holding;
        slack.take(found.holding);
        slack.takeQuota(project, user, uses);
      }
    this.#planned.push(found);
    const isOnly = this.#planned.length === 1;
    this.#byStart = isOnly ? [found] : this.#planned.toSorted((a, b) => a.start.startMs - b.start.startMs);
  }

  /**
   * The earliest end at which the job fits. One that fits wherever there is room is reserved on the nodes that have room
   * first; others where placing puts them then, and so are all where several are planned, because the next rests on where
   * the first will be.
   */
  #find(job: number): Found | null {
    if (this.#depth === 1 && isPlain(this.#shapeOf(job))) {
      const placedOn = new PlacedOn(this.#state, this.#placed);
      const found = planReady(this.#state, job, this.#placed, placedOn);
      if (found) return found;
    }
    const later = this.#planned.map(({ start, holding }) => ({ startMs: start.startMs, holding }));
    const future = new Future(this.#state, this.#looks, this.#allPlaced(), later);
    // What fits into some room fits into more: then ends can be leapt over. Not so for what chooses greedily, nor where
    // something starts between or domains have countable resources.
    const counted = this.#state.policy.topology.resources.length > 0;
    const leaps = later.length === 0 && !counted && !isGreedy(this.#shapeOf(job));
    const found = leaps ? this.#leap(future, job) : this.#look(future, job);
    future.goTo(0);
    return found;
  }

  #look(future: Future, job: number): Found | null {
    for (let step = 1; future.has(step); step++) {
      const found = this.#fitsAt(future, job, step);
      if (found) return found;
    }
    return null;
  }

  #leap(future: Future, job: number): Found | null {
    let vain = 0;
    let found: Found | null = null;
    let step = 1;
    for (let width = 1; ; width *= 2) {
      while (!future.has(step)) step = future.length;
      if (step <= vain) return null;
      found = this.#fitsAt(future, job, step);
      if (found) break;
      vain = step;
      step += width;
    }
    while (step - vain > 1) {
      const middle = (step + vain) >>> 1;
      const earlier = this.#fitsAt(future, job, middle);
      if (earlier) {
        found = earlier;
        step = middle;
      } else vain = middle;
    }
    return found;
  }

  #fitsAt(future: Future, job: number, step: number): Found | null {
    future.goTo(step);
    if (!future.endsAt(step)) return null;
    const { fleets, queue, jobs, projects } = this.#state;
    const { duration, lane } = queue.entryOf(job);
    const { shape, project, user } = lane;
    const startMs = future.timeOf(step);
    const endMs = startMs + duration.ms;
    const meets = this.#byStart.filter(({ start }) => start.startMs > startMs && start.startMs < endMs);
    for (const { slack } of meets) slack.shade();
    matchShape(shape, fleets.live.classes);
    const allows = (found: Placement): boolean =>
      overAt(project, user, projects.keys.placed(fleets.live, found)) === null;
    const placement = place(fleets.live, shape, jobs.avoid(job), { allows });
    for (let i = meets.length - 1; i >= 0; i--) meets[i]!.slack.unshade();
    if (!placement) return null;
    const uses = projects.keys.placed(fleets.live, placement);
    const isOver = meets.some(({ slack }) => slack.isOver(project, user, uses));
    let found: Found | null = null;
    if (!isOver) {
      const end = { endMs, assumed: duration.assumed, overdue: false };
      const holding = holdingOfPlacement(this.#state, job, placement, uses, end);
      projects.take(project, user, uses, 1);
      const beside = besideOf(fleets.live, [...slotsIn(holding)]);
      const left = beside.domains.map(({ resource, domain }) => fleets.live.resources.left(resource, domain));
      const slack = new Slack(fleets.live, beside, left, holding);
      projects.take(project, user, uses, -1);
      found = { job, start: { startMs, ...basisOf(future, step, holding) }, holding, slack };
    }
    undo(fleets.live, placement);
    return found;
  }

  #allPlaced(): readonly Holding[] {
    for (let i = this.#holdings.length; i < this.#placed.length; i++)
      this.#holdings.push(holdingOfPlaced(this.#state, this.#placed.get(i)));
    return this.#holdings;
  }
}

/** What the start rests on: runs on its places that are expected to end by then. */
function basisOf(future: Future, step: number, { tasks }: Holding): Omit<PlannedStart, 'startMs'> {
  const slots = new Set(tasks.map(({ slot }) => slot));
  const basis = { runs: 0, assumed: 0, overdue: 0 };
  for (const holding of future.ended(step)) {
    if (!holding.tasks.some(({ slot }) => slots.has(slot))) continue;
    basis.runs++;
    if (holding.assumed) basis.assumed++;
    if (holding.overdue) basis.overdue++;
  }
  return basis;
}
