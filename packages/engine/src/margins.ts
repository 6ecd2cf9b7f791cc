// How far what projects use may move before an offer of victims (node-offers.ts) would be another one.
//
// Rights depend on whether a project uses more than is guaranteed to it. An offer of several victims is made with use as it would
// be after each of them, so it does not hold as long as use itself passes no guarantee: with less use the second victim may be
// one too many, and whoever took both would take more than the project borrows. So each project keeps, by key, the least that
// any step of an offer left above such a bound, and whether one passed it. When that is used up the project is told in `moved`,
// and offers with its runs are made anew; all others stay as they are.
//
// Where a step passed a bound, there was no right to more: with more use (of the job's own projects: with less) there would be. So
// whoever finds nobody looks again once there is, in this plan (`rises`) or in a later one (`limits`).
import { useNow } from './borrowers.ts';
import type { Lane } from './entry.ts';
import { isWithin, type Project, type Projects } from './projects.ts';
import type { Ask } from './resource-keys.ts';

/** A project that gave as much of a key as it had to give, or was not within its guarantee before it gave. */
export interface Limit {
  readonly project: Project;
  readonly key: number;
  /** Whether it is above the job that looked: then less use would help it. */
  readonly own: boolean;
}

export class Margins {
  readonly #width: number;
  /** By project and key: how much less may be used before an offer changes; infinite where none rests on it. */
  readonly #left: Float64Array;
  /** The same: whether more use may change an offer, because one of its victims brought use down to the bound. */
  readonly #passed: Uint8Array;
  /** The same: whether somebody found no more because use came down to the bound, and none of it was given since. */
  readonly #limited: Uint8Array;
  /** By project and key: all limits of this plan, and those since `watch`. */
  readonly #limits = new Map<number, Limit>();
  readonly #watched = new Map<number, Limit>();
  /** As it happened; a project comes again when offers that rest on it were made again. */
  readonly moved: Project[] = [];
  /** How often this plan gave a project more, and with it others more to take than offers had counted with. */
  rises = 0;

  constructor({ all, amounts }: Projects) {
    this.#width = amounts.width;
    this.#left = new Float64Array(all.length * this.#width).fill(Number.POSITIVE_INFINITY);
    this.#passed = new Uint8Array(this.#left.length);
    this.#limited = new Uint8Array(this.#left.length);
  }

  /** From here on `watched` tells what was in the way of one search. */
  watch(): void {
    this.#watched.clear();
  }

  get watched(): readonly Limit[] {
    return [...this.#watched.values()];
  }

  get limits(): Iterable<Limit> {
    return this.#limits.values();
  }

  get isLimited(): boolean {
    return this.#limits.size > 0;
  }

  /** A search of an earlier plan that need not be made again was limited there. */
  keep(limit: Limit): void {
    this.#limit(limit.project.id * this.#width + limit.key, limit);
  }

  /** A run of the project counts as gone while an offer is made. True when rights of the lane's jobs change with it. */
  suppose(project: Project, { keys, amounts }: Ask, lane: Lane): boolean {
    let passes = false;
    for (let at = project; at.parent !== null; at = at.parent) {
      for (let i = 0; i < keys.length; i++) {
        const column = at.id * this.#width + keys[i]!;
        const before = useNow(at, keys[i]!) - boundOf(at, keys[i]!, lane);
        const after = before - amounts[i]!;
        if (after > 0) {
          if (after < this.#left[column]!) this.#left[column] = after;
        } else if (before > 0) {
          this.#passed[column] = 1;
          this.#passes(column, at, keys[i]!, lane);
          passes = true;
        }
      }
    }
    return passes;
  }

  /** A run of the project counts as gone from here on. True when rights of the lane's jobs, or offers, may change with it. */
  take(project: Project, { keys, amounts }: Ask, lane: Lane): boolean {
    let changes = false;
    for (let at = project; at.parent !== null; at = at.parent) {
      for (let i = 0; i < keys.length; i++) {
        const column = at.id * this.#width + keys[i]!;
        const before = useNow(at, keys[i]!) - boundOf(at, keys[i]!, lane);
        this.#left[column]! -= amounts[i]!;
        const passes = before > 0 && before <= amounts[i]!;
        if (passes) this.#passes(column, at, keys[i]!, lane);
        changes ||= this.#left[column]! <= 0 || passes;
      }
    }
    return changes;
  }

  putBack(project: Project, { keys, amounts }: Ask): void {
    for (let at = project; at.parent !== null; at = at.parent) {
      for (let i = 0; i < keys.length; i++) {
        const column = at.id * this.#width + keys[i]!;
        this.#left[column]! += amounts[i]!;
        if (this.#passed[column] === 1) this.#tell(at);
      }
    }
  }

  /** The project will use so much less. True when one gets within its guarantee with it. */
  lose(project: Project, { keys, amounts }: Ask): boolean {
    let crosses = false;
    for (let at = project; at.parent !== null; at = at.parent) {
      for (let i = 0; i < keys.length; i++) {
        const column = at.id * this.#width + keys[i]!;
        const before = useNow(at, keys[i]!) - guaranteeOf(at, keys[i]!);
        this.#left[column]! -= amounts[i]!;
        if (this.#left[column]! <= 0) this.#tell(at);
        crosses ||= before > 0 && before <= amounts[i]!;
      }
    }
    return crosses;
  }

  /** The project uses so much more now. True when one borrows with it that did not. */
  gain(project: Project, { keys, amounts }: Ask): boolean {
    let crosses = false;
    for (let at = project; at.parent !== null; at = at.parent) {
      for (let i = 0; i < keys.length; i++) {
        const column = at.id * this.#width + keys[i]!;
        const after = useNow(at, keys[i]!) - guaranteeOf(at, keys[i]!);
        this.#left[column]! += amounts[i]!;
        if (this.#passed[column] === 1) this.#tell(at);
        if (this.#limited[column] === 1) {
          this.#limited[column] = 0;
          this.rises++;
        }
        crosses ||= after > 0 && after <= amounts[i]!;
      }
    }
    return crosses;
  }

  #passes(column: number, project: Project, key: number, lane: Lane): void {
    this.#limited[column] = 1;
    if (this.#watched.has(column)) return;
    this.#limit(column, { project, key, own: isWithin(lane.project, project) });
  }

  #limit(column: number, limit: Limit): void {
    this.#limited[column] = 1;
    this.#limits.set(column, limit);
    this.#watched.set(column, limit);
  }

  #tell(project: Project): void {
    const from = project.id * this.#width;
    this.#left.fill(Number.POSITIVE_INFINITY, from, from + this.#width);
    this.#passed.fill(0, from, from + this.#width);
    this.moved.push(project);
  }
}

/** Above the lane's project it counts whether that one stays within its guarantee with the job, elsewhere who borrows. */
function boundOf(at: Project, key: number, { project, shape }: Lane): number {
  const guaranteed = guaranteeOf(at, key);
  if (!isWithin(project, at)) return guaranteed;
  return guaranteed - (shape.ask.amounts[shape.ask.keys.indexOf(key)] ?? 0);
}

function guaranteeOf(project: Project, key: number): number {
  return Math.max(0, project.guaranteed(key));
}
