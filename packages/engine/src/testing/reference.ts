// The naive engine: what `decide` should place, worked out from rows alone, by trying everything in the order of order.ts.
// It keeps nothing, indexes nothing and skips nothing that it need not, so that it can be checked by reading it. The fast
// engine must agree with it, placement by placement, on small worlds.
import { canonicalJson, type EngineRows, leastUses } from '@muster/model';
import { boxesOf, type JobRow, placeJob, type Unit } from './reference-place.ts';
import { ReferenceTenancy } from './reference-tenancy.ts';

export function referenceUnits(rows: EngineRows, nowMs: number): Unit[] {
  const tenancy = new ReferenceTenancy(rows, nowMs);
  let boxes = boxesOf(rows);
  const units: Unit[] = [];
  const failedShapes = new Set<string>();
  const shapeOf = (row: JobRow): string => canonicalJson(row.demand);
  const laneOf = (row: JobRow): string => canonicalJson([row.project, row.user, row.demand]);
  let line = rows.jobs.filter(
    (row) =>
      row.state.state === 'queued' &&
      row.state.notBeforeMs <= nowMs &&
      placeJob(boxes, row, rows.policy) !== null &&
      !tenancy.isOver(row, leastUses(row.demand)),
  );
  while (line.length > 0) {
    const row = tenancy.next(line);
    const placed = tryJob(row);
    if (placed) {
      boxes = placed.boxes;
      units.push(placed.unit);
      tenancy.start(row, placed.unit.uses);
      line = line.filter((other) => other !== row);
    } else line = line.filter((other) => laneOf(other) !== laneOf(row));
  }
  return units;

  function tryJob(row: JobRow) {
    if (failedShapes.has(shapeOf(row)) || tenancy.isOver(row, leastUses(row.demand))) return null;
    const placed = placeJob(boxes, row, rows.policy);
    if (!placed) failedShapes.add(shapeOf(row));
    return placed && !tenancy.isOver(row, placed.unit.uses) ? placed : null;
  }
}
