// The worker's side of thread-protocol.ts: answers what is asked, forwards its log, and says when it met a bug.
import { parentPort, workerData } from 'node:worker_threads';
import { invariant, OperationalError } from '@muster/model';
import type { Log } from '../world.ts';
import type { FromWorker, ToWorker, WorkerData } from './thread-protocol.ts';

export interface Answers<Asked, Told> {
  answer(asked: Asked, progress: (progress: unknown) => void, signal: AbortSignal): Promise<unknown>;
  told(told: Told): void;
  stop(): Promise<void>;
}

export interface WorkerSide {
  readonly databaseUrl: string;
  readonly log: Log;
  onBug(error: unknown): void;
  status(status: unknown): void;
  /** From here on it answers. */
  serve<Asked, Told>(answers: Answers<Asked, Told>): void;
}

export function workerSide(): WorkerSide {
  const port = parentPort;
  invariant(port, 'this file runs only as a worker thread');
  const say = (message: FromWorker): void => port.postMessage(message);
  const level = (name: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
    say({ type: 'log', level: name, fields, message });
  const under = new Map<number, AbortController>();

  function onBug(error: unknown): void {
    say({ type: 'bug', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }

  function ask<Asked, Told>(answers: Answers<Asked, Told>, id: number, asked: Asked): void {
    const abort = new AbortController();
    under.set(id, abort);
    answers
      .answer(asked, (progress) => say({ type: 'progress', id, progress }), abort.signal)
      .then(
        (answer) => say({ type: 'answer', id, answer }),
        (error: unknown) => {
          if (error instanceof OperationalError)
            say({ type: 'failed', id, code: error.code, message: error.message });
          else onBug(error);
        },
      )
      .finally(() => under.delete(id));
  }

  async function stop(answers: Pick<Answers<never, never>, 'stop'>): Promise<void> {
    for (const abort of under.values()) abort.abort();
    await answers.stop();
    port?.close();
  }

  return {
    databaseUrl: (workerData as WorkerData).databaseUrl,
    log: { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') },
    onBug,
    status: (status) => say({ type: 'status', status }),
    serve<Asked, Told>(answers: Answers<Asked, Told>) {
      port.on('message', (message: ToWorker<Asked, Told>) => {
        switch (message.type) {
          case 'ask':
            return ask(answers, message.id, message.asked);
          case 'cancel':
            return under.get(message.id)?.abort();
          case 'tell':
            return answers.told(message.told);
          case 'stop':
            return void stop(answers);
        }
      });
      say({ type: 'ready' });
    },
  };
}
