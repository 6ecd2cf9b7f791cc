// The stage on which a policy plays a trace: the clock, the room, and what each job has done so far. A policy starts and stops
// jobs here and nowhere else; the stage keeps the books (every stretch of running, work kept and lost).
//
// A stop costs what it would in the field: the work since the last checkpoint of that run is done again, and the next run spends
// `restartMs` before it works.
import type { Trace } from '../traces/trace.ts';
import { KeyedHeap } from './keyed-heap.ts';
import type { Holding, Room, Shadow } from './room.ts';
import { Stretches } from './stretches.ts';

export interface Costs {
  /** A run that goes on from a checkpoint works only after so long. */
  readonly restartMs: number;
  /** A run saves its work so often. */
  readonly checkpointMs: number;
}

export const usualCosts: Costs = { restartMs: 60_000, checkpointMs: 600_000 };

const idle = -1;

export class Stage<R extends Holding = Room> {
  readonly trace: Trace;
  readonly room: R;
  readonly costs: Costs;
  readonly stretches: Stretches;
  nowMs = 0;
  running = 0;
  /** Work still to do, as only an oracle knows it. */
  readonly remainingMs: Float64Array;
  /** When its present run began; -1 while it does not run. */
  readonly startedMs: Float64Array;
  readonly firstStartMs: Float64Array;
  readonly endMs: Float64Array;
  readonly preemptions: Int32Array;
  /** Time of its runs that had to be done again, restarts included. */
  readonly lostMs: Float64Array;
  /** When its present run will end by itself; a heap entry with another time is of an earlier run. */
  readonly #dueMs: Float64Array;
  readonly #ends = new KeyedHeap();
  #wakeMs = Number.POSITIVE_INFINITY;

  constructor(trace: Trace, room: R, costs: Costs) {
    this.trace = trace;
    this.room = room;
    this.costs = costs;
    this.stretches = new Stretches(trace.count);
    this.remainingMs = trace.runMs.slice();
    this.startedMs = new Float64Array(trace.count).fill(idle);
    this.firstStartMs = new Float64Array(trace.count).fill(idle);
    this.endMs = new Float64Array(trace.count).fill(idle);
    this.preemptions = new Int32Array(trace.count);
    this.lostMs = new Float64Array(trace.count);
    this.#dueMs = new Float64Array(trace.count).fill(idle);
  }

  isRunning(job: number): boolean {
    return this.startedMs[job] !== idle;
  }

  start(job: number): void {
    this.room.take(job, this.trace.size[job]!);
    this.#begin(job);
  }

  /** Starts it where it also leaves the shadow whole. */
  startBeside(this: Stage<Room>, job: number, shadow: Shadow): void {
    this.room.takeBeside(job, this.trace.size[job]!, shadow);
    this.#begin(job);
  }

  #begin(job: number): void {
    this.startedMs[job] = this.nowMs;
    this.running++;
    if (this.firstStartMs[job] === idle) this.firstStartMs[job] = this.nowMs;
    const dueMs = this.nowMs + this.#restartMs(job) + this.remainingMs[job]!;
    this.#dueMs[job] = dueMs;
    this.#ends.push(dueMs, job);
  }

  #restartMs(job: number): number {
    return this.preemptions[job]! > 0 ? this.costs.restartMs : 0;
  }

  /** Work its present run has done so far. */
  workedMs(job: number): number {
    return Math.max(0, this.nowMs - this.startedMs[job]! - this.#restartMs(job));
  }

  stop(job: number): void {
    const heldMs = this.nowMs - this.startedMs[job]!;
    const workedMs = this.workedMs(job);
    const { checkpointMs } = this.costs;
    const keptMs = checkpointMs === 0 ? workedMs : workedMs - (workedMs % checkpointMs);
    this.remainingMs[job]! -= keptMs;
    this.lostMs[job]! += heldMs - keptMs;
    this.preemptions[job]!++;
    this.#leave(job);
  }

  /** The policy wants to be asked then, whatever happens before. */
  wakeAt(ms: number): void {
    if (ms < this.#wakeMs) this.#wakeMs = ms;
  }

  /** When the next run ends or the policy wants to be asked. */
  nextMs(): number {
    while (this.#ends.size > 0 && this.#dueMs[this.#ends.top] !== this.#ends.topKey) this.#ends.pop();
    return this.#ends.size > 0 ? Math.min(this.#ends.topKey, this.#wakeMs) : this.#wakeMs;
  }

  /** The next job whose run ends now, or -1. */
  takeEnd(): number {
    if (this.#wakeMs <= this.nowMs) this.#wakeMs = Number.POSITIVE_INFINITY;
    while (this.#ends.size > 0 && this.#ends.topKey <= this.nowMs) {
      const dueMs = this.#ends.topKey;
      const job = this.#ends.pop();
      if (this.#dueMs[job] !== dueMs) continue;
      this.lostMs[job]! += this.#restartMs(job);
      this.remainingMs[job] = 0;
      this.endMs[job] = this.nowMs;
      this.#leave(job);
      return job;
    }
    return -1;
  }

  #leave(job: number): void {
    this.stretches.add(job, this.startedMs[job]!, this.nowMs);
    this.room.give(job, this.trace.size[job]!);
    this.startedMs[job] = idle;
    this.#dueMs[job] = idle;
    this.running--;
  }
}
