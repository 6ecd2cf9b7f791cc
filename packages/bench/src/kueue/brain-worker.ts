// The leader's engine on its own thread and connection, as in production, except that what it commits is also told to the
// simulated driver, which would otherwise have to read the log again.
import { parentPort, workerData } from 'node:worker_threads';
import { startBrain, type World } from '@muster/control';
import { loadEngine } from '@muster/engine';
import type { NodeId, RunId } from '@muster/model';
import { openStore, type Store } from '@muster/store';

/** Runs that start, and runs that are to be stopped for another job. */
export interface Told {
  readonly starts: readonly {
    readonly run: RunId;
    readonly tasks: readonly { rank: number; node: NodeId }[];
  }[];
  readonly stops: readonly RunId[];
}

export interface BrainData {
  readonly databaseUrl: string;
  readonly epoch: number;
}

const { databaseUrl, epoch } = workerData as BrainData;
const port = parentPort!;
const store = await openStore({ url: databaseUrl });

const told: Store['commitPlan'] = async (leading, plan, trace) => {
  const answer = await store.commitPlan(leading, plan, trace);
  if (answer.outcome === 'committed') {
    const applied = new Set(answer.value.applied);
    const claimed = new Set(answer.value.claimed);
    const message: Told = {
      starts: plan.units.flatMap((unit) =>
        unit.kind === 'start' && applied.has(unit.run)
          ? [{ run: unit.run, tasks: unit.tasks.map(({ rank, node }) => ({ rank, node })) }]
          : [],
      ),
      stops: plan.units.flatMap((unit) =>
        unit.kind === 'preempt' && claimed.has(unit.job) ? unit.claim.victims.map(({ run }) => run) : [],
      ),
    };
    port.postMessage(message);
  }
  return answer;
};

const onBug = (error: unknown): void => {
  throw error instanceof Error ? error : new Error(String(error));
};
const warn = (fields: object, message: string): void => {
  process.stderr.write(`brain: ${message} ${JSON.stringify(fields)}\n`);
};
const quiet = (): void => {};
const world: World = {
  clock: { monotonicMs: () => performance.now() },
  timers: {
    after(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  },
  random: Math.random,
  log: { debug: quiet, info: quiet, warn, error: warn },
};
const brain = await startBrain({ world, store: { ...store, commitPlan: told }, load: loadEngine, onBug });
brain.lead(epoch);
port.on('message', () => void stop());
port.postMessage('ready');

async function stop(): Promise<void> {
  port.postMessage(brain.status());
  await brain.stop();
  await store.close();
  port.close();
}
