// What placements took, in the order they took it, so that it can be given back from the end. Columns, because a cycle that
// places a hundred thousand jobs would otherwise spend its time on the memory of small objects. One row a pick: some tasks
// of one group on one node.
import { grown } from './columns.ts';
import type { Fleet } from './fleet.ts';
import type { ClassFit } from './match.ts';
import { releasePort } from './ports.ts';

export class Ledger {
  size = 0;
  group = new Int32Array(16);
  slot = new Int32Array(16);
  tasks = new Int32Array(16);
  /** Whether this is the gang's first pick on its node. */
  first = new Uint8Array(16);
  readonly fits: ClassFit[] = [];
  /** Where the devices of the pick begin; each task has `fit.count` of them. */
  devicesAt = new Int32Array(16);
  devices = new Int32Array(16);
  #devices = 0;

  /** A new row, with room for the devices of its tasks. */
  add(group: number, slot: number, fit: ClassFit, tasks: number, first: boolean): number {
    const pick = this.size++;
    if (pick >= this.group.length) this.#grow(pick + 1);
    this.group[pick] = group;
    this.slot[pick] = slot;
    this.tasks[pick] = tasks;
    this.first[pick] = first ? 1 : 0;
    this.fits[pick] = fit;
    this.devicesAt[pick] = this.#devices;
    this.#devices += tasks * fit.count;
    this.devices = grown(this.devices, this.#devices);
    return pick;
  }

  removeLast(): void {
    this.size--;
    this.#devices = this.devicesAt[this.size]!;
  }

  #grow(size: number): void {
    this.group = grown(this.group, size);
    this.slot = grown(this.slot, size);
    this.tasks = grown(this.tasks, size);
    this.first = grown(this.first, size);
    this.devicesAt = grown(this.devicesAt, size);
  }
}

/** Gives back all rows from this one on. Jobs that were placed one after the other mostly filled a node together. */
export function giveBack(fleet: Fleet, from: number): void {
  const { ledger } = fleet;
  while (ledger.size > from) {
    const slot = ledger.slot[ledger.size - 1]!;
    const position = fleet.begin(slot);
    while (ledger.size > from && ledger.slot[ledger.size - 1] === slot) giveBackAlike(fleet, slot, from);
    fleet.end(slot, position);
  }
}

/** The last rows, as many as are of one fit: their devices stand one behind the other. */
function giveBackAlike(fleet: Fleet, slot: number, from: number): void {
  const { ledger } = fleet;
  const fit = ledger.fits[ledger.size - 1]!;
  let tasks = 0;
  let runs = 0;
  let at = 0;
  let last = ledger.size - 1;
  for (; last >= from && ledger.slot[last] === slot && ledger.fits[last] === fit; last--) {
    tasks += ledger.tasks[last]!;
    runs += ledger.first[last]!;
    at = ledger.devicesAt[last]!;
    ledger.removeLast();
  }
  fleet.changeTasks(-1, slot, tasks, fit, ledger.devices, at, tasks * fit.count, fit.milli);
  for (; runs > 0; runs--) fleet.leaveRun(slot);
}

/** Rows of the fleet's ledger: in the order they were chosen; of each group, lower ranks first. */
export interface Placement {
  readonly from: number;
  to: number;
  /** Rank 0's node, and the rendezvous port on it; -1 before there is one. */
  portSlot: number;
  port: number;
}

/** Gives back everything a placement took; placements are undone in reverse order. */
export function undo(fleet: Fleet, placement: Placement): void {
  undoTo(fleet, placement, { to: placement.from, port: -1, portSlot: -1 });
}

/** Gives back what it took after it stood at `mark`. */
export function undoTo(fleet: Fleet, placement: Placement, mark: Omit<Placement, 'from'>): void {
  if (placement.port >= 0 && mark.port < 0) releasePort(fleet.ports[placement.portSlot]!, placement.port);
  giveBack(fleet, mark.to);
  placement.to = mark.to;
  placement.port = mark.port;
  placement.portSlot = mark.portSlot;
}
