// The choice as a table: every kind of place where a task of a request could run, with each term of its score in micro-money,
// the best first. What `place` does, made visible; the runners-up say what was passed over. What would have to happen before
// the job starts in a place is tried, with the job allowed there only, and undone.
import {
  type GroupDemand,
  type JobDemand,
  pricedLabels,
  type Score,
  type ScoreHow,
  type ScoreRow,
  tierNamed,
} from '@muster/model';
import { factsOf } from './apply.ts';
import { bringUp } from './bring-up.ts';
import { lostBy, overTime } from './damage.ts';
import type { JobRequest } from './engine.ts';
import { place } from './fit.ts';
import type { Fleet } from './fleet.ts';
import { undo } from './ledger.ts';
import type { ClassFit } from './match.ts';
import { Members } from './members.ts';
import { strandedMicro } from './mix.ts';
import { amountRoom, isClosed, labelsAllowed, scoreOn } from './node-room.ts';
import { compareText } from './order.ts';
import { Preemptions } from './preempt.ts';
import { roomAfterMs } from './room-after.ts';
import { Rooms } from './rooms.ts';
import { matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';
import { supposed } from './supposed-job.ts';
import { root } from './tree.ts';
import { fitsNow, whyNot } from './verdict.ts';

/** A kind of place, while its nodes are gathered. */
interface Kind {
  row: ScoreRow;
  readonly fits: ClassFit[];
  readonly slots: Set<number>;
}

/** `known`: a job that waits already asks this, and counts once. */
export function scoreOf(state: State, request: JobRequest, known: boolean, nowMs: number): Score {
  bringUp(state, nowMs);
  const { queue, policy, clockMs } = state;
  const { moved } = queue.mix;
  const workMs =
    request.demand.data?.overMs ??
    request.durationMs ??
    tierNamed(policy, request.tier)?.durationMs ??
    3_600_000;
  const facts = factsOf(request);
  const { demand } = request;
  const kinds = supposed(state, facts, demand, (job) => {
    const { shape } = queue.entryOf(job).lane;
    if (known) queue.mix.add(shape.mix, -1);
    const found = kindsOf(state.fleets.live, shape);
    choose(state.fleets.live, shape, found);
    if (known) queue.mix.add(shape.mix, 1);
    return found;
  });
  const rows = kinds.map(({ row, slots }, i) => {
    const split = kinds.some(({ row: other }, j) => j !== i && samePlace(row, other));
    const only = onlyThere(demand, row, split ? namesOf(state.fleets.live, slots) : null);
    const { group } = row;
    const tasks = demand.groups.find(({ name }) => name === group)!.tasks;
    const start = row.chosen > 0 ? atOnce : supposed(state, facts, only, (job) => howItStarts(state, job));
    const perTask = Math.floor(start.damage / tasks);
    const waiting = overTime(row.price + row.speed, start.waitMs);
    const hourly = row.price + row.speed + row.preference + row.trust + row.fragmentation;
    const total = overTime(hourly, workMs) + waiting + perTask + row.transfer;
    const { how, waitMs, victims } = start;
    return { ...row, how, waitMs, victims, waiting, preemption: perTask, total };
  });
  queue.mix.moved = moved;
  return { sequence: state.sequence, nowMs: clockMs, workMs, rows: rows.sort(compareRows(demand)) };
}

/** Every kind of place, with the terms of the node that would be taken first there. */
function kindsOf(fleet: Fleet, shape: Shape): Kind[] {
  matchShape(shape, fleet.classes);
  const kinds = new Map<string, Kind>();
  for (const { demand: group, options } of shape.groups)
    for (const [alternative, { fits }] of options.entries())
      for (const fit of fits) {
        const { cls, index } = fleet.byClass[fit.classId]!;
        const such = cls.devices.filter(
          (_, i) => fit.count > 0 && (fit.mask === null || (fit.mask[i >>> 5]! & (1 << (i & 31))) !== 0),
        );
        const { cluster = '', pool = '', capacity = null } = cls.labels;
        const priced = (label: string): string | null =>
          fleet.classes.priced.has(label) ? (cls.labels[label] ?? null) : null;
        const where = {
          group: group.name,
          alternative,
          cluster,
          pool,
          capacity,
          region: priced(pricedLabels.region),
          instanceType: priced(pricedLabels.instanceType),
          models: [...new Set(such.map(({ model }) => model))].sort(compareText),
          trustMilli: cls.trustMilli,
        };
        const key = JSON.stringify(where);
        for (let p = index.first(); p >= 0; p = index.next(p)) {
          const slot = index.at(p);
          if (!labelsAllowed(fleet, shape, slot)) continue;
          const row: ScoreRow = { ...where, ...termsOn(fleet, shape, group, slot, fit), ...untried };
          const kind = kinds.get(key) ?? { row: null as never, fits: [], slots: new Set() };
          kind.row = kind.row ? together(kind.row, row) : row;
          if (kind.fits.at(-1) !== fit) kind.fits.push(fit);
          kind.slots.add(slot);
          kinds.set(key, kind);
        }
      }
  const found = [...kinds.values()];
  // What one node takes of a rack's power is not there for another.
  if (fleet.resources.list.length > 0)
    for (const kind of found) kind.row = { ...kind.row, tasksFit: roomIn(fleet, shape, kind) };
  return found;
}

/** How many tasks nodes of the kind hold together, with what is left of the countable resources of their domains. */
function roomIn(fleet: Fleet, shape: Shape, { fits, slots }: Kind): number {
  const isThere = (slot: number): boolean => slots.has(slot);
  const room = (slot: number, fit: ClassFit): number =>
    isThere(slot) && !isClosed(fleet, shape, slot, false) ? amountRoom(fleet, slot, fit) : 0;
  return new Rooms(fleet, fits, room, isThere).sync().room[root]!;
}

function namesOf({ facts }: Fleet, slots: ReadonlySet<number>): string[] {
  return [...slots].map((slot) => facts[slot]!.name);
}

const untried = {
  how: 'unknown' as ScoreHow,
  waitMs: 0,
  victims: 0,
  waiting: 0,
  preemption: 0,
  chosen: 0,
};

/** `total` is what placing compares: an hour of the work. */
function termsOn(fleet: Fleet, shape: Shape, group: GroupDemand, slot: number, fit: ClassFit) {
  const amounts = isClosed(fleet, shape, slot, false) ? 0 : amountRoom(fleet, slot, fit);
  const tasksFit = fleet.resources.roomAt(slot, fit.needs, amounts);
  const asked = scoreOn(fleet, shape, slot, fit);
  const { price, speed, trust, transfer, transferHour } = fit.cost;
  const fragmentation = group.tasks === 1 && tasksFit > 0 ? fragmentationOn(fleet, slot, fit) : 0;
  const preference = asked - price - speed - trust - transferHour;
  const terms = { price, speed, trust, preference, fragmentation, transfer };
  return { ...terms, total: asked + fragmentation, nodes: 1, tasksFit };
}

function fragmentationOn(fleet: Fleet, slot: number, fit: ClassFit): number {
  const { mix, classes } = fleet;
  return mix.isMixed && !fleet.firstFit
    ? strandedMicro(mix.strands(fleet, slot, fit), classes.prices.deviceHourMicro)
    : 0;
}

/** The terms of the node that would be taken first; one with room goes before one without. */
function together(a: ScoreRow, b: ScoreRow): ScoreRow {
  const better = a.tasksFit > 0 === b.tasksFit > 0 ? b.total < a.total : b.tasksFit > 0;
  return { ...(better ? b : a), nodes: a.nodes + b.nodes, tasksFit: a.tasksFit + b.tasksFit };
}

/** Where the tasks would go if the job were next. */
function choose(fleet: Fleet, shape: Shape, kinds: readonly Kind[]): void {
  const placement = place(fleet, shape, []);
  if (!placement) return;
  const { ledger } = fleet;
  for (let pick = placement.from; pick < placement.to; pick++) {
    const fit = ledger.fits[pick]!;
    const { demand, options } = shape.groups[ledger.group[pick]!]!;
    const alternative = options.findIndex(({ fits }) => fits.includes(fit));
    const kind = kinds.find(
      ({ row, fits }) => row.group === demand.name && row.alternative === alternative && fits.includes(fit),
    );
    if (kind) kind.row = { ...kind.row, chosen: kind.row.chosen + ledger.tasks[pick]! };
  }
  undo(fleet, placement);
}

/** Apart by trust alone, which no constraint can name. */
function samePlace(a: ScoreRow, b: ScoreRow): boolean {
  const place = (row: ScoreRow): string => {
    const { group, alternative, cluster, pool, capacity, region, instanceType, models } = row;
    return JSON.stringify([group, alternative, cluster, pool, capacity, region, instanceType, models]);
  };
  return place(a) === place(b);
}

/** One group of the job, with one alternative, in one kind of place. */
function onlyThere(demand: JobDemand, row: ScoreRow, nodes: readonly string[] | null): JobDemand {
  const group = demand.groups.find(({ name }) => name === row.group)!;
  const wanted = group.accelerators[row.alternative];
  const model = row.models.length === 1 ? row.models[0]! : (wanted?.model ?? null);
  const is = (label: string, values: readonly string[]) => ({ label, op: 'in' as const, values });
  return {
    ...demand,
    groups: [{ ...group, near: null, accelerators: wanted ? [{ ...wanted, model }] : [] }],
    constraints: [
      ...demand.constraints,
      is('cluster', [row.cluster]),
      is('pool', [row.pool]),
      row.capacity === null
        ? { label: 'capacity', op: 'absent', values: [] }
        : is('capacity', [row.capacity]),
      ...(row.region === null ? [] : [is(pricedLabels.region, [row.region])]),
      ...(row.instanceType === null ? [] : [is(pricedLabels.instanceType, [row.instanceType])]),
      ...(nodes ? [is('node', nodes)] : []),
    ],
  };
}

interface Start {
  readonly how: ScoreHow;
  readonly waitMs: number;
  readonly victims: number;
  /** Of all victims together. */
  readonly damage: number;
}

const atOnce: Start = { how: 'now', waitMs: 0, victims: 0, damage: 0 };

function howItStarts(state: State, job: number): Start {
  const { shape } = state.queue.entryOf(job).lane;
  if (fitsNow(state.fleets, shape)) return atOnce;
  const preemptions = new Preemptions(state, state.clockMs, new Members(state.jobs));
  if (preemptions.try(job) === 'has') {
    const { victims } = preemptions.claims.at(-1)!.claim;
    preemptions.undo();
    return {
      ...atOnce,
      how: 'preempts',
      victims: victims.length,
      damage: victims.reduce(
        (sum, { run }) => sum + lostBy(state.table, state.table.slotOf(run), state.clockMs).lostMicro,
        0,
      ),
    };
  }
  const waitMs = roomAfterMs(state, shape);
  if (waitMs !== null) return { ...atOnce, how: 'waits', waitMs };
  const never = whyNot(state.fleets, shape).verdict.kind === 'impossible';
  return { ...atOnce, how: never ? 'part' : 'unknown' };
}

const soonest: readonly ScoreHow[] = ['now', 'preempts', 'waits', 'unknown', 'part'];

/** By group as written, then how it starts, then lowest total, then as written and by name. */
function compareRows({ groups }: JobDemand): (a: ScoreRow, b: ScoreRow) => number {
  const at = (name: string): number => groups.findIndex((group) => group.name === name);
  return (a, b) =>
    at(a.group) - at(b.group) ||
    soonest.indexOf(a.how) - soonest.indexOf(b.how) ||
    a.total - b.total ||
    // Of equal ones the tightest is taken, which the table does not show.
    Number(b.chosen > 0) - Number(a.chosen > 0) ||
    a.alternative - b.alternative ||
    compareText(a.cluster, b.cluster) ||
    compareText(a.pool, b.pool) ||
    compareText(a.capacity ?? '', b.capacity ?? '') ||
    compareText(a.region ?? '', b.region ?? '') ||
    compareText(a.instanceType ?? '', b.instanceType ?? '') ||
    compareText(a.models.join(), b.models.join()) ||
    b.trustMilli - a.trustMilli;
}
