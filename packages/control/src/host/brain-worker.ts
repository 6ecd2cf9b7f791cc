// The worker thread's entry: a brain on its own database connection.
import { parentPort, workerData } from 'node:worker_threads';
import { loadEngine } from '@muster/engine';
import { invariant, OperationalError } from '@muster/model';
import { openStore } from '@muster/store';
import { startBrain } from '../brain.ts';
import type { Log } from '../world.ts';
import type { BrainAnswer, BrainWorkerData, FromBrain, ToBrain } from './brain-protocol.ts';
import { realWorld } from './real-world.ts';

const port = parentPort;
invariant(port, 'brain-worker.ts runs only as a worker thread');
const tell = (message: FromBrain): void => port.postMessage(message);

const level = (name: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
  tell({ type: 'log', level: name, fields, message });
const log: Log = { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };

function onBug(error: unknown): void {
  tell({ type: 'bug', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}

const statusEveryMs = 250;

const { databaseUrl } = workerData as BrainWorkerData;
const store = await openStore({ url: databaseUrl });
const brain = await startBrain({ world: realWorld(log), store, load: loadEngine, onBug });
const statusTimer = setInterval(() => tell({ type: 'status', status: brain.status() }), statusEveryMs);

function answer(id: number, asked: Promise<BrainAnswer>): void {
  asked.then(
    (value) => tell({ type: 'answer', id, answer: value }),
    (error: unknown) => {
      if (error instanceof OperationalError)
        tell({ type: 'failed', id, code: error.code, message: error.message });
      else onBug(error);
    },
  );
}

port.on('message', (message: ToBrain) => {
  switch (message.type) {
    case 'lead':
      return brain.lead(message.epoch);
    case 'explain':
      return answer(message.id, brain.explain(message.job, message.atLeast, message.whole));
    case 'consider':
      return answer(message.id, brain.consider(message.request));
    case 'ledger':
      return answer(message.id, brain.ledger(message.atLeast));
    case 'stop':
      return void stop();
  }
});

async function stop(): Promise<void> {
  clearInterval(statusTimer);
  await brain.stop();
  await store.close();
  port?.close();
}

tell({ type: 'ready' });
