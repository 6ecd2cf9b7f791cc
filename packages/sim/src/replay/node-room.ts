// One pool of nodes of several devices each, with consolidated best-fit placement: see `free-nodes.ts` for which nodes.
import { FreeNodes } from './free-nodes.ts';
import type { Room, Shadow } from './room.ts';

export class NodeRoom implements Room {
  readonly devices: number;
  readonly #free: FreeNodes;
  /** Where each job is: a node, or -1 for several, which then stand in `#several`. */
  readonly #node: Int32Array;
  readonly #several = new Map<number, Int32Array>();

  constructor(nodes: number, perNode: number, jobs: number) {
    this.devices = nodes * perNode;
    this.#free = new FreeNodes(nodes, perNode);
    this.#node = new Int32Array(jobs);
  }

  get nodes(): number {
    return this.#free.nodes;
  }

  get free(): number {
    return this.#free.free;
  }

  get scattered(): number {
    return this.#free.free - this.#free.wholeNodes * this.#free.perNode;
  }

  fits(size: number): boolean {
    return this.#free.fits(size);
  }

  everFits(size: number): boolean {
    return this.#free.everFits(size);
  }

  take(job: number, size: number): void {
    if (size <= this.#free.perNode) {
      const node = this.#free.tightest(size);
      this.#free.add(node, -size);
      this.#node[job] = node;
    } else {
      this.#node[job] = -1;
      this.#several.set(job, takeSeveral(this.#free, size));
    }
  }

  give(job: number, size: number): void {
    giveTo(this.#free, this.#node[job]!, this.#several.get(job), size);
    if (this.#node[job] === -1) this.#several.delete(job);
  }

  /** The nodes of a job that has a place. */
  nodesOf(job: number): readonly number[] {
    return this.#node[job] === -1 ? [...this.#several.get(job)!] : [this.#node[job]!];
  }

  shadow(): NodeShadow {
    return new NodeShadow(this.#free, (free, job, size) =>
      giveTo(free, this.#node[job]!, this.#several.get(job), size),
    );
  }

  fitsBeside(size: number, shadow: Shadow): boolean {
    return this.#besides(size, shadow as NodeShadow) !== null;
  }

  takeBeside(job: number, size: number, shadow: Shadow): void {
    const nodes = this.#besides(size, shadow as NodeShadow)!;
    const several = size > this.#free.perNode;
    this.#node[job] = several ? -1 : nodes[0]!;
    if (several) this.#several.set(job, nodes);
    takeFrom(this.#free, nodes, size);
    takeFrom((shadow as NodeShadow).nodes, nodes, size);
  }

  /** The tightest nodes that have room now and then. */
  #besides(size: number, shadow: NodeShadow): Int32Array | null {
    const now = this.#free;
    if (size > now.free || size > shadow.free) return null;
    const whole = Math.floor(size / now.perNode);
    const rest = size - whole * now.perNode;
    const chosen = new Int32Array(whole + (rest > 0 ? 1 : 0));
    let found = 0;
    for (let node = 0; node < now.nodes && found < whole; node++)
      if (now.of[node] === now.perNode && shadow.nodes.of[node] === now.perNode) chosen[found++] = node;
    if (found < whole) return null;
    if (rest === 0) return chosen;
    let best = -1;
    for (let node = 0; node < now.nodes; node++) {
      const free = now.of[node]!;
      if (free < rest || shadow.nodes.of[node]! < rest) continue;
      if (best >= 0 && free >= now.of[best]!) continue;
      if (whole === 0 || !chosen.subarray(0, whole).includes(node)) best = node;
    }
    if (best < 0) return null;
    chosen[whole] = best;
    return chosen;
  }
}

type GiveBack = (free: FreeNodes, job: number, size: number) => void;

class NodeShadow implements Shadow {
  readonly nodes: FreeNodes;
  readonly #give: GiveBack;

  constructor(like: FreeNodes, give: GiveBack) {
    this.nodes = new FreeNodes(like.nodes, like.perNode, like);
    this.#give = give;
  }

  get free(): number {
    return this.nodes.free;
  }

  fits(size: number): boolean {
    return this.nodes.fits(size);
  }

  give(job: number, size: number): void {
    this.#give(this.nodes, job, size);
  }

  take(size: number): void {
    if (size <= this.nodes.perNode) this.nodes.add(this.nodes.tightest(size), -size);
    else takeSeveral(this.nodes, size);
  }
}

function takeSeveral(free: FreeNodes, size: number): Int32Array {
  const whole = Math.floor(size / free.perNode);
  const rest = size - whole * free.perNode;
  const nodes = new Int32Array(whole + (rest > 0 ? 1 : 0));
  for (let i = 0; i < whole; i++) {
    nodes[i] = free.tightest(free.perNode);
    free.add(nodes[i]!, -free.perNode);
  }
  if (rest > 0) {
    nodes[whole] = free.tightest(rest);
    free.add(nodes[whole]!, -rest);
  }
  return nodes;
}

function takeFrom(free: FreeNodes, nodes: Int32Array, size: number): void {
  let left = size;
  for (const node of nodes) {
    const devices = Math.min(left, free.perNode);
    free.add(node, -devices);
    left -= devices;
  }
}

function giveTo(free: FreeNodes, node: number, several: Int32Array | undefined, size: number): void {
  if (node >= 0) free.add(node, size);
  else
    for (const [i, at] of several!.entries()) free.add(at, Math.min(free.perNode, size - i * free.perNode));
}
