// The state as it would be after one change, for questions: each function changes it and returns what puts everything back,
// what was told and tried in vain included. Whoever asks calls that before anything else happens.
import type { LiveRun, Quota } from '@muster/model';
import type { Gate, Lane } from './entry.ts';
import { isUserOver, overAt } from './gates.ts';
import { Members } from './members.ts';
import { isFull } from './pool.ts';
import { releasePort, takePort } from './ports.ts';
import { Preemptions } from './preempt.ts';
import type { Project } from './projects.ts';
import type { Reason } from './reason.ts';
import { QuotaRights } from './rights.ts';
import { isGreedy, matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';
import { TierBook } from './tier-book.ts';
import { fitsNow } from './verdict.ts';

export type PutBack = () => void;

/** Everything is tried that is tried whenever anything is. */
export function supposeTrying(state: State): PutBack {
  const hopes = new Hopes(state);
  for (const shape of state.queue.shapes.all()) if (shape.stalled) hopes.shape(shape);
  return () => hopes.putBack();
}

/**
 * What a decision finds out first is found out once for all that a question tries: shapes that do not fit and of which nobody has
 * victims are known not to fit, as after a decision. So they are lined up only to wait.
 */
export function supposeJudged(state: State): PutBack {
  const { queue, fleets, jobs, clockMs } = state;
  const judged: { readonly shape: Shape; readonly stalled: boolean }[] = [];
  const preemptions = new Preemptions(state, clockMs, new Members(jobs));
  for (const shape of [...queue.open]) {
    if (fitsNow(fleets, shape)) continue;
    let any = false;
    // Who is over a ceiling does not look for victims, and will when the question is about that ceiling.
    for (const lane of shape.lanes)
      any ||= preemptions.mayLane(lane) || overAt(lane.project, lane.user, shape.ask) !== null;
    if (any) continue;
    judged.push({ shape, stalled: shape.stalled });
    shape.blocked = untold;
    queue.open.delete(shape);
  }
  return () => {
    for (const { shape, stalled } of judged.reverse()) {
      shape.blocked = null;
      shape.stalled = stalled;
      if (shape.lanes.size > 0) queue.open.add(shape);
    }
  };
}

/** Nobody is told it. */
const untold: Reason = { binding: '', verdict: { kind: 'waits', reasons: [] } };

/** The run has ended, and its job with it. */
export function supposeEnded(state: State, run: LiveRun): PutBack {
  const { projects, queue, jobs, ends, table } = state;
  const job = jobs.slotOf(run.job);
  const { lane, duration } = queue.entryOf(job);
  const { project, user, shape } = lane;
  const others = supposeIn(state, job);
  const ask = projects.keys.ask(run.uses);
  const mixMoved = queue.mix.moved;
  queue.mix.add(shape.mix, -1);
  const slot = table.slotOf(run.run);
  const moved = (node: number): void => state.fleets.live.moved(node);
  ends.remove(slot);
  table.tellNodes(slot, moved);
  changeRun(state, run, -1);
  state.claims.suppose(state.fleets.live, run, -1);
  table.gone[slot] = 1;
  projects.take(project, user, ask, -1);
  const hopes = new Hopes(state);
  hopes.shapes(classesOf(state, run));
  for (let at: Project | null = project; at !== null; at = at.parent)
    for (const lane of queue.gatedAt(at)) hopes.lane(lane);
  return () => {
    hopes.putBack();
    others();
    queue.mix.add(shape.mix, 1);
    queue.mix.moved = mixMoved;
    projects.take(project, user, ask, 1);
    table.gone[slot] = 0;
    state.claims.suppose(state.fleets.live, run, 1);
    changeRun(state, run, 1);
    ends.add(slot, duration, state.clockMs);
    table.tellNodes(slot, moved);
  };
}

/** A member is no longer out: another of its array may stand in line in its place. */
function supposeIn({ jobs, queue, clockMs }: State, job: number): PutBack {
  const pool = jobs.poolOf(job);
  if (!pool) return () => {};
  const { shape } = queue.entryOf(pool.slot).lane;
  const open = queue.open.has(shape);
  const parked = isFull(pool) && jobs.heldBy(pool.slot) === null;
  const slots = parked ? [...pool.again, ...(pool.count > 0 ? [pool.slot] : [])] : [];
  const putBackEmptied = queue.supposeEmptied();
  pool.out--;
  for (const slot of slots) queue.queue(slot, clockMs);
  return () => {
    for (const slot of slots) queue.park(slot);
    putBackEmptied();
    pool.out++;
    if (open) queue.open.add(shape);
    else queue.open.delete(shape);
  };
}

export interface CeilingAt {
  readonly project: Project;
  /** Whether it is the one of each user. */
  readonly ofUser: boolean;
  readonly key: string;
}

/** A ceiling is another. */
export function supposeCeiling(state: State, { project, ofUser, key }: CeilingAt, to: number): PutBack {
  const { projects, queue } = state;
  const { quota } = project;
  const which = ofUser ? 'userCeiling' : 'ceiling';
  const other: Quota = { ...quota!, [which]: { ...quota![which], [key]: to } };
  const put = (next: Quota | null): void => {
    project.quota = next;
    projects.stale = true;
    projects.settle();
  };
  put(other);
  const hopes = new Hopes(state);
  for (const lane of [...queue.gatedLanes()]) hopes.lane(lane);
  return () => {
    put(quota);
    hopes.putBack();
  };
}

function changeRun(state: State, run: LiveRun, sign: 1 | -1): void {
  const fleet = state.fleets.live;
  const ports = fleet.ports[fleet.slotOf(run.tasks.find((task) => task.rank === 0)!.node)]!;
  if (sign === 1) takePort(ports, run.port);
  else releasePort(ports, run.port);
  const slots = new Set<number>();
  for (const task of run.tasks) {
    const slot = fleet.slotOf(task.node);
    const position = fleet.begin(slot);
    fleet.changeTask(sign, slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
    fleet.end(slot, position);
    slots.add(slot);
  }
  for (const slot of slots) {
    // A node that is to go with its last run gives nothing to anybody, and must not go for a question.
    if (fleet.facts[slot]!.state === 'removed') continue;
    if (sign === 1) fleet.enterRun(slot, run.exclusive);
    else fleet.leaveRun(slot);
  }
}

/** Classes that the end of a run could help; null: any, because of what domains have in common. */
function classesOf({ fleets }: State, run: LiveRun): ReadonlySet<number> | null {
  const { live } = fleets;
  if (live.resources.list.length > 0) return null;
  return new Set(run.tasks.map((task) => live.classOf[live.slotOf(task.node)]!));
}

function usesClasses(shape: Shape, classes: ReadonlySet<number> | null): boolean {
  return (
    classes === null ||
    shape.groups.some(({ options }) =>
      options.some(({ fits }) => fits.some(({ classId }) => classes.has(classId))),
    )
  );
}

/** Shapes and lanes that stand in line again because of a change, and how they were before it. */
class Hopes {
  readonly #state: State;
  readonly #shapes: {
    readonly shape: Shape;
    readonly blocked: Reason | null;
    readonly stalled: boolean;
  }[] = [];
  readonly #lanes: { readonly lane: Lane; readonly gate: Gate }[] = [];
  /** Which of them were open. */
  readonly #open = new Map<Shape, boolean>();
  #rights: QuotaRights | null = null;

  constructor(state: State) {
    this.#state = state;
  }

  /** Those that could use the classes, and those that more room anywhere could help. */
  shapes(classes: ReadonlySet<number> | null): void {
    const { queue, fleets } = this.#state;
    for (const shape of queue.shapes.all()) {
      if (shape.blocked === null) continue;
      matchShape(shape, fleets.live.classes);
      if (isGreedy(shape) || usesClasses(shape, classes)) this.shape(shape);
    }
  }

  shape(shape: Shape): void {
    const { queue } = this.#state;
    const { blocked, stalled } = shape;
    this.#note(shape);
    this.#shapes.push({ shape, blocked, stalled });
    queue.reopen(shape);
  }

  /**
   * Out of its gate, unless its ceiling still keeps it out and no victim could ease that. Who may stop others looks for them again
   * though its shape is known not to fit: while the ceiling was in its way it did not.
   */
  lane(lane: Lane): void {
    const { queue } = this.#state;
    const { shape } = lane;
    const gate = lane.gated!;
    const isOver = overAt(lane.project, lane.user, shape.ask) !== null;
    const preempts = this.#mayStop(lane);
    if (isOver && !preempts) return;
    this.#note(shape);
    this.#lanes.push({ lane, gate });
    queue.ungate(lane);
    if (preempts && shape.blocked !== null) this.shape(shape);
  }

  /** Whether somebody of the lane has a right to any run, and no ceiling of its user is in the way. */
  #mayStop(lane: Lane): boolean {
    const { queue, table } = this.#state;
    if (table.size === 0 || isUserOver(lane.project, lane.user, lane.shape.ask)) return false;
    this.#rights ??= new QuotaRights(this.#state, new TierBook(this.#state));
    return queue.waitingIn(lane).some((entry) => this.#rights!.reach(entry) !== '');
  }

  putBack(): void {
    const { queue } = this.#state;
    // Lanes that came out opened their shape, and a shape that was opened stands open without them: open as before the first change.
    for (const { lane, gate } of this.#lanes.reverse()) queue.gate(lane, gate);
    for (const { shape, blocked, stalled } of this.#shapes.reverse()) {
      shape.blocked = blocked;
      shape.stalled = stalled;
    }
    for (const [shape, open] of this.#open) {
      if (open) queue.open.add(shape);
      else queue.open.delete(shape);
    }
  }

  #note(shape: Shape): void {
    if (!this.#open.has(shape)) this.#open.set(shape, this.#state.queue.open.has(shape));
  }
}
