// A line of numbers in which the first one that is small enough, and the smallest one, are found in a few steps: a tree whose nodes have the least
// of what is below them. Places that are empty hold infinity.

export class MinTree {
  #leaves = 64;
  #least = new Float64Array(2 * this.#leaves).fill(Number.POSITIVE_INFINITY);

  at(place: number): number {
    return this.#least[this.#leaves + place]!;
  }

  get least(): number {
    return this.#least[1]!;
  }

  set(at: number, value: number): void {
    if (at >= this.#leaves) this.#grow(at);
    const least = this.#least;
    let node = this.#leaves + at;
    least[node] = value;
    for (node >>= 1; node >= 1; node >>= 1) {
      const below = Math.min(least[2 * node]!, least[2 * node + 1]!);
      if (least[node] === below) return;
      least[node] = below;
    }
  }

  /** The first place with at most this; -1 when there is none. */
  firstAtMost(limit: number): number {
    const least = this.#least;
    if (least[1]! > limit || least[1] === Number.POSITIVE_INFINITY) return -1;
    let node = 1;
    while (node < this.#leaves) node = least[2 * node]! <= limit ? 2 * node : 2 * node + 1;
    return node - this.#leaves;
  }

  clear(): void {
    this.#least.fill(Number.POSITIVE_INFINITY);
  }

  #grow(at: number): void {
    const [before, leaves] = [this.#least, this.#leaves];
    while (this.#leaves <= at) this.#leaves *= 2;
    this.#least = new Float64Array(2 * this.#leaves).fill(Number.POSITIVE_INFINITY);
    this.#least.set(before.subarray(leaves), this.#leaves);
    for (let node = this.#leaves - 1; node >= 1; node--)
      this.#least[node] = Math.min(this.#least[2 * node]!, this.#least[2 * node + 1]!);
  }
}
