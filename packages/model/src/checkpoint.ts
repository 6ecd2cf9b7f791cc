// The checkpoint contract: a program tells that its work is saved, and what it would lose is counted from there. It says so
// by replacing the file $MUSTER_STATUS_FILE, or by POST /v1/runs/self/checkpoint with $MUSTER_RUN_TOKEN. Any rank may;
// the newest word counts for the whole run. Its output is never read for it.
import * as z from 'zod';
import { parseRunId, type RunId } from './ids.ts';

/** Progress that a run has saved, as it told. */
export interface Checkpoint {
  readonly step: number | null;
  readonly path: string | null;
}

/** Work that a run has saved: from its start to its last checkpoint. */
export function savedMsOf(run: {
  readonly startedMs: number | null;
  readonly checkpointMs: number | null;
}): number {
  const { startedMs, checkpointMs } = run;
  return startedMs === null || checkpointMs === null ? 0 : Math.max(0, checkpointMs - startedMs);
}

export const checkpointStep = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
export const checkpointPath = z.string().max(1000);

export const checkpointSchema = z.strictObject({
  step: checkpointStep
    .nullable()
    .default(null)
    .meta({ description: 'how far the work has come, in whatever the program counts' }),
  path: checkpointPath.nullable().default(null).meta({ description: 'where the checkpoint is' }),
});

/** What is in a status file, or why it says nothing. Unknown fields are the program's own business. */
export function parseStatus(text: string): Checkpoint | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { step, path } = value as Record<string, unknown>;
  const parsed = checkpointSchema.safeParse({ step: step ?? null, path: path ?? null });
  return parsed.success ? parsed.data : null;
}

/**
 * Where a job keeps its checkpoints below a cluster's directory for them: the same for every attempt and in every cluster, and for
 * no other job. A member of an array has one below its array's.
 */
export function checkpointFolder(run: RunId): string {
  return (parseRunId(run)?.job ?? run).replace(/\[(\d+)\]$/, '/$1');
}

/** A run's checkpoints are logged at most so often; the last word before a stop always is. */
export const checkpointEveryMs = 10_000;
