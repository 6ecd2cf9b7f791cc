// What a walk has placed, in its order. Columns, because one cycle may place a hundred thousand jobs: objects that live until its
// end are moved by the collector again and again.
import type { JobId } from '@muster/model';
import { grown } from './columns.ts';
import type { Lane } from './entry.ts';
import type { JobTable } from './jobs.ts';
import type { Placement } from './ledger.ts';
import type { Ask } from './resource-keys.ts';
import type { Shape } from './shape.ts';

/** One of them, for who looks at few. */
export interface Placed {
  readonly job: number;
  /** The job that starts: of an array, the member. */
  readonly id: JobId;
  readonly shape: Shape;
  readonly placement: Placement;
  readonly uses: Ask;
  /** When it is expected to end. */
  readonly endMs: number;
}

/** Jobs of a lane that use the same each, and how many of them were placed. */
export interface Alike {
  readonly index: number;
  readonly lane: Lane;
  readonly uses: Ask;
  times: number;
}

/** Every walk makes one, mostly for no job or few: columns of at most 64 bytes are made without asking the system for memory. */
const fewest = 8;
const noInts = new Int32Array(0);
const noFloats = new Float64Array(0);

export class PlacedJobs {
  length = 0;
  job = noInts;
  /** What was placed by what it uses of the quota of whom, so that it is given back in few steps. */
  readonly alike: Alike[] = [];
  /** Which of these each is. */
  #of = noInts;
  endMs = noFloats;
  /** Of its placement. */
  from = noInts;
  to = noInts;
  portSlot = noInts;
  port = noInts;
  readonly #jobs: JobTable;
  /** By place in the columns: the member that starts, where that is not the job itself. */
  readonly #members = new Map<number, JobId>();

  constructor(jobs: JobTable) {
    this.#jobs = jobs;
  }

  /** Jobs that use the same as the last ones of their lane are counted with them. */
  alikeOf(lane: Lane, uses: Ask, last: Alike | null): Alike {
    if (last !== null && last.uses === uses) return last;
    const alike = { index: this.alike.length, lane, uses, times: 0 };
    this.alike.push(alike);
    return alike;
  }

  /** `member`: the one of an array that starts, or null. */
  push(job: number, member: JobId | null, alike: Alike, placement: Placement, endMs: number): void {
    const at = this.length++;
    if (at === this.job.length) this.#grow(at + 1);
    if (member !== null) this.#members.set(at, member);
    alike.times++;
    this.job[at] = job;
    this.#of[at] = alike.index;
    this.endMs[at] = endMs;
    this.from[at] = placement.from;
    this.to[at] = placement.to;
    this.portSlot[at] = placement.portSlot;
    this.port[at] = placement.port;
  }

  pop(): void {
    this.length--;
    this.#members.delete(this.length);
    this.alikeAt(this.length).times--;
  }

  /** Which slots of jobs they are. */
  jobs(): Int32Array {
    return this.job.subarray(0, this.length);
  }

  idAt(index: number): JobId {
    const member = this.#members.size === 0 ? undefined : this.#members.get(index);
    return member ?? this.#jobs.ids[this.job[index]!]!;
  }

  alikeAt(index: number): Alike {
    return this.alike[this.#of[index]!]!;
  }

  get(index: number): Placed {
    const [portSlot, port] = [this.portSlot[index]!, this.port[index]!];
    const { lane, uses } = this.alikeAt(index);
    return {
      job: this.job[index]!,
      id: this.idAt(index),
      shape: lane.shape,
      placement: { from: this.from[index]!, to: this.to[index]!, portSlot, port },
      uses,
      endMs: this.endMs[index]!,
    };
  }

  last(): Placed | null {
    return this.length === 0 ? null : this.get(this.length - 1);
  }

  #grow(size: number): void {
    if (size <= fewest) {
      this.#begin();
      return;
    }
    this.job = grown(this.job, size);
    this.#of = grown(this.#of, size);
    this.endMs = grown(this.endMs, size);
    this.from = grown(this.from, size);
    this.to = grown(this.to, size);
    this.portSlot = grown(this.portSlot, size);
    this.port = grown(this.port, size);
  }

  #begin(): void {
    this.job = new Int32Array(fewest);
    this.#of = new Int32Array(fewest);
    this.endMs = new Float64Array(fewest);
    this.from = new Int32Array(fewest);
    this.to = new Int32Array(fewest);
    this.portSlot = new Int32Array(fewest);
    this.port = new Int32Array(fewest);
  }
}
