// The naive engine: what `decide` should do, worked out from rows alone, by trying everything in the order of order.ts.
// It keeps nothing, indexes nothing and skips nothing that it need not, so that it can be checked by reading it. The fast
// engine must agree with it, unit by unit, on small worlds.
import {
  canonicalJson,
  type EngineRows,
  entryHead,
  type JobDemand,
  type JobId,
  leastUses,
  type PlanUnit,
  type RunId,
} from '@muster/model';
import { isFull, withMembers } from './reference-arrays.ts';
import { ReferenceFuture } from './reference-backfill.ts';
import { baseOf, isStuck, settle, withClaim, withRun } from './reference-claims.ts';
import { boxesOf, type JobRow, placeJob, type Unit } from './reference-place.ts';
import { hasVictims, isClaimOver, isCooling, mayMove, moveFor, preemptFor } from './reference-preempt.ts';
import { mayStopLonger } from './reference-rights.ts';
import { ReferenceTenancy } from './reference-tenancy.ts';

/** A unit without what only the store needs. */
export type Bare =
  | Unit
  | Omit<Extract<PlanUnit, { kind: 'preempt' }>, 'nodeGenerations'>
  | Extract<PlanUnit, { kind: 'release' }>;

/** A unit without what only the store needs, and without words. */
export function bare(unit: object): object {
  const { nodeGenerations: _, reason: __, ...rest } = unit as { nodeGenerations?: unknown; reason?: unknown };
  return rest;
}

export function referenceUnits(from: EngineRows, nowMs: number): Bare[] {
  const rows = withMembers(from);
  const { starts, preempts, giveUps } = walk(rows, nowMs, () => false);
  const settled = rows.jobs.toSorted(byId).flatMap((row) => settle(rows, row));
  return [...settled, ...starts, ...preempts, ...giveUps()];
}

/** Who has a planned start, and when. */
export function referencePlanned(rows: EngineRows, nowMs: number): { job: JobId; startMs: number }[] {
  const { future } = walk(withMembers(rows), nowMs, ({ open }) => !open);
  return future.planned.map(({ row, startMs }) => ({ job: row.job, startMs }));
}

function walk(rows: EngineRows, nowMs: number, stop: (future: ReferenceFuture) => boolean) {
  const tenancy = new ReferenceTenancy(rows, nowMs);
  const future = new ReferenceFuture(rows, nowMs);
  const starts: Unit[] = [];
  const preempts: Bare[] = [];
  // What was decided so far is part of the world for those who come after; what starts now is nobody's victim.
  let world = rows;
  const fresh = new Set<RunId>();
  const failedShapes = new Set<string>();
  /** Lanes that may look for victims: they did not fit or were over a ceiling as the walk began, and there were victims then. */
  const wanting = new Set<string>();
  /** Tier ranks and shapes for which runs would have moved as the walk began. */
  const moving = new Set<string>();
  /** By shape: jobs that run this long or longer find only room that is kept. */
  const keptFromMs = new Map<string, number>();
  let line = waiting();
  while (line.length > 0 && !stop(future)) {
    const isGone = leavesWith(tenancy.next(line));
    line = line.filter((other) => !isGone(other) && !isFull(world, other));
  }
  return { starts, preempts, future, giveUps: () => rows.jobs.toSorted(byId).flatMap(giveUp) };

  /** A claim that is stuck, when its job would have a place in the room that is left. */
  function giveUp(row: JobRow): Bare[] {
    const placed = isStuck(rows, row) ? placeJob(boxesOf(world), row, rows.policy) : null;
    if (!placed) return [];
    world = withRun(world, placed.unit, nowMs);
    return [{ kind: 'release', ...baseOf(row), reason: { code: 'claim-lost', message: '' } }];
  }

  /** Jobs with room now, those that may make some, and all where starts are planned. */
  function waiting(): JobRow[] {
    const boxes = boxesOf(rows);
    const queued = rows.jobs.filter(
      (row) =>
        row.state.state === 'queued' &&
        row.state.notBeforeMs <= nowMs &&
        row.state.claim === null &&
        !isFull(rows, row),
    );
    const inLine: JobRow[] = [];
    for (const lane of Map.groupBy(queued, laneOf).values()) {
      // What is said of one is said of all, whatever nodes each had better avoid.
      const [row] = lane as [JobRow];
      const fits = placeJob(boxes, { ...row, state: { ...row.state, avoid: [] } }, rows.policy) !== null;
      const isOver = tenancy.isOver(row, leastUses(row.demand));
      if (!fits) failedShapes.add(shapeOf(row));
      const isServed = fits && !isOver;
      const moves = !isServed && !isOver && laneMoves(lane);
      if (!isServed && (moves || laneHasVictims(lane))) wanting.add(laneOf(row));
      const mayWait = (each: JobRow): boolean => future.active && !isOver && future.fitsIdle(each);
      inLine.push(...lane.filter((each) => isServed || wanting.has(laneOf(row)) || mayWait(each)));
    }
    return inLine;
  }

  /** Whether runs would move out of the way of one of the lane; they do for all of its kind. */
  function laneMoves(lane: readonly JobRow[]): boolean {
    const kinds = Map.groupBy(lane, kindOf);
    for (const [kind, [row]] of kinds) if (!moving.has(kind) && mayMove(rows, row!, nowMs)) moving.add(kind);
    return [...kinds.keys()].some((kind) => moving.has(kind));
  }

  function kindOf(row: JobRow): string {
    return `${rows.policy.tiers.find(({ name }) => name === row.tier)?.rank} ${shapeOf(row)}`;
  }

  /** Jobs of one entry that avoid the same nodes and have done as much of their work have the same victims. */
  function laneHasVictims(lane: readonly JobRow[]): boolean {
    const alike = Map.groupBy(lane, (row) => `${entryOf(row)} ${row.state.avoid} ${row.state.savedMs}`);
    return [...alike.values()].some(([row]) => hasVictims(rows, row!, nowMs));
  }

  /** Tries the job, and says who leaves the line with it. */
  function leavesWith(row: JobRow): (other: JobRow) => boolean {
    const alone = (other: JobRow): boolean => other === row;
    const itsEntry = (other: JobRow): boolean =>
      entryOf(other) === entryOf(row) && tenancy.isStarved(other) === tenancy.isStarved(row);
    const itsLane = (other: JobRow): boolean => laneOf(other) === laneOf(row);
    if (rows.policy.backfill.mode === 'strict' && !future.open) return itsLane;
    // One that is cooling would not look for victims, and steps aside for the next.
    const aside = wanting.has(laneOf(row)) && isCooling(rows, row, nowMs);
    if (tenancy.isOver(row, leastUses(row.demand))) {
      const found = wanting.has(laneOf(row)) && tryPreempting(row);
      return found || aside ? alone : itsLane;
    }
    if (!failedShapes.has(shapeOf(row))) {
      const tried = tryJob(row);
      if (tried === 'placed') return alone;
      if (tried === 'over') return itsLane;
      if (tried === 'kept') return future.plan(row) ? alone : itsEntry;
      failedShapes.add(shapeOf(row));
    }
    if (wanting.has(laneOf(row)) && tryPreempting(row)) return alone;
    const planned = future.open && future.plan(row);
    if (aside || (planned && future.open)) return alone;
    // The next of its lane may be expected to be shorter.
    return wanting.has(laneOf(row)) && mayStopLonger(rows) ? itsEntry : itsLane;
  }

  function tryJob(row: JobRow): 'placed' | 'over' | 'kept' | 'no-room' {
    const ms = future.likely(row);
    if ((keptFromMs.get(shapeOf(row)) ?? Number.POSITIVE_INFINITY) <= ms) return 'kept';
    const unit = future.place(row);
    if (unit === 'no-room' || unit === 'over') return unit;
    if (unit === 'kept') {
      keptFromMs.set(shapeOf(row), ms);
      return unit;
    }
    if (unit === 'quota-kept' || !future.admits(row, unit)) return 'kept';
    starts.push(unit);
    fresh.add(unit.run);
    world = withRun(world, unit, nowMs);
    tenancy.start(row, unit.uses);
    future.start(row, unit);
    return 'placed';
  }

  function tryPreempting(row: JobRow): boolean {
    const moved = moving.has(kindOf(row)) ? moveFor(world, row, nowMs, fresh) : null;
    const claim = moved ?? preemptFor(world, row, nowMs, fresh);
    if (!claim || claim.victims.length === 0 || isClaimOver(world, row, claim, nowMs)) return false;
    preempts.push({ kind: 'preempt', ...baseOf(row), claim });
    world = withClaim(world, row, claim);
    tenancy.start(row, claim.uses);
    future.claim(row, claim);
    return true;
  }
}

const shapeOf = (row: JobRow): string => textOf(row.demand);
const laneOf = (row: JobRow): string => `${canonicalJson([row.project, row.user])} ${textOf(row.demand)}`;
const entryOf = (row: JobRow): string => `${canonicalJson(entryHead(row))} ${textOf(row.demand)}`;

/** One text for one demand; most are asked for many times. */
const texts = new WeakMap<JobDemand, string>();

function textOf(demand: JobDemand): string {
  const text = texts.get(demand) ?? canonicalJson(demand);
  texts.set(demand, text);
  return text;
}

function byId(a: JobRow, b: JobRow): number {
  return a.job < b.job ? -1 : 1;
}
