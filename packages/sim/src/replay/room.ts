// What is free on a machine, as the replayed policies see it. Two kinds: devices that are merely counted (`counted-room.ts`), and
// nodes of several devices, on which a job is placed as tightly as possible (`node-room.ts`).
//
// A *shadow* is the same machine at a later moment: a policy gives it the devices of runs that will have ended by then and takes
// those of the jobs it plans. It knows where the runs are, but what is taken from it is nobody's.

/** What the stage needs of a machine: who holds what. */
export interface Holding {
  readonly devices: number;
  readonly free: number;
  /** Free devices on nodes that are partly in use. */
  readonly scattered: number;
  /** Whether a job of this size has a place when nothing runs. */
  everFits(size: number): boolean;
  take(job: number, size: number): void;
  give(job: number, size: number): void;
}

/** What a policy needs that looks for places itself. */
export interface Room extends Holding {
  /** The nodes of a job that has a place, numbered through the fleet; devices that are merely counted are one node. */
  nodesOf(job: number): readonly number[];
  /** Whether a job of this size has a place now. */
  fits(size: number): boolean;
  shadow(): Shadow;
  /** Whether it has a place now that is also free in the shadow. */
  fitsBeside(size: number, shadow: Shadow): boolean;
  /** Takes such a place in both. */
  takeBeside(job: number, size: number, shadow: Shadow): void;
}

export interface Shadow {
  readonly free: number;
  fits(size: number): boolean;
  /** The run of this job has ended by then. */
  give(job: number, size: number): void;
  take(size: number): void;
}
