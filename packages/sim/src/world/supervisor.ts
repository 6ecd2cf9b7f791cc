// The supervisor of a machine, as architecture.md section 7 has it: it claims a key once for ever, starts a task only when a
// renewal names it, keeps its deadline, and outlives the agent. Its journal is on the machine's disk: a reboot keeps which
// keys were claimed and what was running, and nothing that runs.
import type { Observation, RunId, StartCommand, StopCommand, TaskExit, TaskReport } from '@muster/model';
import type { Ground, LiveTask } from './ground.ts';
import type { VirtualProcess } from './process.ts';
import type { Program, Programs } from './programs.ts';

export interface SupervisorDeps {
  readonly process: VirtualProcess;
  readonly ground: Ground;
  readonly programs: Programs;
  readonly node: LiveTask['node'];
  /** Tells the agent, when there is one. */
  readonly news: (item: Observation) => void;
}

interface Task {
  readonly run: RunId;
  readonly rank: number;
  readonly command: StartCommand;
  phase: 'accepted' | 'running' | 'ended';
  exit: TaskExit | null;
  live: LiveTask | null;
  startedMs: number;
  program: Program | null;
  /** Absolute, by the machine's clock; null: nothing says when it must end. */
  deadlineMs: number | null;
  stop: { readonly class: StopCommand['class']; readonly message: string } | null;
  cancels: (() => void)[];
  cancelLease: () => void;
}

const infrastructure = (code: string): TaskExit => ({
  ok: false,
  class: 'infrastructure',
  code: null,
  signal: null,
  reason: { code, message: code },
});

/** A process needs a moment to begin. */
const launchMs = 20;
const politeMs = 30;

/** What a machine's disk keeps of a supervisor. */
export interface Journal {
  readonly claims: Set<string>;
  readonly tasks: readonly TaskReport[];
}

export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #tasks = new Map<string, Task>();
  readonly #claims: Set<string>;

  constructor(deps: SupervisorDeps, journal: Journal | null = null) {
    this.#deps = deps;
    this.#claims = journal?.claims ?? new Set();
    for (const { run, rank, exit } of journal?.tasks ?? []) this.#recover(run, rank, exit);
  }

  #recover(run: RunId, rank: number, exit: TaskExit | null): void {
    const ended = exit ?? infrastructure('node-restarted');
    this.#tasks.set(keyOf(run, rank), {
      ...fresh(run, rank, {} as StartCommand),
      phase: 'ended',
      exit: ended,
    });
  }

  /** What the disk has of it. */
  journal(): Journal {
    return { claims: this.#claims, tasks: this.reports() };
  }

  reports(): TaskReport[] {
    return [...this.#tasks.values()].map(({ run, rank, phase, exit }) => ({ run, rank, state: phase, exit }));
  }

  /** Keys that a beat names. */
  liveRuns(): RunId[] {
    const live = [...this.#tasks.values()].filter(({ phase }) => phase !== 'ended');
    return [...new Set(live.map(({ run }) => run))];
  }

  prepare(command: StartCommand): void {
    for (const { rank } of command.tasks) {
      const key = keyOf(command.run, rank);
      if (this.#claims.has(key)) continue;
      this.#claims.add(key);
      this.#tasks.set(key, fresh(command.run, rank, command));
    }
  }

  /** A renewal named the run: its tasks may live until then, and start if they have not. */
  renew(run: RunId, deadlineMs: number | null, stopAfterMs: number | null): void {
    for (const task of this.#of(run)) {
      if (task.phase === 'ended') continue;
      if (deadlineMs !== null) task.deadlineMs = Math.max(task.deadlineMs ?? 0, deadlineMs);
      this.#keepDeadline(task, stopAfterMs);
      if (task.phase === 'accepted' && task.stop === null) this.#start(task);
    }
  }

  /** The kill falls inside the deadline by a margin, the signal a grace earlier. */
  #keepDeadline(task: Task, stopAfterMs: number | null): void {
    task.cancelLease();
    if (task.deadlineMs === null || stopAfterMs === null) return;
    const killAtMs = task.deadlineMs - Math.min(500, stopAfterMs / 20);
    const signalAtMs = killAtMs - Math.min(task.command.stop.graceMs, stopAfterMs / 3);
    const nowMs = this.#nowMs();
    const cancelSignal = this.#after(signalAtMs - nowMs, () =>
      this.#signal(task, infrastructure('lease-expired')),
    );
    const cancelKill = this.#after(killAtMs - nowMs, () => this.#end(task, infrastructure('lease-expired')));
    task.cancelLease = () => {
      cancelSignal();
      cancelKill();
    };
  }

  #start(task: Task): void {
    const { ground, node, programs, process } = this.#deps;
    if (task.deadlineMs !== null && task.deadlineMs <= this.#nowMs()) return;
    task.phase = 'running';
    task.startedMs = this.#nowMs();
    const { run, rank } = task;
    const program = programs.of(run, rank);
    task.program = program;
    task.live = { node, run, rank, fenced: true, executes: () => process.executes };
    ground.started(task.live);
    this.#deps.news({ kind: 'started', run, rank, pid: 1 });
    if (program.endsAfterMs !== null)
      task.cancels.push(this.#after(launchMs + program.endsAfterMs, () => this.#end(task, program.exit)));
    const { timeLimitMs } = task.command;
    if (timeLimitMs !== null)
      task.cancels.push(this.#after(timeLimitMs, () => this.#stop(task, 'timeout', 'time limit reached')));
    this.#checkpointLater(task);
  }

  #checkpointLater(task: Task): void {
    const everyMs = task.program?.checkpointEveryMs ?? null;
    if (everyMs === null || task.rank !== 0) return;
    task.cancels.push(
      this.#after(everyMs, () => {
        this.#checkpoint(task);
        this.#checkpointLater(task);
      }),
    );
  }

  #checkpoint(task: Task): void {
    if (task.phase !== 'running') return;
    const { run, rank } = task;
    this.#deps.programs.save(run, this.#nowMs() - task.startedMs);
    this.#deps.news({ kind: 'checkpoint', run, rank, step: null, path: '/saved', agoMs: 0 });
  }

  stop(command: StopCommand): void {
    for (const task of this.#of(command.run)) {
      if (command.ask && task.phase === 'running') {
        // It saves its work, or not; then it is stopped as said.
        if (task.program?.checkpointEveryMs) this.#after(100, () => this.#checkpoint(task));
        this.#after(command.ask.waitMs, () => this.#stop(task, command.class, command.reason));
      } else this.#stop(task, command.class, command.reason);
    }
  }

  /** The server no longer knows the run as live. */
  forbid(run: RunId): void {
    for (const task of this.#of(run)) this.#stop(task, 'infrastructure', 'lease lost');
  }

  #stop(task: Task, errorClass: StopCommand['class'], message: string): void {
    if (task.phase === 'ended' || task.stop !== null) return;
    task.stop = { class: errorClass, message };
    const code = errorClass === 'infrastructure' ? 'lease-lost' : errorClass;
    const exit: TaskExit = {
      ok: false,
      class: errorClass,
      code: null,
      signal: 'SIGTERM',
      reason: { code, message },
    };
    if (task.phase === 'accepted') {
      this.#end(task, exit);
      return;
    }
    this.#signal(task, exit);
    task.cancels.push(this.#after(task.command.stop.graceMs, () => this.#end(task, exit)));
  }

  #signal(task: Task, exit: TaskExit): void {
    if (task.phase === 'accepted') this.#end(task, exit);
    else if (task.program && !task.program.stubborn)
      task.cancels.push(this.#after(politeMs, () => this.#end(task, exit)));
  }

  #end(task: Task, exit: TaskExit): void {
    if (task.phase === 'ended') return;
    task.phase = 'ended';
    task.exit = exit;
    task.cancelLease();
    for (const cancel of task.cancels) cancel();
    task.cancels = [];
    if (task.live) this.#deps.ground.ended(task.live);
    task.live = null;
    this.#deps.news({ kind: 'ended', run: task.run, rank: task.rank, exit });
  }

  /** The server has these ends. */
  acknowledge(items: readonly Observation[]): void {
    for (const { kind, run, rank } of items) if (kind === 'ended') this.#tasks.delete(keyOf(run, rank));
  }

  /** Everything it keeps is killed with it: the machine went down, or the supervisor died and its successor cleared up. */
  perish(): void {
    for (const { live } of this.#tasks.values()) if (live) this.#deps.ground.ended(live);
  }

  /** Nothing it had planned happens any more. */
  abandon(): void {
    for (const task of this.#tasks.values()) {
      task.cancelLease();
      for (const cancel of task.cancels) cancel();
      task.phase = 'ended';
    }
  }

  #of(run: RunId): Task[] {
    return [...this.#tasks.values()].filter((task) => task.run === run);
  }

  #nowMs(): number {
    return this.#deps.process.clock.monotonicMs();
  }

  #after(ms: number, callback: () => void): () => void {
    return this.#deps.process.timers.after(ms, callback);
  }
}

function fresh(run: RunId, rank: number, command: StartCommand): Task {
  return {
    run,
    rank,
    command,
    phase: 'accepted',
    exit: null,
    live: null,
    startedMs: 0,
    program: null,
    deadlineMs: null,
    stop: null,
    cancels: [],
    cancelLease: () => {},
  };
}

function keyOf(run: RunId, rank: number): string {
  return `${run}/${rank}`;
}
