// What a walk has placed, in its order. Columns, because one cycle may place a hundred thousand jobs: objects that live until its
// end are moved by the collector again and again.
import type { JobId } from '@muster/model';
import { grown } from './columns.ts';
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

/** Every walk makes one, mostly for no job or few: columns of at most 64 bytes are made without asking the system for memory. */
const fewest = 8;
const noInts = new Int32Array(0);
const noFloats = new Float64Array(0);

export class PlacedJobs {
  length = 0;
  job = noInts;
  readonly ids: JobId[] = [];
  readonly shapes: Shape[] = [];
  readonly uses: Ask[] = [];
  endMs = noFloats;
  /** Of its placement. */
  from = noInts;
  to = noInts;
  portSlot = noInts;
  port = noInts;

  push(job: number, id: JobId, shape: Shape, placement: Placement, uses: Ask, endMs: number): void {
    const at = this.length++;
    if (at === this.job.length) this.#grow(at + 1);
    this.job[at] = job;
    this.ids[at] = id;
    this.shapes[at] = shape;
    this.uses[at] = uses;
    this.endMs[at] = endMs;
    this.from[at] = placement.from;
    this.to[at] = placement.to;
    this.portSlot[at] = placement.portSlot;
    this.port[at] = placement.port;
  }

  pop(): void {
    this.length--;
  }

  /** Which slots of jobs they are. */
  jobs(): Int32Array {
    return this.job.subarray(0, this.length);
  }

  get(index: number): Placed {
    const [portSlot, port] = [this.portSlot[index]!, this.port[index]!];
    return {
      job: this.job[index]!,
      id: this.ids[index]!,
      shape: this.shapes[index]!,
      placement: { from: this.from[index]!, to: this.to[index]!, portSlot, port },
      uses: this.uses[index]!,
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
    this.endMs = grown(this.endMs, size);
    this.from = grown(this.from, size);
    this.to = grown(this.to, size);
    this.portSlot = grown(this.portSlot, size);
    this.port = grown(this.port, size);
  }

  #begin(): void {
    this.job = new Int32Array(fewest);
    this.endMs = new Float64Array(fewest);
    this.from = new Int32Array(fewest);
    this.to = new Int32Array(fewest);
    this.portSlot = new Int32Array(fewest);
    this.port = new Int32Array(fewest);
  }
}
