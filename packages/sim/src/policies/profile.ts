// How many devices are free from now on, as steps in time: what conservative backfill plans on.

export class Profile {
  #fromMs = new Float64Array(64);
  #free = new Float64Array(64);
  #steps = 0;

  /** So many are free from then on. */
  reset(nowMs: number, free: number): void {
    this.#steps = 1;
    this.#fromMs[0] = nowMs;
    this.#free[0] = free;
  }

  /** So many more are free from then on; told in order of time. */
  comesFree(atMs: number, size: number): void {
    const last = this.#steps - 1;
    const free = this.#free[last]! + size;
    if (this.#fromMs[last] === atMs) this.#free[last] = free;
    else {
      if (this.#steps === this.#fromMs.length) this.#grow();
      this.#fromMs[this.#steps] = atMs;
      this.#free[this.#steps] = free;
      this.#steps++;
    }
  }

  get freeNow(): number {
    return this.#free[0]!;
  }

  /** The earliest moment from which so many are free for so long. */
  earliest(size: number, durationMs: number): number {
    for (let from = 0; from < this.#steps; from++) {
      if (this.#free[from]! < size) continue;
      const blocked = this.#blockedAfter(from, size, durationMs);
      if (blocked === -1) return this.#fromMs[from]!;
      from = blocked;
    }
    throw new Error(`a job of ${size} never fits the profile`);
  }

  /** For how long from its first moment on so many are free. */
  freeFor(size: number): number {
    for (let i = 0; i < this.#steps; i++)
      if (this.#free[i]! < size) return this.#fromMs[i]! - this.#fromMs[0]!;
    return Number.POSITIVE_INFINITY;
  }

  #blockedAfter(from: number, size: number, durationMs: number): number {
    const untilMs = this.#fromMs[from]! + durationMs;
    for (let i = from + 1; i < this.#steps && this.#fromMs[i]! < untilMs; i++)
      if (this.#free[i]! < size) return i;
    return -1;
  }

  take(size: number, fromMs: number, untilMs: number): void {
    const first = this.#cut(fromMs);
    const last = untilMs === Number.POSITIVE_INFINITY ? this.#steps : this.#cut(untilMs);
    for (let i = first; i < last; i++) this.#free[i]! -= size;
  }

  /** The number of the step that begins then, which it makes where there is none. */
  #cut(atMs: number): number {
    let low = 0;
    let high = this.#steps;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#fromMs[middle]! < atMs) low = middle + 1;
      else high = middle;
    }
    if (low < this.#steps && this.#fromMs[low] === atMs) return low;
    if (this.#steps === this.#fromMs.length) this.#grow();
    this.#fromMs.copyWithin(low + 1, low, this.#steps);
    this.#free.copyWithin(low + 1, low, this.#steps);
    this.#fromMs[low] = atMs;
    this.#free[low] = low === 0 ? this.#free[1]! : this.#free[low - 1]!;
    this.#steps++;
    return low;
  }

  #grow(): void {
    const fromMs = new Float64Array(this.#fromMs.length * 2);
    const free = new Float64Array(fromMs.length);
    fromMs.set(this.#fromMs);
    free.set(this.#free);
    this.#fromMs = fromMs;
    this.#free = free;
  }
}
