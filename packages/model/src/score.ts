// The choice among places as a table: every kind of place where a task could run, with each term of its score in millionths of
// money, and what would have to happen before the job starts there. Made by the engine; what it chooses by is in decision
// 0007, section 4.

/** Each is for an hour of one task's work. */
export interface HourlyTerms {
  /** What it takes there, at the policy's prices, if the hardware were as fast as the first alternative. */
  readonly price: number;
  /** What the same work costs more because the hardware is slower; below 0 when it is faster. */
  readonly speed: number;
  /** Preferences that are not met. */
  readonly preference: number;
  /** What is expected to be lost, because the nodes are not fully trusted. */
  readonly trust: number;
  /** Free devices that would be left without the cores that go with them; below 0 when fewer would be. */
  readonly fragmentation: number;
}

/** Each is for one task, once. */
export interface OnceTerms {
  /** An hour of waiting until there is room counts like an hour of the work. */
  readonly waiting: number;
  /** Lost work of the runs that would be stopped for it. */
  readonly preemption: number;
  /** Bringing its data there: its part of the money, and its own hours until the data has come. */
  readonly transfer: number;
}

/**
 * How the group would start if it could go there only: at once (or it does so with other places beside it), by stopping others,
 * after known ends, not that anybody knows, or never, because the place holds only a part of it.
 */
export type ScoreHow = 'now' | 'preempts' | 'waits' | 'unknown' | 'part';

export interface ScoreRow extends HourlyTerms, OnceTerms {
  readonly group: string;
  /** The place of the alternative in the request, from 0. */
  readonly alternative: number;
  readonly cluster: string;
  readonly pool: string;
  /** The label `capacity` of its nodes. */
  readonly capacity: string | null;
  /** Its labels `region` and `instance-type`, where a price depends on them. */
  readonly region: string | null;
  readonly instanceType: string | null;
  /** Models of the devices a task would get there. */
  readonly models: readonly string[];
  readonly trustMilli: number;
  readonly how: ScoreHow;
  /** Until the last of the known ends that make room; 0 when nothing has to end. */
  readonly waitMs: number;
  /** Runs that would be stopped. */
  readonly victims: number;
  /** Hourly terms over the work of one task, and the others. */
  readonly total: number;
  /** Nodes of this kind that take work, and how many tasks they hold now, countable resources of their places included. */
  readonly nodes: number;
  readonly tasksFit: number;
  /** Tasks that the engine would put there if the job were next. */
  readonly chosen: number;
}

export interface Score {
  /** The event and the time it was made at. */
  readonly sequence: number;
  readonly nowMs: number;
  /** How long the work of a task is taken to last: its time limit, or its tier's default. */
  readonly workMs: number;
  /** By group as written, then how soon it starts, then lowest total first. */
  readonly rows: readonly ScoreRow[];
}

/** As the API tells it: terms and totals in money, not in millionths. */
export interface ScoreView extends Omit<Score, 'nowMs'> {
  readonly at: string;
  /** Where its tasks are, in words; null for a job that has none anywhere now. */
  readonly placed: string | null;
}
