// The main thread's side of thread-protocol.ts: asks a worker and waits for its answers. When the worker ends without being
// told to, or meets a bug, everything asked fails and its owner decides what that means.
import { Worker } from 'node:worker_threads';
import { OperationalError, type ProblemCode } from '@muster/model';
import type { Log } from '../world.ts';
import type { FromWorker, ToWorker, WorkerData } from './thread-protocol.ts';

export interface LinkOptions {
  /** The worker's file beside this one, without its ending. */
  readonly entry: string;
  readonly databaseUrl: string;
  readonly log: Log;
  /** For people, when what was asked fails: "the engine thread". */
  readonly name: string;
  onStatus?(status: unknown): void;
  /** It is gone and was not told to go; `asked` is how many questions failed with it. */
  onGone(error: Error, asked: number): void;
}

interface Pending {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
  readonly progress: ((progress: never) => void) | null;
}

export interface WorkerLink<Asked, Told> {
  /** Settles once the worker answers questions, or cannot. */
  readonly ready: Promise<void>;
  /** Questions that have no answer yet. */
  readonly asked: number;
  ask<T, Progress = never>(
    asked: Asked,
    progress?: ((progress: Progress) => void) | null,
    signal?: AbortSignal,
  ): Promise<T>;
  tell(told: Told): void;
  stop(): Promise<void>;
}

export function linkWorker<Asked, Told = never>(options: LinkOptions): WorkerLink<Asked, Told> {
  const { entry, databaseUrl, log, name, onGone } = options;
  // Compiled releases hold .js beside this file, checkouts .ts.
  const ending = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const workerData: WorkerData = { databaseUrl };
  const worker = new Worker(new URL(`./${entry}${ending}`, import.meta.url), { workerData });
  const pending = new Map<number, Pending>();
  const { promise: ready, resolve: isReady, reject: isNot } = Promise.withResolvers<void>();
  // Whoever does not wait for it hears of it by onGone.
  ready.catch(() => {});
  let nextId = 1;
  let stopping = false;
  let gone = false;

  function lost(error: Error): void {
    if (gone) return;
    gone = true;
    const asked = pending.size;
    isNot(new OperationalError('unavailable', `${name} has ended: ${error.message}`));
    for (const { reject } of pending.values())
      reject(new OperationalError('unavailable', `${name} has ended; ask again`));
    pending.clear();
    if (!stopping) onGone(error, asked);
  }

  function take(id: number): Pending | undefined {
    const found = pending.get(id);
    pending.delete(id);
    return found;
  }

  function receive(message: FromWorker): void {
    switch (message.type) {
      case 'ready':
        isReady();
        break;
      case 'status':
        options.onStatus?.(message.status);
        break;
      case 'log':
        log[message.level](message.fields, message.message);
        break;
      case 'progress':
        pending.get(message.id)?.progress?.(message.progress as never);
        break;
      case 'answer':
        take(message.id)?.resolve(message.answer as never);
        break;
      case 'failed':
        take(message.id)?.reject(new OperationalError(message.code as ProblemCode, message.message));
        break;
      case 'bug':
        lost(new Error(`${name} met a bug: ${message.stack}`));
        void worker.terminate();
    }
  }

  worker.on('message', receive);
  worker.on('error', lost);
  worker.on('exit', (code) => lost(new Error(`${name} ended with code ${code}`)));
  const send = (message: ToWorker<Asked, Told>): void => worker.postMessage(message);

  return {
    ready,
    get asked() {
      return pending.size;
    },
    ask(asked, progress = null, signal) {
      const id = nextId++;
      signal?.addEventListener('abort', () => send({ type: 'cancel', id }));
      return new Promise((resolve, reject) => {
        if (gone) return reject(new OperationalError('unavailable', `${name} has ended; ask again`));
        pending.set(id, { resolve, reject, progress });
        send({ type: 'ask', id, asked });
      });
    },
    tell: (told) => send({ type: 'tell', told }),
    async stop() {
      stopping = true;
      if (gone) return;
      const exited = new Promise((resolve) => worker.once('exit', resolve));
      send({ type: 'stop' });
      await exited;
    },
  };
}
