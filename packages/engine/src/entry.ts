// How waiting jobs are grouped.
//   Entry: jobs of equal project, user, tier, priority, duration, deadline, time to restore and demand; one verdict for all.
//   Lane:  entries of one project, user and demand: what room and ceilings say of one they say of all.
// Starved jobs stand apart: entries and lanes list them separately.
import type { EntryFacts } from '@muster/model';
import type { Duration } from './expected-end.ts';
import type { Line } from './lines.ts';
import type { Standing } from './order.ts';
import type { Project } from './projects.ts';
import type { Reason } from './reason.ts';
import type { Shape } from './shape.ts';
import type { SortedInts } from './sorted-ints.ts';
import type { Head } from './turns.ts';

export interface Entry extends Standing {
  readonly id: number;
  readonly lane: Lane;
  readonly facts: EntryFacts;
  rank: number;
  urgent: boolean;
  latestStartMs: number;
  aheadMs: number;
  starvesAfterMs: number;
  duration: Duration;
  /** How long a job of it is taken to run when it would pass a planned start. */
  passMs: number;
  /** What its jobs stand back by, for the time that they are expected to run. */
  behindMs: number;
  line: Line;
  /** Waiting jobs that are not starved, first come first. */
  readonly jobs: SortedInts;
  /** Starved ones, longest waiting first; made when there is one. */
  starved: SortedInts | null;
  /** Of all these, those whose runs have saved some of their work. */
  readonly saved: Set<number>;
  /** Jobs of this entry in any state. */
  uses: number;
  /** The reason last returned by `decide`; what was told is a cache, not state. */
  told: Reason | null;
}

export interface Lane {
  readonly id: number;
  readonly key: string;
  readonly shape: Shape;
  readonly project: Project;
  readonly user: string;
  /** Entries with waiting jobs: first in the order first, and by their longest waiting starved job. */
  readonly entries: SortedInts;
  readonly starved: SortedInts;
  /** Entries of this lane, waiting or not. */
  uses: number;
  waiting: number;
  gated: Gate | null;
  /** How a walk takes up its first entry that has jobs in line (turns.ts); null when that has to be found out anew. */
  head: Head | null;
}

/** A ceiling that keeps a lane out of line. */
export interface Gate {
  /** Where use must go down. */
  readonly at: Project;
  readonly reason: Reason;
}

/** Waiting jobs of the entry, starved or not. */
export function waitingOf(entry: Entry): number {
  return entry.jobs.size + (entry.starved?.size ?? 0);
}

export function keyIn(entry: Entry): string {
  return keyOf(entry.lane.shape, entry.facts);
}

/** Inside one queue; the user comes last, because nothing is forbidden in its name. */
export function keyOf(
  { id }: Shape,
  { project, user, tier, priority, durationMs, deadlineMs, estimate, restoreMs }: EntryFacts,
): string {
  const said = estimate ? `${estimate.expectedMs}/${estimate.p90Ms}` : '';
  return `${id}|${project}|${tier}|${priority}|${durationMs}|${deadlineMs}|${said}|${restoreMs ?? ''}|${user}`;
}
