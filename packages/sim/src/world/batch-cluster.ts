// A batch system of a virtual world, with the oddities that were measured on real ones (reliability.md, section 4).
//   Slurm-like: the controller writes its state every few seconds; killed, it forgets jobs that it has acknowledged, gives their
//   ids to others, and ends what its nodes still run of them once they have registered again. A name may be used twice.
//   Kubernetes-like: what was stored is kept, and a name is used once while its object exists.
// In both, a request to a paused controller times out for the caller and is carried out when the controller goes on.

import type { OutputAnswer, OutputRequest } from '@muster/drivers';
import type { BatchSystem } from '@muster/drivers/sim';
import type { NodeId, RunId, StartCommand, StopCommand, TaskExit, TaskReport } from '@muster/model';
import type { Random } from '../random.ts';
import type { Ground, LiveTask } from './ground.ts';
import type { VirtualProcess } from './process.ts';
import type { Programs } from './programs.ts';
import type { Scheduler } from './scheduler.ts';

export interface BatchClusterDeps {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly ground: Ground;
  readonly programs: Programs;
  readonly kind: 'slurm' | 'kubernetes';
  readonly nodes: readonly NodeId[];
}

interface BatchTask {
  readonly rank: number;
  live: LiveTask | null;
  exit: TaskExit | null;
}

interface BatchJob {
  readonly id: number;
  readonly name: string;
  readonly node: NodeId;
  readonly command: StartCommand;
  readonly tasks: BatchTask[];
  phase: 'pending' | 'running' | 'ended';
  /** Another job of this name has the key: it never ran, and is nobody's. */
  duplicate: boolean;
  saved: boolean;
  stopping: boolean;
}

export interface BatchListing {
  /** Counts the controller's starts. */
  readonly boot: number;
  /** Every node has registered since the last of them: what is not listed does not run. */
  readonly settled: boolean;
  readonly reports: (node: NodeId) => TaskReport[];
}

const saveEveryMs = 5000;
const registerMs = 3000;
const timeoutMs = 10_000;

/** The system as a process asks it; what comes back reaches the process only if it lives. */
export interface BatchClient extends BatchSystem {
  list(): Promise<BatchListing>;
}

export class BatchCluster {
  readonly deps: BatchClusterDeps;
  /** In the controller's memory, by when they came. */
  #jobs: BatchJob[] = [];
  /** On the nodes, whatever the controller knows of them. */
  readonly #onNodes = new Set<BatchJob>();
  readonly #claims = new Set<string>();
  #state: 'up' | 'paused' | 'down' = 'up';
  #waiting: (() => void)[] = [];
  #nextId = 1;
  #savedId = 1;
  #boot = 1;
  #upSinceMs = 0;
  #epoch = 0;
  #atNextSubmit: (() => void) | null = null;

  constructor(deps: BatchClusterDeps) {
    this.deps = deps;
    this.#saveLater();
  }

  client(process: VirtualProcess): BatchClient {
    const ask = <T>(work: () => T): Promise<T> => this.#ask(process, work);
    return {
      submit: (node, command, epoch) => {
        const act = this.#atNextSubmit;
        this.#atNextSubmit = null;
        act?.();
        return ask(() => this.#submit(node, command, epoch));
      },
      cancel: (node, command, epoch) => ask(() => this.#cancel(node, command, epoch)),
      find: (node, run) => ask(() => this.#reports(node).filter((report) => report.run === run)),
      list: () =>
        ask(() => {
          const settled = this.deps.scheduler.nowMs - this.#upSinceMs >= registerMs;
          return { boot: this.#boot, settled, reports: (node: NodeId) => this.#reports(node) };
        }),
      output: (request) => ask(() => this.#output(request)),
    };
  }

  #output({ node, run, rank, offset, maxBytes }: OutputRequest): OutputAnswer {
    const whole = Buffer.from(this.deps.programs.outputOf(run));
    const live = this.#reports(node).some((task) => task.run === run && task.rank === rank && !task.exit);
    const data = whole.subarray(offset, offset + maxBytes);
    return { offset, data, size: whole.length, end: !live && offset + data.length === whole.length };
  }

  #submit(node: NodeId, command: StartCommand, epoch: number): 'taken' | 'stale-epoch' {
    if (!this.#admit(epoch)) return 'stale-epoch';
    const name = nameOf(command.run, node);
    const exists = this.#jobs.some((job) => job.name === name);
    if (!(this.deps.kind === 'kubernetes' && exists)) this.#take(name, node, command);
    return 'taken';
  }

  #cancel(node: NodeId, command: StopCommand, epoch: number): 'taken' | 'stale-epoch' {
    if (!this.#admit(epoch)) return 'stale-epoch';
    for (const job of this.#named(command.run, node)) this.#stop(job, command);
    return 'taken';
  }

  /** Ends that the control plane has are no longer told of. */
  forget(run: RunId, node: NodeId): void {
    this.#jobs = this.#jobs.filter((job) => job.name !== nameOf(run, node) || job.phase !== 'ended');
  }

  /** The moment that hurts most: somebody submits. */
  atNextSubmit(act: () => void): void {
    this.#atNextSubmit = act;
  }

  pause(): void {
    if (this.#state === 'up') this.#state = 'paused';
  }

  kill(): void {
    this.#state = 'down';
    this.#waiting = [];
  }

  /** After a pause it carries out what waits; after a kill it starts from what was saved. */
  heal(): void {
    const { scheduler } = this.deps;
    if (this.#state === 'down') {
      this.#boot++;
      this.#upSinceMs = scheduler.nowMs;
      if (this.deps.kind === 'slurm') this.#startFromDisk();
    }
    this.#state = 'up';
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const carryOut of waiting) carryOut();
  }

  get holds(): number {
    return this.#onNodes.size;
  }

  #startFromDisk(): void {
    const forgotten = new Set([...this.#jobs, ...this.#onNodes].filter((job) => !job.saved));
    this.#jobs = this.#jobs.filter((job) => job.saved);
    this.#nextId = this.#savedId;
    this.deps.scheduler.after(registerMs - 1, () => {
      for (const job of forgotten) this.#kill(job);
    });
  }

  #saveLater(): void {
    this.deps.scheduler.after(saveEveryMs, () => {
      if (this.#state === 'up') {
        for (const job of this.#jobs) job.saved = true;
        this.#savedId = this.#nextId;
      }
      this.#saveLater();
    });
  }

  /** A question takes a moment; nobody answers for a controller that is down, and a paused one answers nobody in time. */
  #ask<T>(process: VirtualProcess, work: () => T): Promise<T> {
    const { scheduler, random } = this.deps;
    return new Promise((resolve, reject) => {
      scheduler.after(2 + random.below(20), () => {
        if (this.#state === 'up') {
          const value = work();
          scheduler.after(2 + random.below(20), () => process.deliver(() => resolve(value)));
          return;
        }
        if (this.#state === 'paused') this.#waiting.push(work);
        const afterMs = this.#state === 'paused' ? timeoutMs : 50;
        scheduler.after(afterMs, () =>
          process.deliver(() => reject(new Error('the controller does not answer'))),
        );
      });
    });
  }

  #admit(epoch: number): boolean {
    if (epoch < this.#epoch) return false;
    this.#epoch = epoch;
    return true;
  }

  #named(run: RunId, node: NodeId): BatchJob[] {
    return this.#jobs.filter((job) => job.name === nameOf(run, node));
  }

  #reports(node: NodeId): TaskReport[] {
    const own = this.#jobs.filter((job) => job.node === node && !job.duplicate);
    return own.flatMap((job) =>
      job.tasks.map(({ rank, exit }) => {
        const state = exit ? 'ended' : job.phase === 'running' ? 'running' : 'accepted';
        return { run: job.command.run, rank, state, exit } as const;
      }),
    );
  }

  #take(name: string, node: NodeId, command: StartCommand): void {
    const tasks = command.tasks.map(({ rank }) => ({ rank, live: null, exit: null }));
    const state = { phase: 'pending' as const, duplicate: false, saved: false, stopping: false };
    const job: BatchJob = { id: this.#nextId++, name, node, command, tasks, ...state };
    this.#jobs.push(job);
    this.deps.scheduler.after(100 + this.deps.random.below(400), () => this.#start(job));
  }

  /** The script's first act is to claim its key; who finds it claimed ends as a duplicate. */
  #start(job: BatchJob): void {
    if (job.phase !== 'pending' || !this.#jobs.includes(job)) return;
    if (this.#claims.has(job.name)) {
      job.duplicate = true;
      job.phase = 'ended';
      return;
    }
    this.#claims.add(job.name);
    job.phase = 'running';
    this.#onNodes.add(job);
    for (const task of job.tasks) this.#startTask(job, task);
    const { timeLimitMs } = job.command;
    if (timeLimitMs !== null)
      this.deps.scheduler.after(timeLimitMs, () => this.#end(job, failed('timeout', 'time limit reached')));
  }

  #startTask(job: BatchJob, task: BatchTask): void {
    const { ground, programs, scheduler } = this.deps;
    const { run } = job.command;
    const program = programs.of(run, task.rank);
    const fenced = !programs.isFenced(run);
    task.live = { node: job.node, run, rank: task.rank, fenced, executes: () => true };
    ground.started(task.live);
    if (program.checkpointEveryMs !== null && task.rank === 0)
      this.#saveWork(job, task, program.checkpointEveryMs, scheduler.nowMs);
    if (program.endsAfterMs !== null)
      scheduler.after(program.endsAfterMs, () => this.#endTask(job, task, program.exit));
  }

  /** Whatever the controller knows of it: what it writes to is not of the cluster. */
  #saveWork(job: BatchJob, task: BatchTask, everyMs: number, sinceMs: number): void {
    const { scheduler, programs } = this.deps;
    scheduler.after(everyMs, () => {
      if (task.live === null) return;
      programs.save(job.command.run, scheduler.nowMs - sinceMs);
      this.#saveWork(job, task, everyMs, sinceMs);
    });
  }

  #stop(job: BatchJob, { class: errorClass, reason, graceMs }: StopCommand): void {
    if (job.phase === 'ended' || job.stopping) return;
    job.stopping = true;
    // What comes later by this name finds the key claimed.
    this.#claims.add(job.name);
    const afterMs = job.phase === 'pending' ? 0 : Math.min(graceMs, 1000);
    this.deps.scheduler.after(afterMs, () => this.#end(job, failed(errorClass, reason)));
  }

  #kill(job: BatchJob): void {
    this.#end(job, failed('infrastructure', 'aborted: the controller does not know it'));
  }

  #end(job: BatchJob, exit: TaskExit): void {
    for (const task of job.tasks) this.#endTask(job, task, exit);
  }

  #endTask(job: BatchJob, task: BatchTask, exit: TaskExit): void {
    if (task.exit !== null || job.phase === 'ended') return;
    task.exit = exit;
    if (task.live) this.deps.ground.ended(task.live);
    task.live = null;
    if (job.tasks.some((one) => one.exit === null)) return;
    job.phase = 'ended';
    this.#onNodes.delete(job);
  }
}

function nameOf(run: RunId, node: NodeId): string {
  return `${run}@${node}`;
}

function failed(errorClass: StopCommand['class'], message: string): TaskExit {
  return { ok: false, class: errorClass, code: null, signal: null, reason: { code: errorClass, message } };
}
