// One walk over the queue in the order of order.ts, placing what fits and is within its ceilings. What it places stays taken,
// room and quota alike, until `undoPass`; a question walks the same way and stops where its job would stand.
import { place } from './fit.ts';
import type { Fleet } from './fleet.ts';
import { overAt } from './gates.ts';
import { giveBack, type Placement } from './ledger.ts';
import { releasePort } from './ports.ts';
import { Preemptions } from './preempt.ts';
import type { Lane } from './queue.ts';
import { type Ask, noAsk, type ResourceKeys } from './resource-keys.ts';
import { matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';
import { type Head, Turns } from './turns.ts';
import { fitsNow } from './verdict.ts';

export interface Placed {
  readonly job: number;
  readonly shape: Shape;
  readonly placement: Placement;
  readonly uses: Ask;
}

/** What jobs of a head used each, and how many of them were placed. */
export interface Taken {
  readonly lane: Lane;
  readonly uses: Ask;
  times: number;
}

export interface Pass {
  readonly placed: Placed[];
  /** The same by what they use of the quota of whom, so that it is given back in few steps. */
  readonly taken: Taken[];
  readonly preemptions: Preemptions;
  /** Shapes of which a job did not fit; of those, the ones that did not before anything was placed. */
  readonly failed: Set<Shape>;
  readonly unfit: Set<Shape>;
  readonly within: Within;
  /** Lanes of which a job would have been over a ceiling, with what it would have used: each alternative that had room. */
  readonly over: Map<Lane, readonly Ask[]>;
  /** Lanes that had no place or were over a ceiling as the walk began, and for which there were victims. */
  readonly wants: Map<Shape, Set<Lane>>;
}

/** Whether the places found for a job leave everybody within the ceilings; one for all jobs of a walk. */
class Within {
  /** What the job would use at the place that was asked about last. */
  uses: Ask = noAsk;
  /** What it would use where that is over a ceiling. */
  over: Ask[] = [];
  readonly #keys: ResourceKeys;
  readonly #fleet: Fleet;
  #lane: Lane | null = null;

  constructor({ projects, fleets }: State) {
    this.#keys = projects.keys;
    this.#fleet = fleets.live;
  }

  of(lane: Lane): this {
    this.#lane = lane;
    if (this.over.length > 0) this.over = [];
    return this;
  }

  allows(placement: Placement): boolean {
    const { project, user } = this.#lane!;
    this.uses = this.#keys.placed(this.#fleet, placement);
    if (overAt(project, user, this.uses) === null) return true;
    this.over.push(this.uses);
    return false;
  }
}

/** Says that the walk is over before this job is tried. */
export type Stop = (job: number, pass: Pass) => boolean;

/**
 * For a question nobody's run is stopped for the job `exempt`, so that the answer is whether it starts by itself; and only a
 * decision remembers what was looked for in vain.
 */
export function walk(state: State, stop: Stop, exempt = -1, remembers = false): Pass {
  const preemptions = new Preemptions(state, state.clockMs, exempt, remembers);
  const pass: Pass = {
    placed: [],
    taken: [],
    preemptions,
    failed: new Set(),
    unfit: new Set(),
    within: new Within(state),
    over: new Map(),
    wants: new Map(),
  };
  const turns = new Turns(state.queue);
  let left = lineUp(state, pass, turns);
  for (let head = left > 0 ? turns.next() : null; head; head = turns.next()) {
    if (stop(head.job, pass)) break;
    const { size } = pass.failed;
    if (tryHead(state, pass, head) === 'out') turns.dropped(head);
    else turns.passed(head);
    // With no shape left that could fit, everybody else is only waiting to be told so.
    if (pass.failed.size > size && !pass.wants.has(head.entry.lane.shape) && --left === 0) break;
  }
  return pass;
}

/**
 * Who is in line: lanes within their ceilings, of shapes that fit as things stand, or else with victims as things stand. Tells
 * how many shapes that are.
 */
function lineUp(state: State, pass: Pass, turns: Turns): number {
  const { queue, fleets } = state;
  let shapes = 0;
  for (const shape of queue.open) {
    // A shape alone need not be asked beforehand: when it does not fit, its first job will say so.
    if (queue.open.size > 1 && !fitsNow(fleets, shape)) {
      const wants = unfit(pass, shape);
      for (const lane of wants) turns.enter(lane);
      if (wants.size > 0) shapes++;
      continue;
    }
    shapes++;
    for (const lane of shape.lanes) {
      const within = overAt(lane.project, lane.user, shape.ask) === null;
      if (within || wants(pass, lane)) turns.enter(lane);
      else pass.over.set(lane, [shape.ask]);
    }
  }
  return shapes;
}

/** Nothing was taken and the shape does not fit: who of it has victims is in line, nobody else. */
function unfit(pass: Pass, shape: Shape): ReadonlySet<Lane> {
  pass.failed.add(shape);
  pass.unfit.add(shape);
  for (const lane of shape.lanes) wants(pass, lane);
  return pass.wants.get(shape) ?? nobody;
}

const nobody: ReadonlySet<Lane> = new Set();

/** Whether there are victims for the lane as things stand. Nothing was taken yet. */
function wants(pass: Pass, lane: Lane): boolean {
  if (!pass.preemptions.mayLane(lane)) return false;
  const lanes = pass.wants.get(lane.shape);
  if (lanes) lanes.add(lane);
  else pass.wants.set(lane.shape, new Set([lane]));
  return true;
}

/** What becomes of a job when its turn comes: it has a place, it steps aside for the next, or its whole lane is out of line. */
export type Outcome = 'has' | 'aside' | 'out';

function tryHead(state: State, pass: Pass, head: Head): Outcome {
  const { fleets, jobs, projects } = state;
  const { lane } = head;
  const { shape, project, user } = lane;
  if (overAt(project, user, head.ask) !== null) {
    const mayPreempt = pass.wants.get(shape)?.has(lane) === true;
    const outcome = mayPreempt ? pass.preemptions.try(head.job) : 'out';
    if (outcome === 'out') pass.over.set(lane, [head.ask]);
    return outcome;
  }
  matchShape(shape, fleets.live.classes);
  const avoid = jobs.avoid(head.job);
  const untouched = pass.placed.length === 0 && pass.preemptions.claims.length === 0;
  // What nodes a job avoids does not say whether it is in line: a shape alone was not asked about beforehand.
  const asked = avoid.length > 0 && untouched && !pass.failed.has(shape);
  const fits = asked ? fitsNow(fleets, shape) : !pass.failed.has(shape);
  const within = pass.within.of(lane);
  const placement = fits ? place(fleets.live, shape, avoid, within) : null;
  if (!placement) {
    if (within.over.length > 0) {
      pass.over.set(lane, within.over);
      return 'out';
    }
    if (!pass.failed.has(shape)) {
      if (untouched) unfit(pass, shape);
      else pass.failed.add(shape);
    }
    return pass.wants.get(shape)?.has(lane) ? pass.preemptions.try(head.job) : 'out';
  }
  // Of several alternatives the best is not always the one that was asked about last.
  const uses = shape.ranked.length > 1 ? projects.keys.placed(fleets.live, placement) : within.uses;
  projects.take(project, user, uses, 1);
  const { taken } = head;
  if (taken?.uses === uses) taken.times++;
  else {
    head.taken = { lane, uses, times: 1 };
    pass.taken.push(head.taken);
  }
  pass.placed.push({ job: head.job, shape, placement, uses });
  pass.preemptions.placed(head.job, placement, uses);
  return 'has';
}

export function undoPass(state: State, pass: Pass): void {
  const { projects, fleets } = state;
  pass.preemptions.undo();
  const { placed, taken } = pass;
  if (placed.length === 0) return;
  for (const { lane, uses, times } of taken) projects.take(lane.project, lane.user, uses, -times);
  for (let i = placed.length - 1; i >= 0; i--) {
    const { portSlot, port } = placed[i]!.placement;
    releasePort(fleets.live.ports[portSlot]!, port);
  }
  giveBack(fleets.live, placed[0]!.placement.from);
}
