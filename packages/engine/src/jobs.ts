// Every job that is not ended, one row a job, one typed array a column: a million queued jobs are a few dozen megabytes
// and a copy is a handful of block moves. What only few jobs have (failures, nodes to avoid, who holds it) is kept aside.
import {
  type Failures,
  freshPast,
  invariant,
  type JobId,
  type JobPast,
  type NodeId,
  noFailures,
  type Preemption,
} from '@muster/model';
import { grown } from './columns.ts';
import { ForkMap } from './fork-map.ts';
import { copyPool, type Pool } from './pool.ts';

export const vacant = 0;
export const queued = 1;
export const held = 2;
/** Starting, running or stopping: what it holds is in its run. */
export const placed = 3;
/** An array of which no member is left that never started. */
export const spent = 4;
/** The index of whatever is no member: behind all members that it could be compared with. */
export const noIndex = 2 ** 31 - 1;

export class JobTable {
  slots = new ForkMap<JobId, number>();
  ids: JobId[] = [];
  state = new Uint8Array(0);
  /** 1 while the job stands in its entry's line, 2 while it waits for its backoff to end, 3 while it is starved, else 0. */
  line = new Uint8Array(0);
  entry = new Int32Array(0);
  version = new Float64Array(0);
  attempt = new Int32Array(0);
  /** Sequence of the event that submitted it. */
  submitted = new Float64Array(0);
  notBeforeMs = new Float64Array(0);
  submittedMs = new Float64Array(0);
  /** Of jobs in line: when they were submitted, and later by what their runs did beyond what was expected (expected-run.ts). */
  turnMs = new Float64Array(0);
  /** When the present wait began. */
  sinceMs = new Float64Array(0);
  /** Of members of arrays: the array's slot (-1 elsewhere) and the index in it. An array's own slot is its own. */
  array = new Int32Array(0);
  index = new Int32Array(0);
  readonly pools = new Map<number, Pool>();
  readonly #failures = new Map<number, Failures>();
  readonly #avoid = new Map<number, readonly NodeId[]>();
  readonly #heldBy = new Map<number, string>();
  readonly #failedMs = new Map<number, number>();
  readonly #preempted = new Map<number, readonly Preemption[]>();
  readonly #savedMs = new Map<number, number>();
  #vacant: number[] = [];

  copy(): JobTable {
    const other = new JobTable();
    other.slots = this.slots.fork();
    other.ids = this.ids.slice();
    other.state = this.state.slice();
    other.line = this.line.slice();
    other.entry = this.entry.slice();
    other.version = this.version.slice();
    other.attempt = this.attempt.slice();
    other.submitted = this.submitted.slice();
    other.notBeforeMs = this.notBeforeMs.slice();
    other.submittedMs = this.submittedMs.slice();
    other.turnMs = this.turnMs.slice();
    other.sinceMs = this.sinceMs.slice();
    other.array = this.array.slice();
    other.index = this.index.slice();
    for (const [slot, pool] of this.pools) other.pools.set(slot, copyPool(pool));
    for (const [slot, failures] of this.#failures) other.#failures.set(slot, failures);
    for (const [slot, avoid] of this.#avoid) other.#avoid.set(slot, avoid);
    for (const [slot, by] of this.#heldBy) other.#heldBy.set(slot, by);
    for (const [slot, atMs] of this.#failedMs) other.#failedMs.set(slot, atMs);
    for (const [slot, past] of this.#preempted) other.#preempted.set(slot, past);
    for (const [slot, ms] of this.#savedMs) other.#savedMs.set(slot, ms);
    other.#vacant = this.#vacant.slice();
    return other;
  }

  slotOf(job: JobId): number {
    const slot = this.slots.get(job);
    invariant(slot !== undefined, `unknown job ${job}`);
    return slot;
  }

  add(id: JobId, submitted: number, submittedMs: number): number {
    invariant(!this.slots.has(id), `job ${id} is here already`);
    const slot = this.#vacant.pop() ?? this.ids.length;
    this.#grow(slot + 1);
    this.slots.set(id, slot);
    this.ids[slot] = id;
    this.submitted[slot] = submitted;
    this.submittedMs[slot] = submittedMs;
    this.turnMs[slot] = submittedMs;
    this.sinceMs[slot] = submittedMs;
    this.line[slot] = 0;
    this.notBeforeMs[slot] = 0;
    this.attempt[slot] = 1;
    this.array[slot] = -1;
    this.index[slot] = noIndex;
    return slot;
  }

  /** A member of the array waits from now on by itself. */
  addMember(id: JobId, array: number, index: number): number {
    const slot = this.add(id, this.submitted[array]!, this.submittedMs[array]!);
    this.sinceMs[slot] = this.sinceMs[array]!;
    this.array[slot] = array;
    this.index[slot] = index;
    this.state[slot] = queued;
    return slot;
  }

  addPool(pool: Pool): void {
    this.pools.set(pool.slot, pool);
    this.array[pool.slot] = pool.slot;
  }

  /** The array that the slot is, or that it is a member of. */
  poolOf(slot: number): Pool | undefined {
    const array = this.array[slot]!;
    return array < 0 ? undefined : this.pools.get(array);
  }

  /** How many jobs the slot stands for. */
  weight(slot: number): number {
    return this.array[slot] === slot ? this.pools.get(slot)!.count : 1;
  }

  remove(slot: number): void {
    this.slots.delete(this.ids[slot]!);
    this.pools.delete(slot);
    this.state[slot] = vacant;
    this.setPast(slot, freshPast);
    this.setHeldBy(slot, null);
    this.#vacant.push(slot);
  }

  failures(slot: number): Failures {
    return this.#failures.get(slot) ?? noFailures;
  }

  setFailures(slot: number, failures: Failures): void {
    if (failureCount(failures) === 0) this.#failures.delete(slot);
    else this.#failures.set(slot, failures);
  }

  avoid(slot: number): readonly NodeId[] {
    return this.#avoid.size === 0 ? none : (this.#avoid.get(slot) ?? none);
  }

  setAvoid(slot: number, avoid: readonly NodeId[]): void {
    if (avoid.length === 0) this.#avoid.delete(slot);
    else this.#avoid.set(slot, avoid);
  }

  /** When an attempt last failed. */
  failedMs(slot: number): number | null {
    return this.#failedMs.get(slot) ?? null;
  }

  /** The last times a run of it was stopped for another job, oldest first. */
  preempted(slot: number): readonly Preemption[] {
    return this.#preempted.get(slot) ?? never;
  }

  /** Work that its runs had saved when they ended. */
  savedMs(slot: number): number {
    return this.#savedMs.size === 0 ? 0 : (this.#savedMs.get(slot) ?? 0);
  }

  past(slot: number): JobPast {
    const [failures, failedMs, savedMs] = [this.failures(slot), this.failedMs(slot), this.savedMs(slot)];
    return { failures, failedMs, avoid: this.avoid(slot), preempted: this.preempted(slot), savedMs };
  }

  setPast(slot: number, { failures, failedMs, avoid, preempted, savedMs }: JobPast): void {
    this.setFailures(slot, failures);
    this.setAvoid(slot, avoid);
    if (failedMs === null) this.#failedMs.delete(slot);
    else this.#failedMs.set(slot, failedMs);
    if (preempted.length === 0) this.#preempted.delete(slot);
    else this.#preempted.set(slot, preempted);
    if (savedMs === 0) this.#savedMs.delete(slot);
    else this.#savedMs.set(slot, savedMs);
  }

  heldBy(slot: number): string | null {
    return this.#heldBy.get(slot) ?? null;
  }

  setHeldBy(slot: number, by: string | null): void {
    if (by === null) this.#heldBy.delete(slot);
    else this.#heldBy.set(slot, by);
  }

  #grow(size: number): void {
    this.state = grown(this.state, size);
    this.line = grown(this.line, size);
    this.entry = grown(this.entry, size);
    this.version = grown(this.version, size);
    this.attempt = grown(this.attempt, size);
    this.submitted = grown(this.submitted, size);
    this.notBeforeMs = grown(this.notBeforeMs, size);
    this.submittedMs = grown(this.submittedMs, size);
    this.turnMs = grown(this.turnMs, size);
    this.sinceMs = grown(this.sinceMs, size);
    this.array = grown(this.array, size);
    this.index = grown(this.index, size);
  }
}

const none: readonly NodeId[] = [];
const never: readonly Preemption[] = [];

export function failureCount(failures: Failures): number {
  return failures.user + failures.outOfMemory + failures.infrastructure;
}
