// What is new of the tasks that a cluster lists, against what was told of them before.
import type { TaskReport } from '@muster/model';
import type { HeldTask, Seen } from '@muster/store';
import type { ClusterReport } from './cluster-driver.ts';

/** What was told of a task. */
export interface Told {
  readonly state: TaskReport['state'];
  /** Its last word of saved work; null when it never spoke. */
  readonly word: string | null;
  /** What kept it in its cluster, in words; null when nothing did. */
  readonly halt: string | null;
}

export function asTold({ run, rank, state, exit, halt }: ClusterReport): HeldTask {
  return { run, rank, state, exit, ...(halt ? { halt } : {}) };
}

/** A hello tells nothing of saved work: that is still to be told. */
export function withoutSaved({ saved: _, ...task }: ClusterReport): ClusterReport {
  return task;
}

export function toldOf({ state, saved, halt }: ClusterReport): Told {
  return { state, word: saved?.word ?? null, halt: halt?.message ?? null };
}

/** What is new of a task, in the order in which it came to be: work is saved before an end. */
export function observations(
  told: ReadonlyMap<string, Told>,
  { run, rank, state, exit, began, saved, halt }: ClusterReport,
): Seen[] {
  const before = told.get(`${run}/${rank}`);
  if (before?.state === 'ended') return [];
  const news: Seen[] = [];
  if (state !== 'ended' && (halt?.message ?? null) !== (before?.halt ?? null))
    news.push({ kind: 'halt', run, rank, halt: halt ?? null });
  if (state === 'accepted') return news;
  if (began && before?.state !== 'running') news.push({ kind: 'started', run, rank, pid: 1 });
  if (saved && before?.word !== saved.word) {
    const { agoMs, step, path } = saved;
    news.push({ kind: 'checkpoint', run, rank, agoMs, step, path });
  }
  if (exit) news.push({ kind: 'ended', run, rank, exit });
  return news;
}
