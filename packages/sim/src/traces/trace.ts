// A trace: who asked when for how much, and how long it then ran. Columns instead of objects, because a replay walks a
// hundred thousand jobs in less than a second. Jobs stand in the order in which they came; their number in that order is
// what all of `sim` calls a job by.

export interface Trace {
  /** Where it is from, as a person would say it: a file's name. */
  readonly name: string;
  readonly format: string;
  readonly count: number;
  /** Counted from the first submit of the trace; never falls. */
  readonly submitMs: Float64Array;
  /** How long it ran on what it asked for, above zero. */
  readonly runMs: Float64Array;
  /** How long its user said it may run; 0 when nobody said. */
  readonly askedMs: Float64Array;
  /** Devices (processors, nodes, GPUs: what the format counts), above zero. */
  readonly size: Int32Array;
  /** Thousandths of each of its devices; below 1000 it shares one. */
  readonly milli: Int32Array;
  /** Numbers into `names`. */
  readonly user: Int32Array;
  readonly project: Int32Array;
  readonly program: Int32Array;
  /** Where in the file it stands, from 1. */
  readonly line: Int32Array;
  readonly names: TraceNames;
  /** Wall time of the first submit, where the file tells it. */
  readonly originMs: number | null;
  /** Whether its jobs save their work now and then: else Muster's policy stops nobody for one that is expected to be shorter. */
  readonly savesWork: boolean;
  /** Devices of the machine, where the file tells it. */
  readonly machineDevices: number | null;
}

export interface TraceNames {
  readonly users: readonly string[];
  readonly projects: readonly string[];
  readonly programs: readonly string[];
}

/** What became of the rows of a file. Every row is a job, excluded for a stated reason, or bad and named. */
export interface ReadReport {
  readonly file: string;
  readonly rows: number;
  readonly jobs: number;
  readonly excluded: readonly Excluded[];
  readonly badCount: number;
  /** The first of them. */
  readonly bad: readonly BadRow[];
  /** What was assumed, in whole sentences. */
  readonly notes: readonly string[];
}

export interface Excluded {
  readonly reason: string;
  readonly count: number;
  readonly firstLine: number;
}

export interface BadRow {
  readonly line: number;
  readonly why: string;
}
