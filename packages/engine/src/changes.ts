// The nodes whose room may have changed, in the order it happened, so that sums kept elsewhere can follow. Old entries are
// forgotten; whoever comes too late counts anew, which is rare enough to cost little.
export class Changes {
  /** Changes so far; each has a number below it. */
  count = 0;
  #slots = new Int32Array(1024);

  add(slot: number): void {
    this.#slots[this.count++ & (this.#slots.length - 1)] = slot;
  }

  /** Room for as many changes as there are nodes, so that catching up is never dearer than counting anew. */
  fit(nodes: number): void {
    if (nodes <= this.#slots.length) return;
    this.#slots = new Int32Array(this.#slots.length * 2);
    // Nobody may read what was kept in the shorter list.
    this.count += this.#slots.length * 2;
    this.fit(nodes);
  }

  /** How many changes came after `cursor`; -1 when some of them are forgotten. */
  since(cursor: number): number {
    const missed = this.count - cursor;
    return missed <= this.#slots.length ? missed : -1;
  }

  at(number: number): number {
    return this.#slots[number & (this.#slots.length - 1)]!;
  }
}
