// The sides of a tournament, by number: what they compare by, and their places in the heaps of their siblings. A walk over a
// thousand projects compares different ones every time, so that what is compared has to lie close together: one column each.
import { grown } from './columns.ts';

/** Whether a side stays within its guarantee with the job it would send next, or does not, or has none to send. */
export const within = 0;
export const beyond = 1;
export const nothing = 2;

/** One serves walk after walk, because making columns costs more than most walks have to compare. */
export class Standings {
  size = 0;
  standing = new Uint8Array(0);
  share = new Float64Array(0);
  /** By path among siblings. */
  order = new Int32Array(0);
  /** Its place in the heap of its siblings, so that one can move without being looked for. */
  index = new Int32Array(0);
  /** The side above it; -1 for the first. */
  parent = new Int32Array(0);
  /** Its project, and whether it stands for the project's own jobs beside its children. */
  project = new Int32Array(0);
  own = new Uint8Array(0);
  /** Which of two sides sends the job that is expected to be shorter; null where shares decide. */
  #expectedFirst: ((a: number, b: number) => number) | null = null;
  /** By project: its side, and that of its own jobs beside its children; stored one higher, so that 0 says none. */
  #sides = new Int32Array(0);
  #owns = new Int32Array(0);

  /** No side is left: another tournament begins. */
  clear(expectedFirst: ((a: number, b: number) => number) | null): void {
    for (let side = 0; side < this.size; side++) {
      const sides = this.own[side] === 1 ? this.#owns : this.#sides;
      sides[this.project[side]!] = 0;
    }
    this.size = 0;
    this.#expectedFirst = expectedFirst;
  }

  /** The side of a project, or of its own jobs beside its children; -1 when there is none yet. */
  sideOf(project: number, own: boolean): number {
    const sides = own ? this.#owns : this.#sides;
    return project < sides.length ? sides[project]! - 1 : -1;
  }

  /** A side that has nothing to send yet, at the end of its siblings. */
  add(project: number, own: boolean, parent: number, order: number, index: number): number {
    const side = this.size++;
    if (side === this.standing.length) this.#grow(this.size);
    this.standing[side] = nothing;
    this.share[side] = 0;
    this.order[side] = order;
    this.index[side] = index;
    this.parent[side] = parent;
    this.project[side] = project;
    this.own[side] = own ? 1 : 0;
    this.#sides = grown(this.#sides, project + 1);
    this.#owns = grown(this.#owns, project + 1);
    (own ? this.#owns : this.#sides)[project] = side + 1;
    return side;
  }

  /** What the side compares by is another. */
  moved(siblings: number[], side: number): void {
    this.#rise(siblings, this.index[side]!);
    this.sink(siblings, this.index[side]!);
  }

  /**
   * Down to the end and up from there: who has just had its turn is mostly among the last, so that it is seldom worth asking at
   * each level whether to go on.
   */
  sink(siblings: number[], from: number): void {
    const side = siblings[from]!;
    const { length } = siblings;
    let at = from;
    for (let child = 2 * at + 1; child < length; child = 2 * at + 1) {
      if (child + 1 < length && this.#before(siblings[child + 1]!, siblings[child]!)) child++;
      this.#put(siblings, siblings[child]!, at);
      at = child;
    }
    if (at !== from) this.#riseTo(from, siblings, side, at);
  }

  #rise(siblings: number[], from: number): void {
    this.#riseTo(0, siblings, siblings[from]!, from);
  }

  /** From a place that is free, no further than to `top`. */
  #riseTo(top: number, siblings: number[], side: number, from: number): void {
    let at = from;
    while (at > top) {
      const parent = (at - 1) >>> 1;
      if (!this.#before(side, siblings[parent]!)) break;
      this.#put(siblings, siblings[parent]!, at);
      at = parent;
    }
    this.#put(siblings, side, at);
  }

  /** Sides with nothing to send come last, and stay: one may get something again. */
  #before(a: number, b: number): boolean {
    const { standing, share, order } = this;
    if (standing[a] !== standing[b]) return standing[a]! < standing[b]!;
    if (this.#expectedFirst !== null && standing[a] !== nothing) return this.#expectedFirst(a, b) < 0;
    if (share[a] !== share[b]) return share[a]! < share[b]!;
    return order[a]! < order[b]!;
  }

  #grow(size: number): void {
    this.standing = grown(this.standing, size);
    this.share = grown(this.share, size);
    this.order = grown(this.order, size);
    this.index = grown(this.index, size);
    this.parent = grown(this.parent, size);
    this.project = grown(this.project, size);
    this.own = grown(this.own, size);
  }

  #put(siblings: number[], side: number, at: number): void {
    siblings[at] = side;
    this.index[side] = at;
  }
}
