// How long until the known ends of runs leave room for a shape, if nobody else took it. For questions: it takes runs out of
// the fleet one after the other, looks, and puts them back.
import type { RunId } from '@muster/model';
import { compareText } from './order.ts';
import { matchShape, type Shape } from './shape.ts';
import { expectedEndMs, never } from './soonest-ends.ts';
import type { State } from './state.ts';
import { putBack, takeOut } from './take-out.ts';
import { fitsNow } from './verdict.ts';

/** Of very many runs only so many are looked at, the soonest. */
const runsMax = 4096;

/** Null when the ends that are known do not leave room enough. */
export function roomAfterMs(state: State, shape: Shape): number | null {
  const { fleets, clockMs } = state;
  const runs = endsOn(state, shape);
  let out = 0;
  const fitsAfter = (ends: number): boolean => {
    while (out < ends) takeOut(state, runs[out++]!);
    while (out > ends) putBack(state, runs[--out]!);
    return fitsNow(fleets, shape);
  };
  let enough = fitsAfter(runs.length) ? runs.length : -1;
  for (let low = 1; low < enough; ) {
    const middle = (low + enough) >>> 1;
    if (fitsAfter(middle)) enough = middle;
    else low = middle + 1;
  }
  fitsAfter(0);
  if (enough < 0) return null;
  return enough === 0 ? 0 : Math.max(0, endOf(state, runs[enough - 1]!) - clockMs);
}

/** Runs with a known end on nodes that the shape may use, by end, then by id. */
function endsOn(state: State, shape: Shape): number[] {
  const { table, fleets } = state;
  matchShape(shape, fleets.live.classes);
  const classes = new Set<number>();
  for (const { options } of shape.groups)
    for (const { fits } of options) for (const { classId } of fits) classes.add(classId);
  const runs: { readonly run: number; readonly id: RunId; readonly endMs: number }[] = [];
  for (const [run, live] of table.live.entries()) {
    if (!live || table.gone[run] === 1) continue;
    const endMs = endOf(state, run);
    if (endMs !== never && isOn(state, run, classes)) runs.push({ run, id: live.run, endMs });
  }
  runs.sort((a, b) => a.endMs - b.endMs || compareText(a.id, b.id));
  return runs.slice(0, runsMax).map(({ run }) => run);
}

function isOn({ table, fleets }: State, run: number, classes: ReadonlySet<number>): boolean {
  for (let link = table.firstLink[run]!; link >= 0; link = table.linkOfRun[link]!)
    if (classes.has(fleets.live.classOf[table.linkNode[link]!]!)) return true;
  return false;
}

/** A run that is being stopped ends in a moment. */
function endOf(state: State, run: number): number {
  const { table } = state;
  return table.stopping[run] === 1 ? state.clockMs : expectedEndMs(state, run, table.live[run]!);
}
