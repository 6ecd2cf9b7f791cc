// The second engine seen from the main thread. The thread is started by the first question and ends when none came for a
// while: most servers are never asked, and a snapshot is written a few times a day. A question that fails with a bug fails
// alone: the thread is replaced, and nothing that decides was in it.
import { Worker } from 'node:worker_threads';
import {
  OperationalError,
  type ProblemCode,
  type ReplayProgress,
  type ReplayReport,
  type Score,
  type WhatIf,
} from '@muster/model';
import type { SnapshotRow } from '@muster/store';
import type { Questions } from '../questions.ts';
import type { Log } from '../world.ts';
import type { Asked, FromQuestions, QuestionsWorkerData, ToQuestions } from './questions-protocol.ts';

export interface QuestionsThreadOptions {
  readonly databaseUrl: string;
  readonly log: Log;
}

interface Pending {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
  readonly progress: ((progress: ReplayProgress) => void) | null;
}

const idleMs = 600_000;

export function questionsThread({ databaseUrl, log }: QuestionsThreadOptions): Questions {
  const workerData: QuestionsWorkerData = { databaseUrl };
  const pending = new Map<number, Pending>();
  let worker: Worker | null = null;
  let nextId = 1;
  let idle: NodeJS.Timeout | undefined;
  let closed = false;

  function started(): Worker {
    if (worker) return worker;
    // Compiled releases hold .js beside this file, checkouts .ts.
    const entry = import.meta.url.endsWith('.ts') ? './questions-worker.ts' : './questions-worker.js';
    const made = new Worker(new URL(entry, import.meta.url), { workerData });
    made.on('message', receive);
    made.on('error', (error) => lost(made, error.message));
    made.on('exit', (code) => lost(made, `it ended with code ${code}`));
    worker = made;
    return made;
  }

  function lost(which: Worker, why: string): void {
    if (worker !== which) return;
    worker = null;
    if (pending.size > 0) log.error({ why }, 'the thread that answers questions has ended');
    for (const { reject } of pending.values())
      reject(new OperationalError('unavailable', 'the thread that answers questions has ended; ask again'));
    pending.clear();
  }

  function receive(message: FromQuestions): void {
    switch (message.type) {
      case 'log':
        log[message.level](message.fields, message.message);
        return;
      case 'progress':
        pending.get(message.id)?.progress?.(message.progress);
        return;
      case 'answer':
        take(message.id)?.resolve(message.answer as never);
        return;
      case 'failed':
        take(message.id)?.reject(new OperationalError(message.code as ProblemCode, message.message));
        return;
      case 'bug': {
        log.error({ stack: message.stack }, 'a question met a bug');
        const broken = worker;
        if (broken) lost(broken, 'a bug');
        void broken?.terminate();
        return;
      }
    }
  }

  function take(id: number): Pending | undefined {
    const found = pending.get(id);
    pending.delete(id);
    clearTimeout(idle);
    if (pending.size === 0) idle = setTimeout(() => void rest(), idleMs).unref();
    return found;
  }

  function ask<T>(asked: Asked, progress: Pending['progress'] = null, signal?: AbortSignal): Promise<T> {
    if (closed) return Promise.reject(new OperationalError('unavailable', 'the server is stopping'));
    const id = nextId++;
    clearTimeout(idle);
    const to = started();
    signal?.addEventListener('abort', () => to.postMessage({ type: 'cancel', id } satisfies ToQuestions));
    return new Promise((resolve, reject) => {
      pending.set(id, { resolve, reject, progress });
      to.postMessage({ type: 'ask', id, asked } satisfies ToQuestions);
    });
  }

  /** Ends the thread; the next question starts another. */
  async function rest(): Promise<void> {
    clearTimeout(idle);
    const ending = worker;
    if (!ending) return;
    const exited = new Promise((resolve) => ending.once('exit', resolve));
    ending.postMessage({ type: 'stop' } satisfies ToQuestions);
    await exited;
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
