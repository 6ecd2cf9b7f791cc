// The planned start of a job that fits wherever there is room for its tasks: the earliest end at which there is (ready-times.ts),
// on the nodes that have room first. Only those nodes are looked at as they will be. Ceilings and countable resources are
// taken as they are used now, beside it; where that does not allow it, the caller looks at the whole future instead.
import { Attempt } from './attempt.ts';
import { overAt } from './gates.ts';
import { changeHolding, type HeldTask, type Holding, holdingOfPlacement, holdingOfRun } from './holding.ts';
import { undo } from './ledger.ts';
import { type Ready, ReadyTimes } from './ready-times.ts';
import type { Planned } from './reservations.ts';
import { matchShape, type Option } from './shape.ts';
import { Slack } from './slack.ts';
import type { State } from './state.ts';
import { root } from './tree.ts';

/** `placed` is in the fleet and no run yet. */
export function planReady(state: State, job: number, placed: readonly Holding[]): Planned | null {
  const { shape } = state.queue.entryOf(job).lane;
  matchShape(shape, state.fleets.live.classes);
  const { options } = shape.groups[0]!;
  if (state.ready?.shape !== shape)
    state.ready = { shape, options: options.map((option) => new ReadyTimes(shape, option)) };
  let best: Ready | null = null;
  let bestOption = options[0]!;
  for (const [i, times] of state.ready.options.entries()) {
    const found = times.find(state, placed);
    if (!found || (best && found.atMs >= best.atMs)) continue;
    best = found;
    bestOption = options[i]!;
  }
  // Room now that it could not use: something else is in its way.
  if (!best || best.atMs === 0) return null;
  const gone = endedOn(state, best, placed);
  for (const holding of gone) changeHolding(state, holding, -1);
  const planned = reserve(state, job, best, bestOption, gone);
  for (const holding of gone.reverse()) changeHolding(state, holding, 1);
  return planned;
}

/** What will have ended on the nodes, and only what it has there. */
function endedOn(state: State, { atMs, nodes }: Ready, placed: readonly Holding[]): Holding[] {
  const { ends } = state;
  const runs = new Set<number>();
  for (const slot of nodes.keys())
    for (const run of ends.on(slot)) if (ends.endMs[run]! <= atMs) runs.add(run);
  const there: Holding[] = [];
  for (const run of runs) {
    const end = { endMs: ends.endMs[run]!, assumed: ends.assumed[run] === 1, overdue: ends.isOverdue(run) };
    there.push(holdingOfRun(state, ends.runs[run]!, end));
  }
  for (const holding of placed) if (holding.endMs <= atMs) there.push(holding);
  const isThere = ({ slot }: HeldTask): boolean => nodes.has(slot);
  // Use stays as it is.
  const uses = { keys: [], amounts: [] };
  return there.flatMap((holding) => {
    const tasks = holding.tasks.filter(isThere);
    const portSlot = nodes.has(holding.portSlot) ? holding.portSlot : -1;
    return tasks.length === 0 ? [] : [{ ...holding, tasks, uses, portSlot }];
  });
}

function reserve(
  state: State,
  job: number,
  { atMs, nodes }: Ready,
  option: Option,
  gone: readonly Holding[],
): Planned | null {
  const { fleets, queue, projects } = state;
  const fleet = fleets.live;
  const { lane, duration } = queue.entryOf(job);
  const { shape, project, user } = lane;
  const slots = [...nodes.keys()];
  const first = slots.findIndex((slot) => fleet.hasFreePort(slot));
  if (first < 0) return null;
  slots.unshift(...slots.splice(first, 1));
  const attempt = new Attempt(fleet, shape, { region: root, packLevel: -1, avoid: new Set() });
  let planned: Planned | null = null;
  if (slots.every((slot) => takeOn(state, attempt, option, slot, nodes.get(slot)!))) {
    const { placement } = attempt;
    const uses = projects.keys.placed(fleet, placement);
    if (overAt(project, user, uses) === null) {
      const end = { endMs: atMs + duration.ms, assumed: duration.assumed, overdue: false };
      const holding = holdingOfPlacement(state, job, placement, uses, end);
      projects.take(project, user, uses, 1);
      const slack = new Slack(fleet, holding);
      projects.take(project, user, uses, -1);
      const basis = {
        runs: gone.length,
        assumed: gone.filter(({ assumed }) => assumed).length,
        overdue: gone.filter(({ overdue }) => overdue).length,
      };
      planned = { job, start: { startMs: atMs, ...basis }, holding, slack };
    }
  }
  undo(fleet, attempt.placement);
  return planned;
}

function takeOn({ fleets }: State, attempt: Attempt, option: Option, slot: number, tasks: number): boolean {
  const fleet = fleets.live;
  const fit = option.fits.find(({ classId }) => classId === fleet.classOf[slot])!;
  if (fit.needs.length > 0 && fleet.resources.roomAt(slot, fit.needs) < tasks) return false;
  attempt.takeOn(slot, fit, tasks);
  return true;
}
