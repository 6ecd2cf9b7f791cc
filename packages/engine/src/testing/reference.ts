// The naive engine: what `decide` should do, worked out from rows alone, by trying everything in the order of order.ts.
// It keeps nothing, indexes nothing and skips nothing that it need not, so that it can be checked by reading it. The fast
// engine must agree with it, unit by unit, on small worlds.
import {
  canonicalJson,
  type EngineRows,
  entryHead,
  type JobId,
  leastUses,
  type PlanUnit,
  type RunId,
} from '@muster/model';
import { ReferenceFuture } from './reference-backfill.ts';
import { baseOf, settle, withClaim, withRun } from './reference-claims.ts';
import { boxesOf, type JobRow, placeJob, type Unit } from './reference-place.ts';
import { mightPreempt, preemptFor } from './reference-preempt.ts';
import { ReferenceTenancy } from './reference-tenancy.ts';

/** A unit without what only the store needs. */
export type Bare =
  | Unit
  | Omit<Extract<PlanUnit, { kind: 'preempt' }>, 'nodeGenerations'>
  | Extract<PlanUnit, { kind: 'release' }>;

export function referenceUnits(rows: EngineRows, nowMs: number): Bare[] {
  const { starts, preempts } = walk(rows, nowMs, () => false);
  return [...rows.jobs.toSorted(byId).flatMap((row) => settle(rows, row)), ...starts, ...preempts];
}

/** Who has a planned start, and when. */
export function referencePlanned(rows: EngineRows, nowMs: number): { job: JobId; startMs: number }[] {
  const { future } = walk(rows, nowMs, ({ open }) => !open);
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
  /** By shape: jobs that run this long or longer find only room that is kept. */
  const keptFromMs = new Map<string, number>();
  let line = waiting().filter((row) => !tenancy.isOver(row, leastUses(row.demand)));
  while (line.length > 0 && !stop(future)) {
    const isGone = leavesWith(tenancy.next(line));
    line = line.filter((other) => !isGone(other));
  }
  return { starts, preempts, future };

  /** Jobs with room now, those that may make some, and all where starts are planned. */
  function waiting(): JobRow[] {
    const boxes = boxesOf(rows);
    const queued = rows.jobs.filter(
      ({ state }) => state.state === 'queued' && state.notBeforeMs <= nowMs && state.claim === null,
    );
    for (const [shape, [row]] of Map.groupBy(queued, shapeOf))
      if (!placeJob(boxes, row!, rows.policy)) failedShapes.add(shape);
    return queued.filter((row) => {
      if (future.active || !failedShapes.has(shapeOf(row))) return true;
      const lane = queued.filter((other) => laneOf(other) === laneOf(row));
      return rows.runs.length > 0 && lane.some((other) => mightPreempt(rows, other));
    });
  }

  /** Tries the job, and says who leaves the line with it. */
  function leavesWith(row: JobRow): (other: JobRow) => boolean {
    const alone = (other: JobRow): boolean => other === row;
    const itsEntry = (other: JobRow): boolean =>
      entryOf(other) === entryOf(row) && tenancy.isStarved(other) === tenancy.isStarved(row);
    const itsLane = (other: JobRow): boolean => laneOf(other) === laneOf(row);
    if (rows.policy.backfill.mode === 'strict' && !future.open) return itsLane;
    if (tenancy.isOver(row, leastUses(row.demand))) return itsLane;
    if (!failedShapes.has(shapeOf(row))) {
      const tried = tryJob(row);
      if (tried === 'placed') return alone;
      if (tried === 'over') return itsLane;
      if (tried === 'kept') return future.plan(row) ? alone : itsEntry;
      failedShapes.add(shapeOf(row));
    }
    if (tryPreempting(row)) return alone;
    return future.open && future.plan(row) && future.open ? alone : itsLane;
  }

  function tryJob(row: JobRow): 'placed' | 'over' | 'kept' | 'no-room' {
    const ms = future.duration(row);
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
    const claim = preemptFor(world, row, nowMs, fresh);
    if (!claim || claim.victims.length === 0 || tenancy.isOver(row, claim.uses)) return false;
    preempts.push({ kind: 'preempt', ...baseOf(row), claim });
    world = withClaim(world, row, claim);
    tenancy.start(row, claim.uses);
    future.claim(row, claim);
    return true;
  }
}

const shapeOf = (row: JobRow): string => canonicalJson(row.demand);
const laneOf = (row: JobRow): string => canonicalJson([row.project, row.user, row.demand]);
const entryOf = (row: JobRow): string => canonicalJson([entryHead(row), row.demand]);

function byId(a: JobRow, b: JobRow): number {
  return a.job < b.job ? -1 : 1;
}
