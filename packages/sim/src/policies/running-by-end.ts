// The running jobs by the end that is believed of them, kept sorted as they come and go: the shadow of a machine is made by
// giving it their devices in this order.
import type { Stage } from '../replay/stage.ts';
import type { Beliefs } from './beliefs.ts';

export class RunningByEnd {
  #jobs = new Int32Array(64);
  #ends = new Float64Array(64);
  readonly #endOf = new Map<number, number>();
  size = 0;

  /** Ascending by believed end, then by number. */
  job(i: number): number {
    return this.#jobs[i]!;
  }

  endMs(i: number): number {
    return this.#ends[i]!;
  }

  add(job: number, endMs: number): void {
    if (this.size === this.#jobs.length) this.#grow();
    const at = this.#find(endMs, job);
    this.#jobs.copyWithin(at + 1, at, this.size);
    this.#ends.copyWithin(at + 1, at, this.size);
    this.#jobs[at] = job;
    this.#ends[at] = endMs;
    this.#endOf.set(job, endMs);
    this.size++;
  }

  remove(job: number): void {
    const at = this.#find(this.#endOf.get(job)!, job);
    this.#jobs.copyWithin(at, at + 1, this.size);
    this.#ends.copyWithin(at, at + 1, this.size);
    this.#endOf.delete(job);
    this.size--;
  }

  #find(endMs: number, job: number): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      const before =
        this.#ends[middle]! < endMs || (this.#ends[middle] === endMs && this.#jobs[middle]! < job);
      if (before) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #grow(): void {
    const jobs = new Int32Array(this.#jobs.length * 2);
    const ends = new Float64Array(jobs.length);
    jobs.set(this.#jobs);
    ends.set(this.#ends);
    this.#jobs = jobs;
    this.#ends = ends;
  }
}

/** Beliefs that time has proven wrong are replaced before a reservation rests on them. */
export function correctOutlived(running: RunningByEnd, beliefs: Beliefs, { nowMs, startedMs }: Stage): void {
  const wrong: number[] = [];
  for (let i = 0; i < running.size && running.endMs(i) <= nowMs; i++) wrong.push(running.job(i));
  for (const job of wrong) {
    const totalMs = beliefs.outlived(job, nowMs - startedMs[job]!);
    running.remove(job);
    running.add(job, startedMs[job]! + totalMs);
  }
}
