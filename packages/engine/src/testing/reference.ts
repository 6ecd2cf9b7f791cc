// The naive engine: what `decide` should do, worked out from rows alone, by trying everything in the order of order.ts.
// It keeps nothing, indexes nothing and skips nothing that it need not, so that it can be checked by reading it. The fast
// engine must agree with it, unit by unit, on small worlds.
import {
  canonicalJson,
  type EngineRows,
  leastUses,
  type PlanUnit,
  type RunId,
  type Uses,
} from '@muster/model';
import { baseOf, isStuck, settle, withClaim, withRun } from './reference-claims.ts';
import { boxesOf, type JobRow, placeJob, type Unit } from './reference-place.ts';
import { hasVictims, isClaimOver, isCooling, preemptFor } from './reference-preempt.ts';
import { ReferenceTenancy } from './reference-tenancy.ts';

/** A unit without what only the store needs. */
export type Bare =
  | Unit
  | Omit<Extract<PlanUnit, { kind: 'preempt' }>, 'nodeGenerations'>
  | Extract<PlanUnit, { kind: 'release' }>;

export function referenceUnits(rows: EngineRows, nowMs: number): Bare[] {
  const tenancy = new ReferenceTenancy(rows, nowMs);
  const starts: Unit[] = [];
  const preempts: Bare[] = [];
  // What was decided so far is part of the world for those who come after; what starts now is nobody's victim.
  let world = rows;
  const fresh = new Set<RunId>();
  const failedShapes = new Set<string>();
  /** Lanes that may look for victims: they did not fit or were over a ceiling as the walk began, and there were victims then. */
  const wanting = new Set<string>();
  const shapeOf = (row: JobRow): string => canonicalJson(row.demand);
  const laneOf = (row: JobRow): string => canonicalJson([row.project, row.user, row.demand]);
  let line = waiting();
  while (line.length > 0) {
    const row = tenancy.next(line);
    // One that is cooling would not look for victims, and steps aside for the next.
    const aside = wanting.has(laneOf(row)) && isCooling(rows, row, nowMs);
    if (tryJob(row) || aside) line = line.filter((other) => other !== row);
    else line = line.filter((other) => laneOf(other) !== laneOf(row));
  }
  const settled = rows.jobs.toSorted(byId).flatMap((row) => settle(rows, row));
  return [...settled, ...starts, ...preempts, ...rows.jobs.toSorted(byId).flatMap(giveUp)];

  /** A claim that is stuck, when its job would have a place in the room that is left. */
  function giveUp(row: JobRow): Bare[] {
    const placed = isStuck(rows, row) ? placeJob(boxesOf(world), row, rows.policy) : null;
    if (!placed) return [];
    world = withRun(world, placed.unit);
    return [{ kind: 'release', ...baseOf(row), reason: { code: 'claim-lost', message: '' } }];
  }

  /** Jobs with room now, and those that may make some. */
  function waiting(): JobRow[] {
    const boxes = boxesOf(rows);
    const queued = rows.jobs.filter(
      ({ state }) => state.state === 'queued' && state.notBeforeMs <= nowMs && state.claim === null,
    );
    const isOver = (row: JobRow): boolean => tenancy.isOver(row, leastUses(row.demand));
    const inLine: JobRow[] = [];
    for (const lane of Map.groupBy(queued, laneOf).values()) {
      // What is said of one is said of all, whatever nodes each had better avoid.
      const anywhere = (row: JobRow): JobRow => ({ ...row, state: { ...row.state, avoid: [] } });
      const fits = lane.filter((row) => placeJob(boxes, anywhere(row), rows.policy) !== null);
      for (const row of lane) if (!fits.includes(row)) failedShapes.add(shapeOf(row));
      const without = lane.filter((row) => isOver(row) || !fits.includes(row));
      if (without.length > 0 && lane.some((row) => hasVictims(rows, row, nowMs)))
        wanting.add(laneOf(lane[0]!));
      inLine.push(...lane.filter((row) => !without.includes(row) || wanting.has(laneOf(row))));
    }
    return inLine;
  }

  function tryJob(row: JobRow): boolean {
    const boxes = boxesOf(world);
    const isOver = tenancy.isOver(row, leastUses(row.demand));
    const fits = !isOver && !failedShapes.has(shapeOf(row)) && placeJob(boxes, row, rows.policy) !== null;
    // An alternative that would be over a ceiling is passed over.
    const within = (uses: Uses): boolean => !tenancy.isOver(row, uses);
    const placed = fits ? placeJob(boxes, row, rows.policy, within) : null;
    if (fits && !placed) return false;
    if (placed) {
      starts.push(placed.unit);
      fresh.add(placed.unit.run);
      world = withRun(world, placed.unit);
      tenancy.start(row, placed.unit.uses);
      return true;
    }
    if (!isOver) failedShapes.add(shapeOf(row));
    if (!wanting.has(laneOf(row))) return false;
    const claim = preemptFor(world, row, nowMs, fresh);
    if (!claim || claim.victims.length === 0 || isClaimOver(world, row, claim, nowMs)) return false;
    preempts.push({ kind: 'preempt', ...baseOf(row), claim });
    world = withClaim(world, row, claim);
    tenancy.start(row, claim.uses);
    return true;
  }
}

function byId(a: JobRow, b: JobRow): number {
  return a.job < b.job ? -1 : 1;
}
