// Every stretch of time in which a job ran without a break, in the order in which they ended: what use, shares and the timeline are computed
// from afterwards.

export class Stretches {
  #job: Int32Array;
  #fromMs: Float64Array;
  #toMs: Float64Array;
  count = 0;

  constructor(expected: number) {
    this.#job = new Int32Array(Math.max(16, expected));
    this.#fromMs = new Float64Array(this.#job.length);
    this.#toMs = new Float64Array(this.#job.length);
  }

  add(job: number, fromMs: number, toMs: number): void {
    if (this.count === this.#job.length) this.#grow();
    this.#job[this.count] = job;
    this.#fromMs[this.count] = fromMs;
    this.#toMs[this.count] = toMs;
    this.count++;
  }

  get job(): Int32Array {
    return this.#job.subarray(0, this.count);
  }

  get fromMs(): Float64Array {
    return this.#fromMs.subarray(0, this.count);
  }

  get toMs(): Float64Array {
    return this.#toMs.subarray(0, this.count);
  }

  #grow(): void {
    const length = this.#job.length * 2;
    const [job, fromMs, toMs] = [new Int32Array(length), new Float64Array(length), new Float64Array(length)];
    job.set(this.#job);
    fromMs.set(this.#fromMs);
    toMs.set(this.#toMs);
    this.#job = job;
    this.#fromMs = fromMs;
    this.#toMs = toMs;
  }
}
