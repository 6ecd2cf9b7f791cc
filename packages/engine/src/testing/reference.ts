// The naive engine: what `decide` should place, worked out from rows alone, by trying everything in the order of order.ts.
// It keeps nothing, indexes nothing and skips nothing that it need not, so that it can be checked by reading it. The fast
// engine must agree with it, placement by placement, on small worlds.
import { canonicalJson, type EngineRows } from '@muster/model';
import { boxesOf, type JobRow, placeJob, type Unit } from './reference-place.ts';

export function referenceUnits(rows: EngineRows, nowMs: number): Unit[] {
  let boxes = boxesOf(rows);
  const units: Unit[] = [];
  const failedShapes = new Set<string>();
  for (const row of waitingInOrder(rows, nowMs)) {
    const shape = canonicalJson(row.demand);
    if (failedShapes.has(shape)) continue;
    const placed = placeJob(boxes, row, rows.policy);
    if (placed) {
      boxes = placed.boxes;
      units.push(placed.unit);
    } else failedShapes.add(shape);
  }
  return units;
}

function waitingInOrder(rows: EngineRows, nowMs: number): JobRow[] {
  const rank = (row: JobRow): number =>
    rows.policy.tiers.find((tier) => tier.name === row.tier)?.rank ?? Number.MIN_SAFE_INTEGER;
  return rows.jobs
    .filter((row) => row.state.state === 'queued' && row.state.notBeforeMs <= nowMs)
    .sort(
      (a, b) => rank(b) - rank(a) || b.priority - a.priority || a.submittedSequence - b.submittedSequence,
    );
}
