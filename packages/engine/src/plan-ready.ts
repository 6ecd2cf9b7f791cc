// The planned start of a job that fits wherever there is room for its tasks: the earliest end at which there is (ready-times.ts),
// on the nodes that have room first. Only those nodes are looked at as they will be. Ceilings and countable resources are
// taken as they are used now, beside it; where that does not allow it, the caller looks at the whole future instead.
//
// What is reserved for a shape is kept until the ready times say that a node of it, or who has room first, is another.
import type { PlannedStart } from '@muster/model';
import { Attempt } from './attempt.ts';
import { wholeFleet } from './fit.ts';
import type { Fleet } from './fleet.ts';
import { overAt } from './gates.ts';
import {
  changeHolding,
  type HeldTask,
  type Holding,
  holdingOfPlaced,
  holdingOfPlacement,
  holdingOfRun,
} from './holding.ts';
import { undo } from './ledger.ts';
import type { PlacedJobs } from './placed-jobs.ts';
import type { PlacedOn } from './placed-on.ts';
import { type Ready, ReadyTimes } from './ready-times.ts';
import type { Found } from './reservations.ts';
import { type Ask, noAsk } from './resource-keys.ts';
import { matchShape, type Option, requiredLevel, type Shape } from './shape.ts';
import { type Beside, besideOf, Slack } from './slack.ts';
import type { State } from './state.ts';

/** Shapes whose ready times are kept. The first that waits for room is of one of a few, again and again. */
const kept = 8;

/** The ready times of the shapes planned last, by use; a cache. */
export class ReadyShapes {
  readonly #byShape = new Map<Shape, ReadyShape>();

  of(shape: Shape): ReadyShape {
    let found = this.#byShape.get(shape);
    if (found) this.#byShape.delete(shape);
    else found = new ReadyShape(shape);
    this.#byShape.set(shape, found);
    if (this.#byShape.size > kept) this.#byShape.delete(this.#byShape.keys().next().value!);
    return found;
  }
}

/** Where a job of a shape would be, whichever it is. */
interface Reserved {
  readonly tasks: readonly HeldTask[];
  readonly portSlot: number;
  readonly port: number;
  readonly uses: Ask;
  readonly basis: Omit<PlannedStart, 'startMs'>;
  readonly beside: Beside;
  /** Of each of its domains' resources, for what changes on its nodes: what ends gives back, what it asks of them, what it uses. */
  readonly loads: readonly Load[];
}

interface Load {
  readonly freed: number;
  readonly asks: number;
  readonly uses: number;
}

class ReadyShape {
  readonly shape: Shape;
  readonly times: readonly ReadyTimes[];
  #ready: Ready | null = null;
  #reserved: Reserved | null = null;

  constructor(shape: Shape) {
    this.shape = shape;
    this.times = shape.groups[0]!.options.map((option) => new ReadyTimes(shape, option));
  }

  reserved(ready: Ready, make: () => Reserved | null): Reserved | null {
    if (this.#ready !== ready) {
      this.#reserved = make();
      this.#ready = ready;
    }
    return this.#reserved;
  }
}

/** `placed` is in the fleet and no run yet. */
export function planReady(state: State, job: number, placed: PlacedJobs, placedOn: PlacedOn): Found | null {
  const { queue, fleets, projects } = state;
  const { lane, duration } = queue.entryOf(job);
  const { shape, project, user } = lane;
  matchShape(shape, fleets.live.classes);
  const level = requiredLevel(shape, fleets.live.tree);
  if (level === -2) return null;
  const { options } = shape.groups[0]!;
  const known = state.ready.of(shape);
  let best: Ready | null = null;
  let bestOption = options[0]!;
  for (const [i, times] of known.times.entries()) {
    const found = times.find(state, placedOn, level);
    if (!found || (best && found.atMs >= best.atMs)) continue;
    best = found;
    bestOption = options[i]!;
  }
  // Room now that it could not use: something else is in its way.
  if (!best || best.atMs === 0) return null;
  const ready = best;
  const reserved = known.reserved(ready, () =>
    reserve(state, shape, job, ready, bestOption, placed, placedOn),
  );
  if (!reserved || overAt(project, user, reserved.uses) !== null || lacksResources(state, reserved))
    return null;
  const { tasks, portSlot, port, uses, basis, beside } = reserved;
  const holding: Holding = {
    endMs: ready.atMs + duration.ms,
    assumed: duration.assumed,
    overdue: false,
    exclusive: shape.demand.exclusive,
    tasks,
    portSlot,
    port,
    project,
    user,
    uses,
  };
  projects.take(project, user, uses, 1);
  const slack = new Slack(fleets.live, beside, leftThen(state, reserved), holding);
  projects.take(project, user, uses, -1);
  return { job, start: { startMs: ready.atMs, ...basis }, holding, slack };
}

/** Whether its domains give less than it asks of them, beside all that uses them now elsewhere. */
function lacksResources({ fleets }: State, { beside, loads }: Reserved): boolean {
  const { resources } = fleets.live;
  return beside.domains.some(({ resource, domain }, i) => {
    const { freed, asks } = loads[i]!;
    const left = resources.limit(resource, domain) - resources.used(resource, domain) + freed;
    return asks > Math.max(0, left);
  });
}

function leftThen({ fleets }: State, { beside, loads }: Reserved): number[] {
  const { resources } = fleets.live;
  return beside.domains.map(({ resource, domain }, i) => {
    const { freed, uses } = loads[i]!;
    const used = resources.used(resource, domain) - freed + uses;
    return Math.max(0, resources.limit(resource, domain) - used);
  });
}

/** What will have ended on the nodes, and only what it has there. */
function endedOn(state: State, { atMs, slots }: Ready, placed: PlacedJobs, placedOn: PlacedOn): Holding[] {
  const { ends, table, claims } = state;
  const runs = new Set<number>();
  const jobs = new Set<number>();
  for (const slot of slots) {
    for (let link = table.first(slot); link >= 0; link = table.linkNext[link]!) {
      const run = table.linkRun[link]!;
      if (!ends.isAwaited(run) || ends.endMs[run]! > atMs) continue;
      if (!claims.isVictim(table.live[run]!.run)) runs.add(run);
    }
    for (let pick = placedOn.first(slot); pick >= 0; pick = placedOn.next(pick))
      if (placedOn.endMs[pick]! <= atMs) jobs.add(placedOn.of[pick]!);
  }
  const there: Holding[] = [];
  for (const run of runs) {
    const end = { endMs: ends.endMs[run]!, assumed: ends.assumed[run] === 1, overdue: ends.isOverdue(run) };
    there.push(holdingOfRun(state, table.live[run]!, end));
  }
  for (const at of jobs) there.push(holdingOfPlaced(state, placed.get(at)));
  const nodes = new Set(slots);
  const isThere = ({ slot }: HeldTask): boolean => nodes.has(slot);
  // Use stays as it is.
  const uses = noAsk;
  return there.map((holding) => {
    const portSlot = nodes.has(holding.portSlot) ? holding.portSlot : -1;
    return { ...holding, tasks: holding.tasks.filter(isThere), uses, portSlot };
  });
}

function reserve(
  state: State,
  shape: Shape,
  job: number,
  ready: Ready,
  option: Option,
  placed: PlacedJobs,
  placedOn: PlacedOn,
): Reserved | null {
  const fleet = state.fleets.live;
  const gone = endedOn(state, ready, placed, placedOn);
  const loads = new Loads(fleet, ready.slots);
  for (const holding of gone) changeHolding(state, holding, -1);
  const rows = ready.slots.map((_, i) => i);
  const first = rows.findIndex((i) => fleet.hasFreePort(ready.slots[i]!));
  let reserved: Reserved | null = null;
  if (first >= 0) {
    rows.unshift(...rows.splice(first, 1));
    loads.begin();
    const attempt = new Attempt(fleet, shape, wholeFleet);
    for (const i of rows) {
      const slot = ready.slots[i]!;
      const fit = option.fits.find(({ classId }) => classId === fleet.classOf[slot])!;
      loads.ask(slot, fit.needs, ready.tasks[i]!);
      attempt.takeOn(slot, fit, ready.tasks[i]!);
    }
    const { placement } = attempt;
    const uses = state.projects.keys.placed(fleet, placement);
    const end = { endMs: 0, assumed: false, overdue: false };
    const { tasks, portSlot, port } = holdingOfPlacement(state, job, placement, uses, end);
    const beside = besideOf(fleet, ready.slots);
    const basis = {
      runs: gone.length,
      assumed: gone.filter(({ assumed }) => assumed).length,
      overdue: gone.filter(({ overdue }) => overdue).length,
    };
    reserved = { tasks, portSlot, port, uses, basis, beside, loads: loads.of(beside) };
    undo(fleet, placement);
  }
  for (const holding of gone.reverse()) changeHolding(state, holding, 1);
  return reserved;
}

/** The resources of the domains of some nodes while a reservation is made there: as they are, when what ends is gone, and after. */
class Loads {
  readonly #fleet: Fleet;
  /** By resource, then by domain. */
  readonly #now: Map<number, number>[] = [];
  readonly #begun: Map<number, number>[] = [];
  readonly #asks: Map<number, number>[] = [];

  constructor(fleet: Fleet, slots: readonly number[]) {
    const { resources, tree } = fleet;
    this.#fleet = fleet;
    for (const [resource, level] of resources.levels.entries()) {
      const now = new Map<number, number>();
      if (level >= 0)
        for (const slot of slots) {
          const domain = tree.at(slot, level);
          now.set(domain, resources.used(resource, domain));
        }
      this.#now.push(now);
      this.#asks.push(new Map());
    }
  }

  /** What ends is gone. */
  begin(): void {
    const { resources } = this.#fleet;
    for (const [resource, now] of this.#now.entries())
      this.#begun.push(new Map([...now.keys()].map((domain) => [domain, resources.used(resource, domain)])));
  }

  /** So many tasks are about to be taken on a node, each of which may need that much. */
  ask(slot: number, needs: readonly number[], tasks: number): void {
    const { resources, tree } = this.#fleet;
    for (const [resource, asks] of this.#asks.entries()) {
      const need = needs[resource] ?? 0;
      if (need === 0 || resources.levels[resource]! < 0) continue;
      const domain = tree.at(slot, resources.levels[resource]!);
      const taken = resources.used(resource, domain) - this.#begun[resource]!.get(domain)!;
      asks.set(domain, Math.max(asks.get(domain) ?? 0, taken + need * tasks));
    }
  }

  of({ domains }: Beside): Load[] {
    const { resources } = this.#fleet;
    return domains.map(({ resource, domain }) => {
      const begun = this.#begun[resource]!.get(domain)!;
      return {
        freed: this.#now[resource]!.get(domain)! - begun,
        asks: this.#asks[resource]!.get(domain) ?? 0,
        uses: resources.used(resource, domain) - begun,
      };
    });
  }
}
