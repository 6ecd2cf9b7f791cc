// The node that a single task last went to: jobs that ask the same and come one after the other fill one node after the other,
// so that the search for the tightest node is mostly for the one just found. See `Attempt` for when that holds.
import type { ClassFit } from './match.ts';
import type { Shape } from './shape.ts';

export class Latest {
  /** The shape, where every job of it is one such task and nothing else. */
  shape: Shape | null = null;
  /** Among which classes it was looked for, and whether it had to have a port. */
  fits: readonly ClassFit[] | null = null;
  needsPort = false;
  fit: ClassFit | null = null;
  /** Whether it took of a device that nobody else had touched; always for whole devices. */
  opened = true;
  slot = -1;
  /** In the index of its class. */
  position = -1;
  /** Changes of the fleet up to then. */
  changes = -1;

  set(
    shape: Shape | null,
    fits: readonly ClassFit[],
    fit: ClassFit,
    opened: boolean,
    slot: number,
    position: number,
    needsPort: boolean,
    changes: number,
  ): void {
    this.shape = shape;
    this.fits = fits;
    this.fit = fit;
    this.opened = opened;
    this.slot = slot;
    this.position = position;
    this.needsPort = needsPort;
    this.changes = changes;
  }
}
