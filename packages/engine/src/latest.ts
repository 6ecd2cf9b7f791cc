// The node that a single task last went to: jobs that ask the same and come one after the other fill one node after the other,
// so that the search for the tightest node is mostly for the one just found.
import { wholeDevice } from '@muster/model';
import type { Fleet } from './fleet.ts';
import type { Placement } from './ledger.ts';
import type { ClassFit } from './match.ts';
import { opens, roomFor } from './node-room.ts';
import { isOneTask, type Shape } from './shape.ts';
import { takeTasks } from './take-tasks.ts';
import { findTightest, type RoomOf, type Tightest } from './tightest.ts';

export class Latest implements Tightest {
  /** The shape, where every job of it is one such task and nothing else. */
  shape: Shape | null = null;
  /** Among which classes it was looked for, and whether it had to have a port. */
  #fits: readonly ClassFit[] | null = null;
  #needsPort = false;
  fit: ClassFit | null = null;
  /** Whether it took of a device that nobody else had touched; always for whole devices. */
  #opened = true;
  slot = -1;
  position = -1;
  readonly tasksNext = 0;
  /** Changes of the fleet up to then. */
  #changes = -1;

  /** What was placed last is a single task that could go anywhere; the node's position is as it is afterwards. */
  set(
    fleet: Fleet,
    shape: Shape,
    fits: readonly ClassFit[],
    fit: ClassFit,
    slot: number,
    position: number,
    needsPort: boolean,
  ): void {
    this.shape = isOnlyTask(shape) ? shape : null;
    this.#fits = fits;
    this.fit = fit;
    this.slot = slot;
    this.#needsPort = needsPort;
    this.#took(fleet, position);
  }

  /**
   * Whether the node is the tightest again for a task that may go anywhere. It is while it holds another: it has less left than
   * when it was the tightest, and since then nothing else in the fleet has changed. But where the last one went to a device
   * that others share and this one would open another, a node with fewer untouched devices may come first.
   */
  holdsAnother(fleet: Fleet, shape: Shape, fits: readonly ClassFit[], needsPort: boolean): boolean {
    return this.#fits === fits && this.#needsPort === needsPort && this.#isTightest(fleet, shape);
  }

  /**
   * A place for a job that is nothing but the task that was placed last: beside it if that is its place, else on the tightest
   * node among the same classes. Null where it has to be looked for as for any other job.
   */
  placeAgain(fleet: Fleet, shape: Shape): Placement | null {
    if (this.shape !== shape || fleet.mix.isMixed || fleet.firstFit) return null;
    if (!this.#isTightest(fleet, shape) && !this.#findAnother(fleet, shape)) return null;
    const { size } = fleet.ledger;
    const placement = { from: size, to: size, portSlot: -1, port: -1 };
    const position = takeTasks(fleet, shape, placement, 0, this.slot, this.fit!, 1, true, this.position);
    this.#took(fleet, position);
    return placement;
  }

  #isTightest(fleet: Fleet, shape: Shape): boolean {
    const { slot } = this;
    const fit = this.fit!;
    if (this.#changes !== fleet.changes.count) return false;
    if (roomFor(fleet, shape, slot, fit, 1, this.#needsPort, false) === 0) return false;
    return this.#opened || opens(fleet, slot, fit, 1) === 0;
  }

  /**
   * While its classes are all it matches, and cost the same, a shape of one task goes to the tightest of their nodes. Of one class
   * that is behind the node found last as long as nothing else has changed: none before that one held a task.
   */
  #findAnother(fleet: Fleet, shape: Shape): boolean {
    const { ranked, groups } = shape;
    if (ranked.length !== 1) return false;
    const { tiers } = groups[0]!.options[ranked[0]!.combination[0]!]!;
    if (tiers.length !== 1 || tiers[0] !== this.#fits) return false;
    const fits = tiers[0]!;
    const behind = fits.length === 1 && this.#changes === fleet.changes.count ? this.position : -1;
    const found = findTightest(fleet, fits, 1, this.#needsPort, new AnyRoom(fleet, shape), behind);
    if (found.slot < 0) return false;
    this.slot = found.slot;
    this.fit = found.fit;
    this.position = found.position;
    return true;
  }

  #took({ changes, ledger, taken }: Fleet, position: number): void {
    const { milli } = this.fit!;
    this.position = position;
    this.#changes = changes.count;
    this.#opened =
      milli === wholeDevice ||
      taken.taken(this.slot, ledger.devices[ledger.devicesAt[ledger.size - 1]!]!) === milli;
  }
}

/** Whether any node holds a task of a shape that is one task and may go anywhere. */
export function holdsOne(fleet: Fleet, shape: Shape): boolean {
  const any = new AnyRoom(fleet, shape);
  for (const { fits } of shape.groups[0]!.options)
    if (findTightest(fleet, fits, 1, true, any).slot >= 0) return true;
  return false;
}

/** For a job that avoids no node and has no other task. */
class AnyRoom implements RoomOf {
  readonly #fleet: Fleet;
  readonly #shape: Shape;

  constructor(fleet: Fleet, shape: Shape) {
    this.#fleet = fleet;
    this.#shape = shape;
  }

  room(slot: number, fit: ClassFit, tasks: number, needsPort: boolean): number {
    return roomFor(this.#fleet, this.#shape, slot, fit, tasks, needsPort, false);
  }
}

/** Whether every job of the shape is one task that may go anywhere, and one alternative is all it has. */
function isOnlyTask(shape: Shape): boolean {
  return shape.ranked.length === 1 && shape.nodePreferences.length === 0 && isOneTask(shape);
}
