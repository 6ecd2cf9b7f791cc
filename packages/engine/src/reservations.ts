// Planned starts of one walk, and what is kept free for them (docs/decisions/0007-one-order-of-policies.md, section 6). The first
// jobs in the order that wait for room are given the earliest end of anything at which they fit; the places they get then are
// reserved. Whoever is tried later and would still run then is tried with the reserved room taken (slack.ts). All of it is
// worked out anew from the state in each walk, and nothing of it is state.
//
// The first planned start is looked for only when it matters: a job that ends before anything else does cannot be in its way.
import { invariant, type PlannedStart } from '@muster/model';
import { place } from './fit.ts';
import { Future } from './future.ts';
import { overAt } from './gates.ts';
import { changeHolding, type Holding, holdingOfPlacement } from './holding.ts';
import { undo } from './ledger.ts';
import type { Kept, Placed } from './pass.ts';
import { planReady } from './plan-ready.ts';
import { isGreedy, isPlain, matchShape, type Shape } from './shape.ts';
import { Slack } from './slack.ts';
import type { State } from './state.ts';
import { fitsIdle } from './verdict.ts';

export interface Planned {
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
  readonly #state: State;
  readonly #placed: readonly Placed[];
  readonly #depth: number;
  readonly #holdings = new Map<Placed, Holding>();
  /** In the order of the walk. */
  #planned: Planned[] = [];
  #byStart: Planned[] = [];
  /** A job whose start is not looked for yet, and a moment before which it certainly does not start. */
  #pending: { readonly job: number; readonly fromMs: number; readonly placed: number } | null = null;
  /** Set when a claim was made since they were planned: they are planned once more before anybody is tried. */
  #stale = false;
  #shaded = 0;
  #shades: (() => void)[] = [];

  /** `placed` is what the walk has placed, and grows. */
  constructor(state: State, placed: readonly Placed[]) {
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
  plan(job: number): boolean {
    const { fleets, queue } = this.#state;
    if (!this.open || !fitsIdle(fleets, queue.entryOf(job).lane.shape)) return false;
    if (this.#depth > 1) {
      this.unshade();
      this.#resolve();
    }
    this.jobs.push(job);
    if (this.#depth === 1) {
      this.#pending = { job, fromMs: this.#firstEndMs(), placed: this.#placed.length };
      return true;
    }
    const found = this.#find(job, 0);
    if (found) this.#add(found);
    return true;
  }

  /** Takes what must stay free for reservations that a job ending then would still meet. True when there are any. */
  shade(endMs: number): boolean {
    if (this.#stale || (this.#pending !== null && endMs > this.#pending.fromMs)) {
      this.unshade();
      this.#resolve();
    }
    let binding = 0;
    while (binding < this.#byStart.length && this.#byStart[binding]!.start.startMs < endMs) binding++;
    if (binding === this.#shaded) return binding > 0;
    this.unshade();
    for (const { slack } of this.#byStart.slice(0, binding)) this.#shades.push(slack.shade());
    this.#shaded = binding;
    return binding > 0;
  }

  /** Something was claimed, and the starts may be others now. */
  changed(): void {
    this.unshade();
    const job = this.#pending?.job;
    if (job !== undefined) this.#pending = { job, fromMs: this.#firstEndMs(), placed: this.#placed.length };
    else this.#stale = this.jobs.length > 0;
  }

  unshade(): void {
    for (let i = this.#shades.length - 1; i >= 0; i--) this.#shades[i]!();
    this.#shades = [];
    this.#shaded = 0;
  }

  /**
   * The last job placed, whose places and use are taken, may stay unless a job with a planned start would start later for
   * it. Its places are beside all that is reserved; but where several starts are planned, or a gang chooses greedily, the
   * next plan could choose otherwise, so that it is made once more to see.
   */
  admits(placed: Placed): boolean {
    if (this.#planned.length === 0) return true;
    const binding = this.#byStart.filter(({ start }) => start.startMs < placed.endMs);
    const { project, user } = this.#state.queue.entryOf(placed.job).lane;
    if (binding.some(({ slack }) => slack.isOver(project, user, placed.uses))) return false;
    if (this.#planned.length > 1) return this.#staysWith();
    if (binding.length === 0) return true;
    if (!isPlain(this.#shapeOf(this.#planned[0]!.job))) return this.#staysWith();
    const holding = this.#holdingOf(placed);
    for (const { slack } of binding) slack.take(holding);
    return true;
  }

  /** The first start that a job ending then would still meet. */
  keptFor(endMs: number): Kept {
    const binding = this.#byStart.find(({ start }) => start.startMs < endMs);
    invariant(binding, 'room is kept for a job that starts before others end');
    return { startMs: binding.start.startMs };
  }

  #resolve(): void {
    if (this.#stale) {
      this.#stale = false;
      this.#planned = [];
      this.#byStart = [];
      for (const job of this.jobs) {
        const found = this.#find(job, 0);
        if (found) this.#add(found);
      }
    }
    if (this.#pending === null) return;
    const { job, fromMs, placed } = this.#pending;
    this.#pending = null;
    const found = this.#find(job, fromMs, placed);
    if (found) this.#add(found);
  }

  #shapeOf(job: number): Shape {
    return this.#state.queue.entryOf(job).lane.shape;
  }

  /** Plans all of them anew, beside what was placed last. */
  #staysWith(): boolean {
    this.unshade();
    const [planned, byStart] = [this.#planned, this.#byStart];
    this.#planned = [];
    this.#byStart = [];
    for (const { job, start } of planned) {
      const found = this.#find(job, 0);
      if (found && found.start.startMs <= start.startMs) this.#add(found);
      else {
        this.#planned = planned;
        this.#byStart = byStart;
        return false;
      }
    }
    return true;
  }

  #add(found: Planned): void {
    for (const { start, slack } of this.#planned)
      if (start.startMs >= found.start.startMs && start.startMs < found.holding.endMs)
        slack.take(found.holding);
    this.#planned.push(found);
    this.#byStart = this.#planned.toSorted((a, b) => a.start.startMs - b.start.startMs);
  }

  /**
   * The earliest end at which the job fits, from a moment on. What was placed after its turn came ends before it starts.
   * One that fits wherever there is room is reserved on the nodes that have room first; others where placing puts them
   * then, and so are all where several are planned, because the next rests on where the first will be.
   */
  #find(job: number, fromMs: number, placedBefore = this.#placed.length): Planned | null {
    if (this.#depth === 1 && isPlain(this.#shapeOf(job))) {
      const found = this.#findReady(job, placedBefore);
      if (found) return found;
    }
    const later = this.#planned.map(({ start, holding }) => ({ startMs: start.startMs, holding }));
    const future = new Future(this.#state, this.#allPlaced(), later);
    let first = 1;
    while (future.has(first) && future.timeOf(first) < fromMs) first++;
    // What fits into some room fits into more: then ends can be leapt over. Not so for what chooses greedily, nor where
    // something starts between or domains have countable resources.
    const counted = this.#state.policy.topology.resources.length > 0;
    const leaps = later.length === 0 && !counted && !isGreedy(this.#shapeOf(job));
    const found = leaps ? this.#leap(future, job, first) : this.#look(future, job, first);
    future.goTo(0);
    return found;
  }

  #findReady(job: number, placedBefore: number): Planned | null {
    const after = this.#placed.slice(placedBefore).map((placed) => this.#holdingOf(placed));
    for (const holding of after) changeHolding(this.#state, holding, -1);
    const before = this.#placed.slice(0, placedBefore).map((placed) => this.#holdingOf(placed));
    const found = planReady(this.#state, job, before);
    for (const holding of after.reverse()) changeHolding(this.#state, holding, 1);
    return found;
  }

  #look(future: Future, job: number, first: number): Planned | null {
    for (let step = first; future.has(step); step++) {
      const found = this.#fitsAt(future, job, step);
      if (found) return found;
    }
    return null;
  }

  #leap(future: Future, job: number, first: number): Planned | null {
    let vain = first - 1;
    let found: Planned | null = null;
    let step = first;
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

  #fitsAt(future: Future, job: number, step: number): Planned | null {
    future.goTo(step);
    if (!future.endsAt(step)) return null;
    const { fleets, queue, jobs, projects } = this.#state;
    const { duration, lane } = queue.entryOf(job);
    const { shape, project, user } = lane;
    const startMs = future.timeOf(step);
    const endMs = startMs + duration.ms;
    const meets = this.#byStart.filter(({ start }) => start.startMs > startMs && start.startMs < endMs);
    const shades = meets.map(({ slack }) => slack.shade());
    matchShape(shape, fleets.live.classes);
    const placement = place(fleets.live, shape, jobs.avoid(job));
    for (let i = shades.length - 1; i >= 0; i--) shades[i]!();
    if (!placement) return null;
    const uses = projects.keys.placed(fleets.live, placement);
    const isOver =
      overAt(project, user, uses) !== null || meets.some(({ slack }) => slack.isOver(project, user, uses));
    let found: Planned | null = null;
    if (!isOver) {
      const end = { endMs, assumed: duration.assumed, overdue: false };
      const holding = holdingOfPlacement(this.#state, job, placement, uses, end);
      projects.take(project, user, uses, 1);
      const slack = new Slack(fleets.live, holding);
      projects.take(project, user, uses, -1);
      found = { job, start: { startMs, ...basisOf(future, step, holding) }, holding, slack };
    }
    undo(fleets.live, placement);
    return found;
  }

  #firstEndMs(): number {
    let firstMs = this.#state.ends.firstMs() ?? Number.MAX_SAFE_INTEGER;
    for (const { endMs } of this.#placed) firstMs = Math.min(firstMs, endMs);
    return firstMs;
  }

  #allPlaced(): readonly Holding[] {
    return this.#placed.map((placed) => this.#holdingOf(placed));
  }

  #holdingOf(placed: Placed): Holding {
    let holding = this.#holdings.get(placed);
    if (!holding) {
      const { job, placement, uses, endMs } = placed;
      const { assumed } = this.#state.queue.entryOf(job).duration;
      holding = holdingOfPlacement(this.#state, job, placement, uses, { endMs, assumed, overdue: false });
      this.#holdings.set(placed, holding);
    }
    return holding;
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
