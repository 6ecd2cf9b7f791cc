// The limits: the plainest loops that come to an answer of the same size, over typed arrays, with nothing decided that a
// scheduler decides. They know no projects, no shapes, no policy; they write who gets which device of which node.

export interface BareAnswer {
  readonly node: Int32Array;
  readonly device: Uint8Array;
}

/** Gives each job the next free device: a mask of free devices a node, sums a rack, and the result written down. */
export function barePlacements(jobs: number, nodes: number, devices: number, nodesInRack = 16): BareAnswer {
  const free = new Uint32Array(nodes).fill(2 ** devices - 1);
  const rackFree = new Int32Array(Math.ceil(nodes / nodesInRack)).fill(nodesInRack * devices);
  const node = new Int32Array(jobs);
  const device = new Uint8Array(jobs);
  let at = 0;
  for (let job = 0; job < jobs; job++) {
    while (at < nodes && free[at] === 0) at++;
    if (at === nodes) break;
    const mask = free[at]!;
    const lowest = 31 - Math.clz32(mask & -mask);
    free[at] = mask & (mask - 1);
    rackFree[Math.floor(at / nodesInRack)]!--;
    node[job] = at;
    device[job] = lowest;
  }
  return { node, device };
}

/** Each job as the object a plan is made of, which is the least that leaves a decision: the memory must be written. */
export function barePlan(jobs: number, nodes: number, devices: number): readonly object[] {
  const { node, device } = barePlacements(jobs, nodes, devices);
  const plan: object[] = new Array(jobs);
  for (let job = 0; job < jobs; job++)
    plan[job] = { job, tasks: [{ rank: 0, node: node[job], devices: [device[job]] }] };
  return plan;
}

/** A gang on whole nodes: racks with most room first, their nodes in order. */
export function bareGang(tasks: number, nodes: number, nodesInRack = 16): Int32Array {
  const racks = Math.ceil(nodes / nodesInRack);
  const free = new Int32Array(racks).fill(nodesInRack);
  const taken = new Int32Array(tasks);
  for (let rack = 0, task = 0; rack < racks && task < tasks; rack++)
    while (free[rack]! > 0 && task < tasks) taken[task++] = rack * nodesInRack + nodesInRack - free[rack]!--;
  return taken;
}

/** Looks at a word of every waiting job once, which is what a scheduler without an index does each cycle. */
export function bareScan(jobs: Int32Array): number {
  let waiting = 0;
  for (let i = 0; i < jobs.length; i++) if (jobs[i] === 1) waiting++;
  return waiting;
}

/** The cheapest `count` of all running ones by one pass over their damage, kept in a heap. */
export function bareVictims(damage: Float64Array, count: number): Float64Array {
  const heap = damage.slice(0, count).sort().reverse();
  for (let i = count; i < damage.length; i++) {
    if (damage[i]! >= heap[0]!) continue;
    heap[0] = damage[i]!;
    sink(heap, count);
  }
  return heap;
}

function sink(heap: Float64Array, count: number): void {
  for (let at = 0; ; ) {
    let largest = at;
    for (let child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
      if (heap[child]! > heap[largest]!) largest = child;
    if (largest === at) return;
    const value = heap[at]!;
    heap[at] = heap[largest]!;
    heap[largest] = value;
    at = largest;
  }
}
