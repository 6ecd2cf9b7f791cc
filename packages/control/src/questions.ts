// The second engine: it answers what would be (`whatif`) and what was (`replay`), and writes the snapshots a replay starts from.
// In production it lives in a worker thread of its own, so that neither the API nor a decision waits for a question. Its engine
// is loaded from rows when the first question comes, fed while questions come, and dropped when none do.
import type { Engine, JobRequest, LoadEngine } from '@muster/engine';
import { encodeRows } from '@muster/engine';
import type {
  ReplayProgress,
  ReplayReport,
  ReplayRequest,
  Score,
  WhatIf,
  WhatIfQuestion,
} from '@muster/model';
import type { SnapshotRow, Store } from '@muster/store';
import { catchUp, LogGap } from './cycle.ts';
import { replay } from './replay.ts';
import { changesOf } from './what-if-changes.ts';
import type { World } from './world.ts';

export interface QuestionsDeps {
  readonly world: World;
  readonly store: Store;
  readonly load: LoadEngine;
}

export interface Questions {
  /** At a sequence of at least `atLeast`. */
  whatIf(question: WhatIfQuestion, atLeast: number): Promise<WhatIf>;
  /** Where the tasks of a request could go, and what each place costs; `known` when a job that waits asks for just this. */
  score(request: JobRequest, known: boolean): Promise<Score>;
  /** Ends early, with an error, once `signal` says so. */
  replay(
    request: ReplayRequest,
    progress: (progress: ReplayProgress) => void,
    signal: AbortSignal,
  ): Promise<ReplayReport>;
  /** Writes a snapshot of now; null when it was refused, and the log says why. */
  snapshot(epoch: number, bytesMax: number): Promise<SnapshotRow | null>;
  stop(): Promise<void>;
}

/** Steps that a what-if looks ahead. Each starts at least one job, and a plan starts all it can, so few are needed. */
const cyclesMax = 100;
/** A million jobs are half a gigabyte: too much to keep for a question that may never come. */
const keepMs = 300_000;

export function createQuestions({ world, store, load }: QuestionsDeps): Questions {
  let engine: Promise<Engine> | null = null;
  let dropLater: () => void = () => {};

  async function fed(): Promise<Engine> {
    dropLater();
    dropLater = world.timers.after(keepMs, () => {
      engine = null;
    });
    engine ??= store.loadEngine().then(load);
    try {
      const ready = await engine;
      await catchUp(ready, store);
      return ready;
    } catch (error) {
      engine = null;
      // The log was cut behind it: rows know more.
      if (error instanceof LogGap) return fed();
      throw error;
    }
  }

  return {
    async whatIf(question, atLeast) {
      // What was committed up to `atLeast` is in the log, and the log is read to its end.
      const live = await fed();
      const nowMs = await store.nowMs();
      const changes = await changesOf({ engine: live, store, nowMs }, question);
      const answer = live.whatIf(changes, nowMs, cyclesMax);
      if (answer.sequence < atLeast) world.log.warn({ atLeast }, 'a what-if was asked about a future event');
      return answer;
    },
    score: async (request, known) => (await fed()).score(request, known, await store.nowMs()),
    replay: (request, progress, signal) =>
      replay({ store, load, progress, cancelled: () => signal.aborted }, request),
    async snapshot(epoch, bytesMax) {
      const rows = await store.loadEngine();
      const saved = await store.saveSnapshot(epoch, rows.sequence, encodeRows(rows), bytesMax);
      if (saved.outcome === 'committed') return saved.value;
      if (saved.outcome === 'refused' && saved.refusal === 'too-large')
        world.log.warn(
          { bytesMax, jobs: rows.jobs.length },
          'a snapshot is larger than allowed; old events are kept until one can be written',
        );
      return null;
    },
    async stop() {
      dropLater();
      engine = null;
    },
  };
}
