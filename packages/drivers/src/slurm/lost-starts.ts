// A controller that was killed before it wrote that a job began comes back with it as one that waits, while its script runs (measured).
// Cancelled then, it counts as over at once and nothing reaches its processes, for minutes. So it is left alone until every node has
// registered: a node that reports what the controller takes for waiting is told to end it. Then it is cancelled, unless it was started
// again before, found its key claimed and did nothing (0013, point 18).
import type { RunId } from '@muster/model';
import type { SlurmJob } from './listing.ts';
import type { Evidence } from './run-directory.ts';

export interface LostStart {
  readonly run: RunId;
  readonly job: SlurmJob;
  readonly evidence: Evidence;
}

/**
 * Whether the job runs, or ran, though its controller says that it waits: it, or the job that it is a part of, claimed the key. One
 * that somebody had Slurm put back into the queue waits indeed.
 */
export function isLostStart(
  { id, phase, partOf, restarts }: SlurmJob,
  evidence: Pick<Evidence, 'claim'> | null,
): boolean {
  const claimant = evidence?.claim?.job ?? null;
  return phase === 'waits' && restarts === 0 && claimant !== null && (id === claimant || partOf === claimant);
}

/** Those of which nothing runs any more. */
export function overLostStarts(
  lost: readonly LostStart[],
  { settled, silent }: { readonly settled: boolean; readonly silent: ReadonlySet<string> },
): readonly LostStart[] {
  return settled ? lost.filter(({ evidence }) => !evidence.tasks.some(({ node }) => silent.has(node))) : [];
}
