// The worker thread's entry: the second engine on its own database connection.
import { parentPort, workerData } from 'node:worker_threads';
import { loadEngine } from '@muster/engine';
import { invariant, OperationalError } from '@muster/model';
import { openStore } from '@muster/store';
import { createQuestions } from '../questions.ts';
import type { Log } from '../world.ts';
import type { Asked, FromQuestions, QuestionsWorkerData, ToQuestions } from './questions-protocol.ts';
import { realWorld } from './real-world.ts';

const port = parentPort;
invariant(port, 'questions-worker.ts runs only as a worker thread');
const tell = (message: FromQuestions): void => port.postMessage(message);

const level = (name: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
  tell({ type: 'log', level: name, fields, message });
const log: Log = { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };

const { databaseUrl } = workerData as QuestionsWorkerData;
const store = await openStore({ url: databaseUrl });
const questions = createQuestions({ world: realWorld(log), store, load: loadEngine });
const under = new Map<number, AbortController>();

/** Progress is for eyes. */
const progressEveryMs = 100;

function answerTo(id: number, asked: Asked, signal: AbortSignal): Promise<unknown> {
  switch (asked.what) {
    case 'whatIf':
      return questions.whatIf(asked.question, asked.atLeast);
    case 'score':
      return questions.score(asked.request, asked.known);
    case 'snapshot':
      return questions.snapshot(asked.epoch, asked.bytesMax);
    case 'replay': {
      let toldMs = 0;
      return questions.replay(
        asked.request,
        (progress) => {
          if (performance.now() - toldMs < progressEveryMs) return;
          toldMs = performance.now();
          tell({ type: 'progress', id, progress });
        },
        signal,
      );
    }
  }
}

function ask(id: number, asked: Asked): void {
  const abort = new AbortController();
  under.set(id, abort);
  answerTo(id, asked, abort.signal)
    .then(
      (answer) => tell({ type: 'answer', id, answer }),
      (error: unknown) => {
        if (error instanceof OperationalError)
          tell({ type: 'failed', id, code: error.code, message: error.message });
        else
          tell({
            type: 'bug',
            stack: error instanceof Error ? (error.stack ?? error.message) : String(error),
          });
      },
    )
    .finally(() => under.delete(id));
}

port.on('message', (message: ToQuestions) => {
  switch (message.type) {
    case 'ask':
      return ask(message.id, message.asked);
    case 'cancel':
      return under.get(message.id)?.abort();
    case 'stop':
      return void stop();
  }
});

async function stop(): Promise<void> {
  for (const abort of under.values()) abort.abort();
  await questions.stop();
  await store.close();
  port?.close();
}
