// The brain seen from the main thread: the same interface, answered over messages by brain-worker.ts.
import { Worker } from 'node:worker_threads';
import { type Ledger, OperationalError, type ProblemCode } from '@muster/model';
import type { Brain, BrainStatus } from '../brain.ts';
import type { Explained } from '../control-plane.ts';
import type { Log } from '../world.ts';
import type { BrainAnswer, BrainWorkerData, FromBrain, ToBrain } from './brain-protocol.ts';

export interface BrainThreadOptions {
  readonly databaseUrl: string;
  readonly log: Log;
  /** The brain is gone and will not come back: the process must end and start clean. */
  readonly onBug: (error: unknown) => void;
}

interface Pending {
  readonly resolve: (answer: BrainAnswer) => void;
  readonly reject: (error: Error) => void;
}

export async function startBrainThread({ databaseUrl, log, onBug }: BrainThreadOptions): Promise<Brain> {
  const workerData: BrainWorkerData = { databaseUrl };
  // Compiled releases hold .js beside this file, checkouts .ts.
  const entry = import.meta.url.endsWith('.ts') ? './brain-worker.ts' : './brain-worker.js';
  const worker = new Worker(new URL(entry, import.meta.url), { workerData });
  const pending = new Map<number, Pending>();
  let nextId = 1;
  let stopping = false;
  let status: BrainStatus = { sequence: 0, cycles: 0, placements: 0, lastCycleMs: null, trouble: null };

  const ready = new Promise<void>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', (code) =>
      reject(new OperationalError('unavailable', `the engine thread ended with code ${code}`)),
    );
    worker.on('message', (message: FromBrain) => {
      if (message.type === 'ready') resolve();
      else receive(message);
    });
  });

  function receive(message: Exclude<FromBrain, { type: 'ready' }>): void {
    switch (message.type) {
      case 'status':
        status = message.status;
        return;
      case 'log':
        log[message.level](message.fields, message.message);
        return;
      case 'bug':
        onBug(new Error(`the engine thread met a bug: ${message.stack}`));
        return;
      case 'answer':
        take(message.id)?.resolve(message.answer);
        return;
      case 'failed':
        take(message.id)?.reject(new OperationalError(message.code as ProblemCode, message.message));
        return;
    }
  }

  function take(id: number): Pending | undefined {
    const found = pending.get(id);
    pending.delete(id);
    return found;
  }

  function ask<T extends BrainAnswer>(message: (id: number) => ToBrain): Promise<T> {
    const id = nextId++;
    return new Promise((resolve, reject) => {
      // The answer is of the kind that was asked for.
      pending.set(id, { resolve: (answer) => resolve(answer as T), reject });
      worker.postMessage(message(id));
    });
  }

  const tell = (message: ToBrain): void => worker.postMessage(message);
  await ready;
  worker.on('error', onBug);
  worker.on('exit', (code) => {
    for (const { reject } of pending.values())
      reject(new OperationalError('unavailable', 'the engine thread has ended'));
    if (!stopping) onBug(new Error(`the engine thread ended with code ${code}`));
  });

  return {
    lead: (epoch) => tell({ type: 'lead', epoch }),
    explain: (job, atLeast, whole = false) =>
      ask<Explained>((id) => ({ type: 'explain', id, job, atLeast, whole })),
    consider: (request) => ask<Explained>((id) => ({ type: 'consider', id, request })),
    ledger: (atLeast) => ask<Ledger>((id) => ({ type: 'ledger', id, atLeast })),
    status: () => status,
    async stop() {
      stopping = true;
      const exited = new Promise((resolve) => worker.once('exit', resolve));
      tell({ type: 'stop' });
      await exited;
    },
  };
}
