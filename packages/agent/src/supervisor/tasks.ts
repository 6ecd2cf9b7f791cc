// All tasks of this node and what may be done to them. A task is claimed once ever, starts only after a renewal gave it a
// lease, and is kept after its end until the server has acknowledged it. Every change goes to the journal first.
import type { RunId, TaskExit } from '@muster/model';
import { exitUnstarted, infrastructure } from './exit.ts';
import type { Journal, JournalRecord } from './journal.ts';
import { startTicks } from './processes.ts';
import {
  type Lease,
  type StopRequest,
  type TaskKey,
  type TaskSpec,
  type TaskStatus,
  taskKey,
} from './protocol.ts';
import { dropOldest, type Recovered, snapshot } from './recover.ts';
import { type TaskDeps, TaskProcess } from './task-process.ts';

type Entry =
  /** The claim is on its way to the disk; a lease may come before it. */
  | { readonly phase: 'claiming' | 'accepted'; readonly spec: TaskSpec; lease: Lease | null }
  /** Stopped before it started, and its end is being written: a lease that comes meanwhile starts nothing. */
  | { readonly phase: 'stopped'; readonly spec: TaskSpec; readonly end: Promise<void> }
  /** From before the process exists, so that a stop finds it, until nothing of it is left. */
  | { readonly phase: 'running'; readonly spec: TaskSpec; readonly process: TaskProcess }
  | { readonly phase: 'ended'; readonly spec: TaskSpec; readonly exit: TaskExit };

export interface TaskEvents {
  readonly accepted: (run: RunId, rank: number) => void;
  readonly started: (run: RunId, rank: number, pid: number) => void;
  readonly ended: (run: RunId, rank: number, exit: TaskExit) => void;
  /** Something about this task's output or life may have changed. */
  readonly changed: (key: TaskKey) => void;
  /** Deadlines may have changed. */
  readonly poke: () => void;
}

const defaultCompactAboveBytes = 64 * 1024 * 1024;

export class Tasks {
  readonly #entries = new Map<TaskKey, Entry>();
  readonly #keysByRun = new Map<RunId, Set<TaskKey>>();
  readonly #claims: Map<TaskKey, number>;
  readonly #journal: Journal;
  readonly #bootId: string;
  readonly #deps: TaskDeps;
  readonly #events: TaskEvents;
  readonly #compactAboveBytes: number;
  #compactAtBytes: number;

  constructor(
    journal: Journal,
    recovered: Recovered,
    bootId: string,
    deps: TaskDeps,
    events: TaskEvents,
    compactAboveBytes = defaultCompactAboveBytes,
  ) {
    this.#journal = journal;
    this.#compactAboveBytes = compactAboveBytes;
    this.#compactAtBytes = compactAboveBytes;
    this.#claims = recovered.claims;
    this.#bootId = bootId;
    this.#deps = deps;
    this.#events = events;
    for (const { key, spec, exit } of recovered.tasks)
      this.#add(key, exit ? { phase: 'ended', spec, exit } : { phase: 'accepted', spec, lease: null });
  }

  /** Whether this process must stay: what is only accepted or ended is in the journal. */
  get busy(): boolean {
    for (const { phase } of this.#entries.values())
      if (phase === 'claiming' || phase === 'stopped' || phase === 'running') return true;
    return false;
  }

  list(): TaskStatus[] {
    return [...this.#entries.values()].map((entry) => {
      const { run, rank } = entry.spec;
      const exit = entry.phase === 'ended' ? entry.exit : null;
      const state = exit ? 'ended' : entry.phase === 'running' ? 'running' : 'accepted';
      return { run, rank, state, exit };
    });
  }

  /** Resolves when the claims are on the disk. Claiming again is no error and starts nothing. */
  async prepare(specs: readonly TaskSpec[]): Promise<void> {
    const fresh = specs.filter((spec) => !this.#claims.has(taskKey(spec.run, spec.rank)));
    await Promise.all(fresh.map((spec) => this.#claim(spec)));
  }

  async #claim(spec: TaskSpec): Promise<void> {
    const key = taskKey(spec.run, spec.rank);
    const atMs = Date.now();
    this.#claims.set(key, atMs);
    this.#add(key, { phase: 'claiming', spec, lease: null });
    try {
      await this.#journal.append({ r: 'claim', key, atMs, spec }, true);
    } catch (error) {
      // Never accepted, so it may be sent again; if the line did reach the disk, the next supervisor ends it.
      this.#claims.delete(key);
      this.#forget(key, spec.run);
      throw error;
    }
    const entry = this.#entries.get(key);
    if (entry?.phase !== 'claiming') return;
    this.#entries.set(key, { phase: 'accepted', spec, lease: null });
    this.#events.accepted(spec.run, spec.rank);
    if (entry.lease) void this.#begin(key, spec, entry.lease);
  }

  renew(run: RunId, lease: Lease): void {
    for (const [key, entry] of this.#of(run)) {
      if (entry.phase === 'running') entry.process.renew(lease);
      if (entry.phase === 'claiming') entry.lease = lease;
      if (entry.phase === 'accepted') void this.#begin(key, entry.spec, lease);
    }
    this.#events.poke();
  }

  async stop(run: RunId, request: StopRequest): Promise<void> {
    const ends: Promise<void>[] = [];
    for (const [key, entry] of this.#of(run)) {
      if (entry.phase === 'running') entry.process.stop(request);
      if (entry.phase === 'stopped') ends.push(entry.end);
      if (entry.phase === 'claiming' || entry.phase === 'accepted')
        ends.push(this.#endUnstarted(key, entry.spec, request));
    }
    this.#events.poke();
    await Promise.all(ends);
  }

  acknowledge(keys: readonly TaskKey[]): void {
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry?.phase !== 'ended') continue;
      this.#forget(key, entry.spec.run);
      this.#write({ r: 'acked', key });
    }
    if (this.#journal.sizeBytes >= this.#compactAtBytes) void this.#compact();
  }

  async #compact(): Promise<void> {
    this.#compactAtBytes = Number.POSITIVE_INFINITY;
    await this.#journal.compact(() => this.#snapshot());
    // What is left may itself be large: compact again only when it has doubled.
    this.#compactAtBytes = Math.max(this.#compactAboveBytes, this.#journal.sizeBytes * 2);
  }

  look(key: TaskKey): { readonly size: number; readonly live: boolean; readonly known: boolean } {
    const entry = this.#entries.get(key);
    const size = entry?.phase === 'running' ? entry.process.outputSize : 0;
    return { size, live: entry !== undefined && entry.phase !== 'ended', known: this.#claims.has(key) };
  }

  /** Carries out what is due, and says when to look again. */
  check(nowMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const entry of this.#entries.values())
      if (entry.phase === 'running') nextMs = Math.min(nextMs, entry.process.check(nowMs));
    return nextMs;
  }

  #of(run: RunId): [TaskKey, Entry][] {
    return [...(this.#keysByRun.get(run) ?? [])].flatMap((key) => {
      const entry = this.#entries.get(key);
      return entry ? [[key, entry] satisfies [TaskKey, Entry]] : [];
    });
  }

  #add(key: TaskKey, entry: Entry): void {
    this.#entries.set(key, entry);
    const keys = this.#keysByRun.get(entry.spec.run);
    if (keys) keys.add(key);
    else this.#keysByRun.set(entry.spec.run, new Set([key]));
  }

  #forget(key: TaskKey, run: RunId): void {
    this.#entries.delete(key);
    const keys = this.#keysByRun.get(run);
    keys?.delete(key);
    if (keys?.size === 0) this.#keysByRun.delete(run);
  }

  /** The journal knows of it before the process exists; starts that come together share one write of it. */
  async #begin(key: TaskKey, spec: TaskSpec, lease: Lease): Promise<void> {
    const process = new TaskProcess(key, spec, lease, this.#deps, {
      started: (pid) => {
        this.#write({ r: 'pid', key, pid, startTicks: startTicks(pid) ?? 0 });
        this.#events.started(spec.run, spec.rank, pid);
        this.#events.poke();
      },
      grew: () => this.#events.changed(key),
      ended: (exit) => void this.#end(key, spec, exit),
    });
    this.#entries.set(key, { phase: 'running', spec, process });
    try {
      await this.#journal.append({ r: 'starting', key });
    } catch (error) {
      const message = `the node could not write: ${(error as Error).message}`;
      return this.#end(key, spec, infrastructure('disk', message));
    }
    await process.start();
  }

  #endUnstarted(key: TaskKey, spec: TaskSpec, request: StopRequest): Promise<void> {
    const end = this.#end(key, spec, exitUnstarted(request));
    this.#entries.set(key, { phase: 'stopped', spec, end });
    return end;
  }

  async #end(key: TaskKey, spec: TaskSpec, exit: TaskExit): Promise<void> {
    // Told after it is written, so that a crash in between does not tell two stories. If it cannot be written, it is told
    // all the same: an end that nobody hears of would hold its devices for ever.
    await this.#journal.append({ r: 'exit', key, exit }).catch((error) => console.error(String(error)));
    this.#entries.set(key, { phase: 'ended', spec, exit });
    this.#events.ended(spec.run, spec.rank, exit);
    this.#events.changed(key);
  }

  #write(record: JournalRecord): void {
    this.#journal.append(record).catch((error) => console.error(String(error)));
  }

  #snapshot(): JournalRecord[] {
    dropOldest(this.#claims, (key) => this.#entries.has(key));
    return snapshot(
      this.#bootId,
      this.#claims,
      [...this.#entries].map(([key, entry]) => ({
        key,
        spec: entry.spec,
        started: entry.phase === 'running',
        pid: entry.phase === 'running' ? entry.process.pid : 0,
        exit: entry.phase === 'ended' ? entry.exit : null,
      })),
    );
  }
}
