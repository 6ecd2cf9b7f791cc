// Why a shape does not start now: it could never (impossible), or there is no room (waits). Made on the state as it is,
// before any plan; whether jobs ahead took the room in the same plan is for the caller to see (make-plan.ts).
import { type LackCount, type NoHardware, type Policy, passingLacks, type Verdict } from '@muster/model';
import { Attempt, type Progress } from './attempt.ts';
import { groupOrder, likeliest, place } from './fit.ts';
import type { Fleet } from './fleet.ts';
import { countLacks } from './lacks.ts';
import { holdsOne } from './latest.ts';
import { undo } from './ledger.ts';
import { nearestGang, nearestTask, unknownLevels } from './nearest.ts';
import { type Reason, reasonOf } from './reason.ts';
import { isOneTask, matchShape, type Shape } from './shape.ts';

/** The live fleet, and the same fleet empty, made when first asked for and kept while no node changes what it has. */
export class Fleets {
  readonly live: Fleet;
  #empty: Fleet | null = null;
  #idle: Fleet | null = null;

  constructor(live: Fleet) {
    this.live = live;
  }

  setPolicy(policy: Policy): void {
    this.live.setPolicy(policy);
    this.live.firstFit = policy.backfill.mode === 'conservative';
  }

  get empty(): Fleet {
    if (this.#empty?.existence !== this.live.existence) this.#empty = this.live.emptied();
    return this.#empty!;
  }

  /** The same without runs, but with nodes that are silent or draining as they are: what waiting alone can bring. */
  get idle(): Fleet {
    if (this.#idle?.standing !== this.live.standing) this.#idle = this.live.emptied(true);
    return this.#idle!;
  }
}

/** Whether the shape would fit if every run had ended; kept until a node comes, goes or changes. */
export function fitsIdle(fleets: Fleets, shape: Shape): boolean {
  matchShape(shape, fleets.live.classes);
  if (shape.idleAt !== fleets.live.standing) {
    shape.idleAt = fleets.live.standing;
    shape.fitsIdle = fits(fleets.idle, shape);
  }
  return shape.fitsIdle;
}

/** Whether the shape fits the fleet as it stands. Changes nothing. */
export function fitsNow(fleets: Fleets, shape: Shape): boolean {
  matchShape(shape, fleets.live.classes);
  return fits(fleets.live, shape);
}

/** Whether the shape could not even start on the empty fleet. */
export function fitsNever(fleets: Fleets, shape: Shape): boolean {
  matchShape(shape, fleets.live.classes);
  return whyNever(fleets, shape) !== null;
}

/** The reason why a shape that does not fit now does not. */
export function whyNot(fleets: Fleets, shape: Shape): Reason {
  matchShape(shape, fleets.live.classes);
  return whyNever(fleets, shape) ?? reasonOf(noRoom(fleets.live, shape));
}

/** The reason why a shape could not even start on the empty fleet; kept until a node changes what it has. */
function whyNever(fleets: Fleets, shape: Shape): Reason | null {
  if (shape.judgedAt === fleets.live.existence) return shape.impossible;
  shape.judgedAt = fleets.live.existence;
  shape.impossible = fits(fleets.empty, shape) ? null : reasonOf(impossible(fleets.empty, shape));
  return shape.impossible;
}

function fits(fleet: Fleet, shape: Shape): boolean {
  if (isOneTask(shape)) return holdsOne(fleet, shape);
  const placement = place(fleet, shape, []);
  if (placement) undo(fleet, placement);
  return placement !== null;
}

function noRoom(fleet: Fleet, shape: Shape): Verdict {
  const { group, tasks, tasksFit, nodes, lacks } = furthest(fleet, shape);
  return { kind: 'waits', reasons: [{ code: 'no-room', group, tasks, tasksFit, nodes, lacks }] };
}

function impossible(fleet: Fleet, shape: Shape): Verdict {
  const { combination: _, groupIndex, ...found } = furthest(fleet, shape);
  const levels = unknownLevels(fleet, shape);
  const code = levels.length > 0 ? 'no-node-fits' : impossibleCode(fleet, found.lacks);
  const nearest =
    code === 'gang-too-large'
      ? nearestGang(shape, found.tasksFit)
      : code === 'no-node-fits'
        ? nearestTask(fleet, shape, groupIndex)
        : [];
  return { kind: 'impossible', reasons: [{ code, ...found }], nearest };
}

/** On the empty fleet only the gang itself can make a node busy: where one is, a task could run. */
function impossibleCode(fleet: Fleet, lacks: readonly LackCount[]): NoHardware['code'] {
  if (fleet.existing === 0) return 'no-nodes';
  const busy = lacks.some(
    ({ lack }) => passingLacks.includes(lack) && lack !== 'ports-busy' && lack !== 'resource-busy',
  );
  return busy ? 'gang-too-large' : 'no-node-fits';
}

/** The combination that came furthest, the first of equals, and what nodes lack for the next task of it. */
export function furthest(fleet: Fleet, shape: Shape) {
  const best = furthestCombination(fleet, shape);
  const attempt = new Attempt(fleet, shape, likeliest(fleet, shape, best));
  const { group, tasksFit } = attempt.run(best, groupOrder(shape, best));
  const { from, to, port } = attempt.placement;
  const own = new Set<number>();
  for (let pick = from; pick < to; pick++) own.add(fleet.ledger.slot[pick]!);
  const needsPort = group === 0 && port < 0;
  const lacks = countLacks(fleet, { shape, group, needsPort, own });
  undo(fleet, attempt.placement);
  const { name, tasks } = shape.groups[group]!.demand;
  return { group: name, groupIndex: group, combination: best, tasks, tasksFit, nodes: fleet.existing, lacks };
}

function furthestCombination(fleet: Fleet, shape: Shape): readonly number[] {
  const { combinations } = shape;
  if (combinations.length === 1) return combinations[0]!;
  let best: readonly number[] = [];
  let bestProgress: Progress | null = null;
  for (const combination of combinations) {
    const attempt = new Attempt(fleet, shape, likeliest(fleet, shape, combination));
    const progress = attempt.run(combination, groupOrder(shape, combination));
    undo(fleet, attempt.placement);
    if (bestProgress && !isFurther(progress, bestProgress)) continue;
    best = combination;
    bestProgress = progress;
  }
  return best;
}

function isFurther(a: Progress, b: Progress): boolean {
  return a.placed > b.placed || (a.placed === b.placed && a.tasksFit > b.tasksFit);
}
