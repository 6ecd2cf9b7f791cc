// The choice as a table: every kind of place where a task of a request could run, with each term of its score in micro-money for
// an hour of the task's work, the best first. What `place` does, made visible; the runners-up say what was passed over.
import type { JobDemand } from '@muster/model';
import type { Fleet } from './fleet.ts';
import type { ClassFit } from './match.ts';
import { strandedMicro } from './mix.ts';
import { amountRoom, isClosed, scoreOn } from './node-room.ts';
import { compareText } from './order.ts';
import { noAsk } from './resource-keys.ts';
import { makeShape, matchShape } from './shape.ts';
import type { State } from './state.ts';

/** The terms of one score, of the best node of its kind. Waiting, preemption and transfer are 0 until the engine chooses by them. */
export interface ScoreTerms {
  readonly price: number;
  readonly preference: number;
  readonly trust: number;
  readonly fragmentation: number;
  readonly waiting: number;
  readonly preemption: number;
  readonly transfer: number;
}

export interface ScoreRow extends ScoreTerms {
  readonly group: string;
  /** The place of the alternative in the request, from 0. */
  readonly alternative: number;
  readonly cluster: string;
  readonly pool: string;
  /** The label `capacity` of its nodes. */
  readonly capacity: string | null;
  /** Models of the devices a task would get there. */
  readonly models: readonly string[];
  readonly total: number;
  /** Nodes of this kind that take work, and how many tasks they hold now, each by itself. */
  readonly nodes: number;
  readonly tasksFit: number;
}

/** Rows by group as written, then lowest total first, then alternative, cluster, pool, capacity and models. */
export function scoreTable(state: State, demand: JobDemand): ScoreRow[] {
  const fleet = state.fleets.live;
  const shape = makeShape(-1, '', demand, noAsk);
  matchShape(shape, fleet.classes);
  const rows = new Map<string, ScoreRow>();
  for (const { demand: group, options } of shape.groups)
    for (const [alternative, { fits }] of options.entries())
      for (const fit of fits) {
        const { cls, index } = fleet.byClass[fit.classId]!;
        const such = cls.devices.filter(
          (_, i) => fit.count > 0 && (fit.mask === null || (fit.mask[i >>> 5]! & (1 << (i & 31))) !== 0),
        );
        const models = [...new Set(such.map(({ model }) => model))].sort(compareText);
        const { cluster = '', pool = '', capacity = null } = cls.labels;
        const key = JSON.stringify([
          group.name,
          alternative,
          cluster,
          pool,
          capacity,
          models,
          cls.trustMilli,
        ]);
        for (let p = index.first(); p >= 0; p = index.next(p)) {
          const slot = index.at(p);
          const tasksFit = isClosed(fleet, shape, slot, false) ? 0 : amountRoom(fleet, slot, fit);
          const asked = scoreOn(fleet, shape, slot, fit);
          const fragmentation = group.tasks === 1 && tasksFit > 0 ? fragmentationOn(fleet, slot, fit) : 0;
          const row: ScoreRow = {
            group: group.name,
            alternative,
            cluster,
            pool,
            capacity,
            models,
            ...fit.cost,
            preference: asked - fit.cost.price - fit.cost.trust,
            fragmentation,
            ...later,
            total: asked + fragmentation,
            nodes: 1,
            tasksFit,
          };
          const known = rows.get(key);
          rows.set(key, known ? together(known, row) : row);
        }
      }
  const groupAt = (name: string): number => demand.groups.findIndex((group) => group.name === name);
  return [...rows.values()].sort(
    (a, b) =>
      groupAt(a.group) - groupAt(b.group) ||
      a.total - b.total ||
      a.alternative - b.alternative ||
      compareText(a.cluster, b.cluster) ||
      compareText(a.pool, b.pool) ||
      compareText(a.capacity ?? '', b.capacity ?? '') ||
      compareText(a.models.join(), b.models.join()),
  );
}

const later = { waiting: 0, preemption: 0, transfer: 0 };

function fragmentationOn(fleet: Fleet, slot: number, fit: ClassFit): number {
  const { mix, classes } = fleet;
  return mix.isMixed ? strandedMicro(mix.strands(fleet, slot, fit), classes.prices.deviceHourMicro) : 0;
}

/** The terms of the node that would be taken first; one with room goes before one without. */
function together(a: ScoreRow, b: ScoreRow): ScoreRow {
  const better = a.tasksFit > 0 === b.tasksFit > 0 ? b.total < a.total : b.tasksFit > 0;
  return { ...(better ? b : a), nodes: a.nodes + b.nodes, tasksFit: a.tasksFit + b.tasksFit };
}
