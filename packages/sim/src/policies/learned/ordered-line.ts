// The waiting of one size by a key that never changes, least first; of equal keys who came first.

export class OrderedLine {
  readonly size: number;
  #jobs = new Int32Array(64);
  #keys = new Float64Array(64);
  waiting = 0;

  constructor(size: number) {
    this.size = size;
  }

  add(job: number, key: number): void {
    if (this.waiting === this.#jobs.length) this.#grow();
    const at = this.#placeOf(key, job);
    this.#jobs.copyWithin(at + 1, at, this.waiting);
    this.#keys.copyWithin(at + 1, at, this.waiting);
    this.#jobs[at] = job;
    this.#keys[at] = key;
    this.waiting++;
  }

  jobAt(place: number): number {
    return this.#jobs[place]!;
  }

  keyAt(place: number): number {
    return this.#keys[place]!;
  }

  /** The first place from this one on whose job will do; -1 when there is none. */
  firstFrom(place: number, willDo: (job: number) => boolean): number {
    for (let at = place; at < this.waiting; at++) if (willDo(this.#jobs[at]!)) return at;
    return -1;
  }

  takeAt(place: number): number {
    const job = this.#jobs[place]!;
    this.#jobs.copyWithin(place, place + 1, this.waiting);
    this.#keys.copyWithin(place, place + 1, this.waiting);
    this.waiting--;
    return job;
  }

  #placeOf(key: number, job: number): number {
    let low = 0;
    let high = this.waiting;
    while (low < high) {
      const middle = (low + high) >> 1;
      const before = this.#keys[middle]! < key || (this.#keys[middle] === key && this.#jobs[middle]! < job);
      if (before) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #grow(): void {
    const jobs = new Int32Array(this.#jobs.length * 2);
    const keys = new Float64Array(jobs.length);
    jobs.set(this.#jobs);
    keys.set(this.#keys);
    this.#jobs = jobs;
    this.#keys = keys;
  }
}
