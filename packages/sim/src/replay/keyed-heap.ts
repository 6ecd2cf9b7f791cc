// A binary heap of jobs by a key, in typed arrays; of equal keys the lower number first. Ends of runs and the queues of the simple policies are kept in it.

export class KeyedHeap {
  #keys = new Float64Array(64);
  #jobs = new Int32Array(64);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The least; only when there is one. */
  get topKey(): number {
    return this.#keys[0]!;
  }

  get top(): number {
    return this.#jobs[0]!;
  }

  push(key: number, job: number): void {
    if (this.#size === this.#keys.length) this.#grow();
    const keys = this.#keys;
    const jobs = this.#jobs;
    let at = this.#size++;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (keys[up]! < key || (keys[up] === key && jobs[up]! < job)) break;
      keys[at] = keys[up]!;
      jobs[at] = jobs[up]!;
      at = up;
    }
    keys[at] = key;
    jobs[at] = job;
  }

  pop(): number {
    const keys = this.#keys;
    const jobs = this.#jobs;
    const top = jobs[0]!;
    const size = --this.#size;
    const key = keys[size]!;
    const job = jobs[size]!;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= size) break;
      const right = down + 1;
      if (
        right < size &&
        (keys[right]! < keys[down]! || (keys[right] === keys[down] && jobs[right]! < jobs[down]!))
      )
        down = right;
      if (key < keys[down]! || (key === keys[down] && job < jobs[down]!)) break;
      keys[at] = keys[down]!;
      jobs[at] = jobs[down]!;
      at = down;
    }
    keys[at] = key;
    jobs[at] = job;
    return top;
  }

  #grow(): void {
    const keys = new Float64Array(this.#keys.length * 2);
    const jobs = new Int32Array(keys.length);
    keys.set(this.#keys);
    jobs.set(this.#jobs);
    this.#keys = keys;
    this.#jobs = jobs;
  }
}
