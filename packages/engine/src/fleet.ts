// What every node has, what is taken of it, and an index that finds the tightest node. One row a node, one typed array a
// column. What is kept is what is *taken*; what is free follows from it, so that an inventory may shrink below its use
// (free is then 0) and a run may end on a node that no longer has its devices.
//
// Changes of amounts go between `begin` and `end`, which keep the node's place in the index of its class. The index
// holds only nodes that take new work (ready, not draining), tightest first; see order.ts.
import { assertAmount, type Drain, invariant, type NodeFacts, type NodeId } from '@muster/model';
import type { ClassTable, NodeClass } from './classes.ts';
import { grown } from './columns.ts';
import { SortedInts } from './sorted-ints.ts';

/** The nodes of one class. */
export interface ClassNodes {
  readonly cls: NodeClass;
  /** Nodes that take new work, by free devices, free cores, free memory, node order; all ascending. */
  readonly index: SortedInts;
  /** Ready or silent, draining or not: what could hold work once everything is well and idle. */
  existing: number;
  draining: number;
  /** Silent and not draining. */
  silent: number;
}

export class Fleet {
  readonly classes: ClassTable;
  readonly slots = new Map<NodeId, number>();
  facts: (NodeFacts | undefined)[] = [];
  classOf = new Int32Array(0);
  /** Position in the order of node ids; gaps are allowed. */
  order = new Int32Array(0);
  freeDevices = new Int32Array(0);
  freeCpu = new Float64Array(0);
  freeMemory = new Float64Array(0);
  usedCpu = new Float64Array(0);
  usedMemory = new Float64Array(0);
  /** Runs with a task on the node, and how many of them have it alone (0 or 1). */
  runs = new Int32Array(0);
  exclusive = new Uint8Array(0);
  /** Taken devices, `maskStride` words a node. */
  taken = new Uint32Array(0);
  maskStride = 1;
  /** Taken rendezvous ports of each node, ascending. */
  ports: number[][] = [];
  existing = 0;
  /** Moves when a node comes into being, goes or changes what it has. */
  existence = 0;
  byClass: (ClassNodes | undefined)[] = [];
  #byId: number[] = [];
  #vacant: number[] = [];

  constructor(classes: ClassTable) {
    this.classes = classes;
  }

  slotOf(node: NodeId): number {
    const slot = this.slots.get(node);
    invariant(slot !== undefined, `unknown node ${node}`);
    return slot;
  }

  /** A node joined, or is something else now. */
  put(facts: NodeFacts): void {
    let slot = this.slots.get(facts.node);
    if (slot === undefined) slot = this.#newSlot(facts);
    else this.#leaveClass(slot);
    this.facts[slot] = facts;
    this.#enterClass(slot);
  }

  setState(node: NodeId, state: NodeFacts['state']): void {
    const slot = this.slotOf(node);
    this.#reclass(slot, { ...this.facts[slot]!, state });
    if (state === 'removed' && this.runs[slot] === 0) this.#drop(slot);
  }

  setDrain(node: NodeId, drain: Drain | null): void {
    const slot = this.slotOf(node);
    this.#reclass(slot, { ...this.facts[slot]!, drain });
  }

  begin(slot: number): number {
    return this.#isIndexed(slot) ? this.byClass[this.classOf[slot]!]!.index.find(slot) : -1;
  }

  end(slot: number, position: number): void {
    if (position >= 0) this.byClass[this.classOf[slot]!]!.index.moved(position);
  }

  takeTask(slot: number, cpuMilli: number, memoryMib: number, devices: readonly number[]): void {
    for (let i = 0; i < devices.length; i++) this.#flip(slot, devices[i]!, true);
    this.usedCpu[slot] = assertAmount(this.usedCpu[slot]! + cpuMilli, 'taken cores');
    this.usedMemory[slot] = assertAmount(this.usedMemory[slot]! + memoryMib, 'taken memory');
    this.#refree(slot);
  }

  releaseTask(slot: number, cpuMilli: number, memoryMib: number, devices: readonly number[]): void {
    for (let i = 0; i < devices.length; i++) this.#flip(slot, devices[i]!, false);
    this.usedCpu[slot] = assertAmount(this.usedCpu[slot]! - cpuMilli, 'taken cores');
    this.usedMemory[slot] = assertAmount(this.usedMemory[slot]! - memoryMib, 'taken memory');
    this.#refree(slot);
  }

  enterRun(slot: number, exclusive: boolean): void {
    invariant(
      this.exclusive[slot] === 0 && !(exclusive && this.runs[slot]! > 0),
      `node ${slot} is not shared`,
    );
    this.runs[slot]!++;
    if (exclusive) this.exclusive[slot] = 1;
  }

  leaveRun(slot: number): void {
    invariant(this.runs[slot]! > 0, `no run is on node ${slot}`);
    this.runs[slot]!--;
    if (this.runs[slot]! > 0) return;
    this.exclusive[slot] = 0;
    if (this.facts[slot]!.state === 'removed') this.#drop(slot);
  }

  /** The lowest port the node can still give, or -1. */
  freePort(slot: number): number {
    const { first, count } = this.facts[slot]!.inventory.ports;
    let port = first;
    for (const used of this.ports[slot]!) {
      if (used > port) break;
      if (used === port) port++;
    }
    return port < first + count ? port : -1;
  }

  hasFreePort(slot: number): boolean {
    return this.ports[slot]!.length < this.facts[slot]!.inventory.ports.count || this.freePort(slot) >= 0;
  }

  takePort(slot: number, port: number): void {
    const ports = this.ports[slot]!;
    let at = ports.length;
    while (at > 0 && ports[at - 1]! > port) at--;
    invariant(ports[at - 1] !== port, `port ${port} of node ${slot} is taken twice`);
    ports.splice(at, 0, port);
  }

  releasePort(slot: number, port: number): void {
    const at = this.ports[slot]!.indexOf(port);
    invariant(at >= 0, `port ${port} of node ${slot} is not taken`);
    this.ports[slot]!.splice(at, 1);
  }

  deviceTaken(slot: number, index: number): boolean {
    const word = index >>> 5;
    return word < this.maskStride && (this.taken[slot * this.maskStride + word]! & (1 << (index & 31))) !== 0;
  }

  compareNodes = (a: number, b: number): number =>
    this.freeDevices[a]! - this.freeDevices[b]! ||
    this.freeCpu[a]! - this.freeCpu[b]! ||
    this.freeMemory[a]! - this.freeMemory[b]! ||
    this.order[a]! - this.order[b]!;

  /** An independent copy. */
  copy(classes: ClassTable): Fleet {
    const other = this.#copyNodes(classes);
    other.freeDevices = this.freeDevices.slice();
    other.freeCpu = this.freeCpu.slice();
    other.freeMemory = this.freeMemory.slice();
    other.usedCpu = this.usedCpu.slice();
    other.usedMemory = this.usedMemory.slice();
    other.runs = this.runs.slice();
    other.exclusive = this.exclusive.slice();
    other.taken = this.taken.slice();
    other.ports = this.ports.map((ports) => ports.slice());
    other.existing = this.existing;
    for (const [id, nodes] of this.byClass.entries())
      if (nodes) other.byClass[id] = { ...nodes, index: nodes.index.copy(other.compareNodes) };
    return other;
  }

  /** The same nodes with nothing on them, all taking work: what the fleet could hold at best. */
  emptied(): Fleet {
    const other = this.#copyNodes(this.classes);
    other.#grow(this.classOf.length);
    other.ports = this.ports.map(() => []);
    for (const slot of this.slots.values()) {
      const facts = this.facts[slot]!;
      other.facts[slot] = { ...facts, state: facts.state === 'silent' ? 'ready' : facts.state, drain: null };
      other.#openClass(this.classes.get(this.classOf[slot]!));
      other.#refreeAll(slot);
      other.#count(slot, 1);
    }
    return other;
  }

  #copyNodes(classes: ClassTable): Fleet {
    const other = new Fleet(classes);
    for (const [node, slot] of this.slots) other.slots.set(node, slot);
    other.facts = this.facts.slice();
    other.classOf = this.classOf.slice();
    other.order = this.order.slice();
    other.maskStride = this.maskStride;
    other.existence = this.existence;
    other.#byId = this.#byId.slice();
    other.#vacant = this.#vacant.slice();
    return other;
  }

  #newSlot(facts: NodeFacts): number {
    const slot = this.#vacant.pop() ?? this.facts.length;
    this.#grow(slot + 1);
    this.slots.set(facts.node, slot);
    this.ports[slot] = [];
    this.usedCpu[slot] = 0;
    this.usedMemory[slot] = 0;
    this.runs[slot] = 0;
    this.exclusive[slot] = 0;
    this.taken.fill(0, slot * this.maskStride, (slot + 1) * this.maskStride);
    this.facts[slot] = facts;
    this.#takeOrder(slot);
    return slot;
  }

  /** New ids sort last as a rule, so the numbers of the others seldom move; their order among themselves never does. */
  #takeOrder(slot: number): void {
    const id = this.facts[slot]!.node;
    let at = this.#byId.length;
    while (at > 0 && this.facts[this.#byId[at - 1]!]!.node > id) at--;
    this.#byId.splice(at, 0, slot);
    if (at === this.#byId.length - 1) this.order[slot] = at === 0 ? 0 : this.order[this.#byId[at - 1]!]! + 1;
    else for (let i = 0; i < this.#byId.length; i++) this.order[this.#byId[i]!] = i;
  }

  #drop(slot: number): void {
    this.#closeClass(this.classOf[slot]!);
    this.slots.delete(this.facts[slot]!.node);
    this.#byId.splice(this.#byId.indexOf(slot), 1);
    this.facts[slot] = undefined;
    this.#vacant.push(slot);
  }

  #enterClass(slot: number): void {
    const facts = this.facts[slot]!;
    assertAmount(facts.inventory.cpuMilli, 'cores of a node');
    assertAmount(facts.inventory.memoryMib, 'memory of a node');
    const cls = this.classes.enter(facts);
    this.classOf[slot] = cls.id;
    this.#openClass(cls);
    this.#widen((cls.devices.length + 31) >>> 5);
    this.#refreeAll(slot);
    this.#count(slot, 1);
    this.existence++;
  }

  #leaveClass(slot: number): void {
    this.#count(slot, -1);
    this.#closeClass(this.classOf[slot]!);
    this.existence++;
  }

  #openClass(cls: NodeClass): void {
    if (this.byClass[cls.id]) return;
    const index = new SortedInts(this.compareNodes);
    this.byClass[cls.id] = { cls, index, existing: 0, draining: 0, silent: 0 };
  }

  #closeClass(id: number): void {
    if (this.classes.leave(id) === 'gone') delete this.byClass[id];
  }

  /** State or drain changed: the class stays, its counts and index follow. */
  #reclass(slot: number, facts: NodeFacts): void {
    const existed = exists(this.facts[slot]!);
    this.#count(slot, -1);
    this.facts[slot] = facts;
    this.#count(slot, 1);
    if (existed !== exists(facts)) this.existence++;
  }

  /** Adds the node to (1) or takes it from (-1) the counts and the index of its class. */
  #count(slot: number, sign: 1 | -1): void {
    const facts = this.facts[slot]!;
    const nodes = this.byClass[this.classOf[slot]!]!;
    if (!exists(facts)) return;
    nodes.existing += sign;
    this.existing += sign;
    if (facts.drain !== null) nodes.draining += sign;
    else if (facts.state === 'silent') nodes.silent += sign;
    else if (sign === 1) nodes.index.insert(slot);
    else nodes.index.remove(slot);
  }

  #isIndexed(slot: number): boolean {
    const facts = this.facts[slot]!;
    return facts.state === 'ready' && facts.drain === null;
  }

  #flip(slot: number, index: number, take: boolean): void {
    const word = index >>> 5;
    if (word >= this.maskStride) this.#widen(word + 1);
    const at = slot * this.maskStride + word;
    const bit = 1 << (index & 31);
    invariant(
      ((this.taken[at]! & bit) !== 0) !== take,
      `device ${index} of node ${slot} ${take ? 'sold twice' : 'not sold'}`,
    );
    this.taken[at]! ^= bit;
    if (index < this.#classOf(slot).devices.length) this.freeDevices[slot]! += take ? -1 : 1;
  }

  #refree(slot: number): void {
    const cls = this.#classOf(slot);
    this.freeCpu[slot] = Math.max(0, cls.cpuMilli - this.usedCpu[slot]!);
    this.freeMemory[slot] = Math.max(0, cls.memoryMib - this.usedMemory[slot]!);
  }

  #refreeAll(slot: number): void {
    let free = 0;
    for (let i = 0; i < this.#classOf(slot).devices.length; i++) if (!this.deviceTaken(slot, i)) free++;
    this.freeDevices[slot] = free;
    this.#refree(slot);
  }

  #classOf(slot: number): NodeClass {
    return this.byClass[this.classOf[slot]!]!.cls;
  }

  #widen(words: number): void {
    if (words <= this.maskStride) return;
    const wider = new Uint32Array(this.classOf.length * words);
    for (const slot of this.slots.values())
      for (let word = 0; word < this.maskStride; word++)
        wider[slot * words + word] = this.taken[slot * this.maskStride + word]!;
    this.taken = wider;
    this.maskStride = words;
  }

  #grow(size: number): void {
    this.classOf = grown(this.classOf, size);
    this.order = grown(this.order, size);
    this.freeDevices = grown(this.freeDevices, size);
    this.freeCpu = grown(this.freeCpu, size);
    this.freeMemory = grown(this.freeMemory, size);
    this.usedCpu = grown(this.usedCpu, size);
    this.usedMemory = grown(this.usedMemory, size);
    this.runs = grown(this.runs, size);
    this.exclusive = grown(this.exclusive, size);
    this.taken = grown(this.taken, this.classOf.length * this.maskStride);
  }
}

export function exists(facts: NodeFacts): boolean {
  return facts.state === 'ready' || facts.state === 'silent';
}
