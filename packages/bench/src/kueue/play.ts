// Plays a workload against the durable control plane: submits when the schedule says, and a simulated driver that ends each run
// when its time is over. Every submit, every admission and every end is a committed write; many share a transaction.
import { randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import {
  freshId,
  type JobDemand,
  type JobId,
  type JobSpec,
  jobDemand,
  type NodeId,
  type Observation,
  parseRunId,
  type RunId,
  type TaskExit,
} from '@muster/model';
import type { Submit } from '@muster/store';
import type { Lifetime } from '../lifetime.ts';
import { Agenda } from './agenda.ts';
import type { Arrival } from './arrivals.ts';
import type { KueueBed } from './bed.ts';
import type { BrainData, Told } from './brain-worker.ts';
import { specOf } from './mapping.ts';

export interface Played {
  readonly wallMs: number;
  readonly admissions: number;
  readonly preemptions: number;
  /** From creation to admission, by class. */
  readonly waitsMs: ReadonlyMap<string, readonly number[]>;
}

interface Job {
  readonly arrival: Arrival;
  readonly createdMs: number;
}

/** A schedule that stands still this long is stuck. */
const stuckMs = 120_000;

export async function play(
  { store, databaseUrl, epoch, sessions }: KueueBed,
  arrivals: readonly Arrival[],
  lifetime: Lifetime,
): Promise<Played> {
  const jobs = new Map<JobId, Job>();
  const running = new Map<RunId, Told['starts'][number]>();
  const waitsMs = new Map<string, number[]>();
  const done = Promise.withResolvers<void>();
  const fail = (error: unknown): void => done.reject(error as Error);
  const specs = specTable();
  let admissions = 0;
  let preemptions = 0;
  let ended = 0;
  let movedMs = performance.now();

  const submits = new Agenda<Arrival>((due) => void submit(due).catch(fail));
  const ends = new Agenda<RunId>((due) => void end(due, { ok: true }).catch(fail));

  async function submit(due: readonly Arrival[]): Promise<void> {
    const createdMs = performance.now();
    const items = due.map((arrival): Submit => {
      const id = freshId('job', Date.now(), randomBytes(9));
      jobs.set(id, { arrival, createdMs });
      const [spec, demand] = specs(arrival);
      return { id, spec, demand, principal: 'bench', key: null, bodyHash: '', held: false };
    });
    for (const { outcome } of await store.submitMany(items))
      if (outcome !== 'committed') throw new Error(`a submit was ${outcome}`);
  }

  async function end(due: readonly RunId[], exit: TaskExit): Promise<void> {
    const byNode = new Map<NodeId, Observation[]>();
    for (const run of due) {
      const started = running.get(run);
      if (!started) continue;
      running.delete(run);
      for (const { rank, node } of started.tasks) {
        const items = byNode.get(node) ?? [];
        items.push({ kind: 'ended', run, rank, exit });
        byNode.set(node, items);
      }
      if (exit.ok) ended++;
    }
    await Promise.all(
      [...byNode].map(async ([node, items]) => {
        const { outcome } = await store.observe(sessions.get(node)!, items);
        if (outcome !== 'committed') throw new Error(`an observation was ${outcome}`);
      }),
    );
    movedMs = performance.now();
    if (ended === arrivals.length && running.size === 0) done.resolve();
  }

  function hear({ starts, stops }: Told): void {
    const nowMs = performance.now();
    movedMs = nowMs;
    for (const start of starts) {
      const { arrival, createdMs } = jobs.get(parseRunId(start.run)!.job)!;
      const { className, runtimeMs } = arrival.workload;
      admissions++;
      running.set(start.run, start);
      const waits = waitsMs.get(className) ?? [];
      waits.push(nowMs - createdMs);
      waitsMs.set(className, waits);
      ends.add(nowMs + runtimeMs, start.run);
    }
    preemptions += stops.length;
    if (stops.length > 0) void end(stops, preempted).catch(fail);
  }

  const brain = await startBrain({ databaseUrl, epoch }, hear, fail, lifetime);
  const watch = setInterval(() => {
    if (performance.now() - movedMs > stuckMs)
      fail(new Error(`${ended} of ${arrivals.length} workloads have ended and nothing moves`));
  }, 1000);
  const beganMs = performance.now();
  for (let i = arrivals.length - 1; i >= 0; i--) submits.add(beganMs + arrivals[i]!.atMs, arrivals[i]!);
  try {
    await done.promise;
    return { wallMs: performance.now() - beganMs, admissions, preemptions, waitsMs };
  } finally {
    clearInterval(watch);
    submits.stop();
    ends.stop();
    await brain.stop();
  }
}

const preempted: TaskExit = {
  ok: false,
  class: 'preemption',
  code: null,
  signal: 'TERM',
  reason: { code: 'preempted', message: 'stopped for another job' },
};

/** One spec a queue and class: making each anew would measure the parser. */
function specTable(): (arrival: Arrival) => readonly [JobSpec, JobDemand] {
  const made = new Map<string, readonly [JobSpec, JobDemand]>();
  return ({ queue, workload }) => {
    const key = `${queue} ${workload.className}`;
    let entry = made.get(key);
    if (!entry) {
      const spec = specOf(queue, workload);
      entry = [spec, jobDemand(spec)];
      made.set(key, entry);
    }
    return entry;
  };
}

async function startBrain(
  workerData: BrainData,
  hear: (told: Told) => void,
  fail: (error: unknown) => void,
  lifetime: Lifetime,
): Promise<{ stop(): Promise<void> }> {
  const worker = new Worker(new URL('./brain-worker.ts', import.meta.url), { workerData });
  lifetime.add(async () => void (await worker.terminate()));
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    worker.once('error', reject);
  });
  worker.on('error', fail);
  worker.on('message', (message: Told | { readonly cycles: number }) => {
    if ('starts' in message) hear(message);
  });
  return {
    async stop() {
      const exited = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage('stop');
      await exited;
    },
  };
}
