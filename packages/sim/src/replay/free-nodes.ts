// Nodes of equal size by how many devices each has free, so that the tightest one for a job is found without looking at
// all. A job of at most one node goes to the node with the least room that holds it; a larger one takes whole nodes and, for the rest,
// the tightest other node. Of equal nodes the lowest number.

export class FreeNodes {
  readonly perNode: number;
  readonly nodes: number;
  free: number;
  /** Free devices of each node. */
  readonly of: Int32Array;
  /** For each number of free devices: how many nodes have it, and which, as bits. */
  readonly #count: Int32Array;
  readonly #bits: Uint32Array;
  readonly #words: number;

  constructor(nodes: number, perNode: number, like?: FreeNodes) {
    this.nodes = nodes;
    this.perNode = perNode;
    this.#words = (nodes + 31) >> 5;
    if (like) {
      this.free = like.free;
      this.of = like.of.slice();
      this.#count = like.#count.slice();
      this.#bits = like.#bits.slice();
      return;
    }
    this.free = nodes * perNode;
    this.of = new Int32Array(nodes).fill(perNode);
    this.#count = new Int32Array(perNode + 1);
    this.#bits = new Uint32Array((perNode + 1) * this.#words);
    this.#count[perNode] = nodes;
    for (let node = 0; node < nodes; node++) this.#flip(perNode, node);
  }

  get wholeNodes(): number {
    return this.#count[this.perNode]!;
  }

  fits(size: number): boolean {
    if (size > this.free) return false;
    const whole = Math.floor(size / this.perNode);
    const rest = size - whole * this.perNode;
    if (whole === 0) return this.tightest(rest) >= 0;
    const left = this.wholeNodes - whole;
    return left >= 0 && (rest === 0 || left > 0 || this.#tightestBelow(rest) >= 0);
  }

  everFits(size: number): boolean {
    return size <= this.nodes * this.perNode;
  }

  /** A node with at least so many free, and as few as possible; -1 when there is none. */
  tightest(size: number): number {
    for (let free = size; free <= this.perNode; free++) if (this.#count[free]! > 0) return this.#first(free);
    return -1;
  }

  /** The same, but no node that is wholly free. */
  #tightestBelow(size: number): number {
    for (let free = size; free < this.perNode; free++) if (this.#count[free]! > 0) return this.#first(free);
    return -1;
  }

  /** Changes what is free on a node. */
  add(node: number, devices: number): void {
    const before = this.of[node]!;
    const after = before + devices;
    this.of[node] = after;
    this.free += devices;
    this.#count[before] = this.#count[before]! - 1;
    this.#count[after] = this.#count[after]! + 1;
    this.#flip(before, node);
    this.#flip(after, node);
  }

  #flip(free: number, node: number): void {
    const at = free * this.#words + (node >> 5);
    this.#bits[at] = this.#bits[at]! ^ (1 << (node & 31));
  }

  #first(free: number): number {
    let at = free * this.#words;
    while (this.#bits[at] === 0) at++;
    const word = this.#bits[at]!;
    return ((at - free * this.#words) << 5) + 31 - Math.clz32(word & -word);
  }
}
