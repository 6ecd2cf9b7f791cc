// A controller that was killed before it wrote that a job began comes back with it as one that waits, while its script runs (measured).
// Cancelled then, it counts as over at once and nothing reaches its processes, for minutes. So it is left alone until every node has
// registered: a node is told there to end what the controller takes for waiting (reliability.md, section 4). Then it is cancelled, unless
// it was started again before, found its key claimed and did nothing.
import type { RunId } from '@muster/model';
import type { SlurmJob } from './listing.ts';
import type { Evidence } from './run-directory.ts';

export interface LostStart {
  readonly run: RunId;
  readonly job: SlurmJob;
  /** Where it ran. */
  readonly nodes: readonly string[];
}

/** Whether the job runs, or ran, though its controller says that it waits: it, or the job that it is a part of, claimed the key. */
export function isLostStart({ id, phase, isPart }: SlurmJob, evidence: Evidence | null): boolean {
  const claimant = evidence?.claim?.job ?? null;
  return phase === 'waits' && claimant !== null && (id === claimant || isPart);
}

/** Those of which nothing runs any more. */
export function overLostStarts(
  lost: readonly LostStart[],
  { settled, silent }: { readonly settled: boolean; readonly silent: ReadonlySet<string> },
): readonly LostStart[] {
  return settled ? lost.filter(({ nodes }) => !nodes.some((node) => silent.has(node))) : [];
}
