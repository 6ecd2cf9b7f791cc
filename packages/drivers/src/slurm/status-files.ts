// What tasks say of their saved work by their status files (the checkpoint contract), which lie in the directory that all nodes see.
// Looked at with every look at the cluster; told soon of a run that was asked for it, otherwise at most every few seconds a task.
import { checkpointEveryMs, parseStatus, type RunId } from '@muster/model';
import type { ListedReport, Saved } from '../listing-driver.ts';
import type { RunDirectories, StatusText } from './run-directory.ts';

/** What was last read of a task's file, and what was last told of it. */
interface Known {
  status: StatusText | null;
  saved: Saved | null;
  toldAtMs: number;
}

export class StatusFiles {
  readonly #directories: RunDirectories;
  readonly #known = new Map<RunId, Map<number, Known>>();
  /** Runs that were asked to save their work. */
  readonly #asked = new Set<RunId>();

  constructor(directories: RunDirectories) {
    this.#directories = directories;
  }

  /** From now on every word of it is told at once. */
  hurry(run: RunId): void {
    this.#asked.add(run);
  }

  forget(run: RunId): void {
    this.#asked.delete(run);
    this.#known.delete(run);
  }

  /** The reports, each with what its task has saved. */
  async added(reports: readonly ListedReport[]): Promise<ListedReport[]> {
    // The clock is looked at once, and only when there is something new.
    let nowMs: Promise<number> | null = null;
    const fileTimeMs = (): Promise<number> => {
      nowMs ??= this.#directories.nowMs();
      return nowMs;
    };
    // All at once: a login node is asked of all in one call.
    return Promise.all(
      reports.map(async (report) => {
        const saved = report.began ? await this.#savedBy(report, fileTimeMs) : null;
        return saved ? { ...report, saved } : report;
      }),
    );
  }

  async #savedBy(
    { run, rank, state }: ListedReport,
    fileTimeMs: () => Promise<number>,
  ): Promise<Saved | null> {
    const ofRun = this.#known.get(run) ?? new Map<number, Known>();
    const known = ofRun.get(rank) ?? { status: null, saved: null, toldAtMs: Number.NEGATIVE_INFINITY };
    this.#known.set(run, ofRun.set(rank, known));
    const status = await this.#directories.readStatus(run, rank, known.status);
    const isDue =
      performance.now() - known.toldAtMs >= checkpointEveryMs || state === 'ended' || this.#asked.has(run);
    if (status === null || status === known.status || !isDue) return known.saved;
    const checkpoint = parseStatus(status.text);
    known.status = status;
    if (checkpoint === null) return known.saved;
    const agoMs = Math.max(0, Math.round((await fileTimeMs()) - status.writtenMs));
    known.toldAtMs = performance.now();
    known.saved = { ...checkpoint, word: status.stamp, agoMs };
    return known.saved;
  }
}
