// The second engine seen from the main thread. The thread is started by the first question and ends when none came for a
// while: most servers are never asked, and a snapshot is written a few times a day. A question that fails with a bug fails
// alone: the thread is replaced, and nothing that decides was in it.
import {
  OperationalError,
  type ReplayProgress,
  type ReplayReport,
  type Score,
  type WhatIf,
} from '@muster/model';
import type { SnapshotRow } from '@muster/store';
import type { Questions } from '../questions.ts';
import type { Log } from '../world.ts';
import type { QuestionsAsked } from './questions-protocol.ts';
import { linkWorker, type WorkerLink } from './worker-link.ts';

export interface QuestionsThreadOptions {
  readonly databaseUrl: string;
  readonly log: Log;
}

const idleMs = 600_000;

export function questionsThread({ databaseUrl, log }: QuestionsThreadOptions): Questions {
  let link: WorkerLink<QuestionsAsked, never> | null = null;
  let idle: NodeJS.Timeout | undefined;
  let closed = false;

  function started(): WorkerLink<QuestionsAsked, never> {
    if (link) return link;
    const made = linkWorker<QuestionsAsked>({
      entry: 'questions-worker',
      databaseUrl,
      log,
      name: 'the thread that answers questions',
      onGone: (error, asked) => {
        if (link === made) link = null;
        if (asked > 0) log.error({ why: error.message }, 'the thread that answers questions has ended');
      },
    });
    link = made;
    return made;
  }

  async function ask<T>(
    asked: QuestionsAsked,
    progress: ((progress: ReplayProgress) => void) | null = null,
    signal?: AbortSignal,
  ): Promise<T> {
    if (closed) throw new OperationalError('unavailable', 'the server is stopping');
    clearTimeout(idle);
    const to = started();
    try {
      return await to.ask<T, ReplayProgress>(asked, progress, signal);
    } finally {
      clearTimeout(idle);
      if (!closed && to.asked === 0) idle = setTimeout(() => void rest(), idleMs).unref();
    }
  }

  /** Ends the thread; the next question starts another. */
  async function rest(): Promise<void> {
    clearTimeout(idle);
    const ending = link;
    link = null;
    await ending?.stop();
  }

  return {
    whatIf: (question, atLeast) => ask<WhatIf>({ what: 'whatIf', question, atLeast }),
    score: (request, known) => ask<Score>({ what: 'score', request, known }),
    replay: (request, progress, signal) => ask<ReplayReport>({ what: 'replay', request }, progress, signal),
    snapshot: (epoch, bytesMax) => ask<SnapshotRow | null>({ what: 'snapshot', epoch, bytesMax }),
    stop() {
      closed = true;
      return rest();
    },
  };
}
