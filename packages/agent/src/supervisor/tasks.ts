// All tasks of this node and what may be done to them. A task is claimed once ever, starts only after a renewal gave it a
// lease, and is kept after its end until the server has acknowledged it. Every change goes to the journal first.
import type { RunId, TaskExit } from '@muster/model';
import { infrastructure } from './exit.ts';
import type { Journal, JournalRecord } from './journal.ts';
import { startTicks } from './processes.ts';
import {
  type Lease,
  type StopRequest,
  supervisorVersion,
  type TaskKey,
  type TaskSpec,
  type TaskStatus,
  taskKey,
} from './protocol.ts';
import { type TaskDeps, TaskProcess } from './task-process.ts';
import { leaseStop } from './time-limits.ts';

type Entry =
  /** The claim is on its way to the disk; a lease may come before it. */
  | { readonly phase: 'claiming' | 'accepted'; readonly spec: TaskSpec; lease: Lease | null }
  /** The journal is being told before the process exists. */
  | { readonly phase: 'starting'; readonly spec: TaskSpec; lease: Lease; stop: StopRequest | null }
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

const claimsKept = 1_000_000;
const compactAboveBytes = 64 * 1024 * 1024;

export class Tasks {
  readonly #entries = new Map<TaskKey, Entry>();
  readonly #keysByRun = new Map<RunId, Set<TaskKey>>();
  readonly #claims: Map<TaskKey, number>;
  readonly #journal: Journal;
  readonly #bootId: string;
  readonly #deps: TaskDeps;
  readonly #events: TaskEvents;
  #toStart = new Set<TaskKey>();
  #startingBatch = false;
  #compactAtBytes = compactAboveBytes;

  constructor(journal: Journal, recovered: Recovered, bootId: string, deps: TaskDeps, events: TaskEvents) {
    this.#journal = journal;
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
      if (phase === 'claiming' || phase === 'starting' || phase === 'running') return true;
    return false;
  }

  list(): TaskStatus[] {
    return [...this.#entries.values()].map((entry) => {
      const { run, rank } = entry.spec;
      const exit = entry.phase === 'ended' ? entry.exit : null;
      const waits = entry.phase === 'claiming' || entry.phase === 'accepted';
      return { run, rank, state: exit ? 'ended' : waits ? 'accepted' : 'running', exit };
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
    this.#entries.set(key, { phase: 'accepted', spec, lease: entry.lease });
    this.#events.accepted(spec.run, spec.rank);
    if (entry.lease) this.#enqueue(key);
  }

  renew(run: RunId, lease: Lease): void {
    for (const [key, entry] of this.#of(run)) {
      if (entry.phase === 'running') entry.process.renew(lease);
      if (entry.phase === 'claiming' || entry.phase === 'starting') entry.lease = lease;
      if (entry.phase !== 'accepted') continue;
      entry.lease = lease;
      this.#enqueue(key);
    }
    this.#events.poke();
  }

  async stop(run: RunId, request: StopRequest): Promise<void> {
    const ends: Promise<void>[] = [];
    for (const [key, entry] of this.#of(run)) {
      if (entry.phase === 'running') entry.process.stop(request);
      if (entry.phase === 'starting') entry.stop = request;
      if (entry.phase === 'claiming' || entry.phase === 'accepted')
        ends.push(this.#endUnstarted(key, request));
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
    if (this.#journal.sizeBytes < this.#compactAtBytes) return;
    this.#journal.compact(() => this.#snapshot());
    // What is left may itself be large: compact again only when it has doubled.
    this.#compactAtBytes = Math.max(compactAboveBytes, this.#journal.sizeBytes * 2);
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

  #enqueue(key: TaskKey): void {
    this.#toStart.add(key);
    if (!this.#startingBatch) void this.#startAll();
  }

  async #startAll(): Promise<void> {
    this.#startingBatch = true;
    while (this.#toStart.size > 0) {
      const keys = [...this.#toStart];
      this.#toStart = new Set();
      const written = keys.map((key) => this.#markStarting(key));
      for (const [i, key] of keys.entries()) {
        const ok = await (written[i] ?? false);
        if (ok) await this.#start(key);
        // A process start takes a millisecond of this thread; messages and deadlines get their turn in between.
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    this.#startingBatch = false;
  }

  /** False when it must not start: ended meanwhile, or the journal cannot be written. */
  async #markStarting(key: TaskKey): Promise<boolean> {
    const entry = this.#entries.get(key);
    if (entry?.phase !== 'accepted' || !entry.lease) return false;
    const { spec, lease } = entry;
    this.#entries.set(key, { phase: 'starting', spec, lease, stop: null });
    try {
      await this.#journal.append({ r: 'starting', key });
      return true;
    } catch (error) {
      await this.#end(
        key,
        spec,
        infrastructure('disk', `the node could not write: ${(error as Error).message}`),
      );
      return false;
    }
  }

  async #start(key: TaskKey): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry?.phase !== 'starting') return;
    const { spec, lease, stop } = entry;
    const late = leaseStop(lease, spec.stop.graceMs);
    if (stop) return this.#end(key, spec, neverStarted(stop));
    if (late && this.#deps.nowMs() >= late.signalAtMs)
      return this.#end(key, spec, neverStarted(late.request));
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
    await process.start();
  }

  async #endUnstarted(key: TaskKey, request: StopRequest): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry) await this.#end(key, entry.spec, neverStarted(request));
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
    return snapshot(
      this.#bootId,
      this.#claims,
      [...this.#entries].map(([key, entry]) => ({
        key,
        spec: entry.spec,
        started: entry.phase === 'starting' || entry.phase === 'running',
        pid: entry.phase === 'running' ? entry.process.pid : 0,
        exit: entry.phase === 'ended' ? entry.exit : null,
      })),
    );
  }
}

function neverStarted({ class: errorClass, reason }: StopRequest): TaskExit {
  return { ok: false, class: errorClass, code: null, signal: null, reason };
}

export interface RecoveredTask {
  readonly key: TaskKey;
  readonly spec: TaskSpec;
  /** Null: accepted, never started. */
  readonly exit: TaskExit | null;
}

export interface Recovered {
  readonly claims: Map<TaskKey, number>;
  readonly tasks: readonly RecoveredTask[];
}

export interface SnapshotTask extends RecoveredTask {
  readonly started: boolean;
  readonly pid: number;
}

/** The journal's whole content, said again in the fewest words. */
export function snapshot(
  bootId: string,
  claims: ReadonlyMap<TaskKey, number>,
  tasks: readonly SnapshotTask[],
): JournalRecord[] {
  const records: JournalRecord[] = [{ r: 'open', version: supervisorVersion, bootId }];
  // A key this old is also kept from starting by the server, whose renewals no longer name it.
  const kept = [...claims].slice(-claimsKept);
  for (let i = 0; i < kept.length; i += 1000) records.push({ r: 'claimed', keys: kept.slice(i, i + 1000) });
  for (const { key, spec, started, pid, exit } of tasks) {
    records.push({ r: 'claim', key, atMs: claims.get(key) ?? 0, spec });
    if (started) records.push({ r: 'starting', key });
    if (pid > 0) records.push({ r: 'pid', key, pid, startTicks: startTicks(pid) ?? 0 });
    if (exit) records.push({ r: 'exit', key, exit });
  }
  return records;
}
