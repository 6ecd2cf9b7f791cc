// What every node has, what is taken of it, and an index that finds the tightest node. One row a node, one typed array a
// column. What is kept is what is *taken*; what is free follows from it, so that an inventory may shrink below its use
// (free is then 0) and a run may end on a node that no longer has its devices.
//
// Changes of amounts go between `begin` and `end`, which keep the node's place in the index of its class. The index
// holds only nodes that take new work (ready, not draining), tightest first; see order.ts.
import {
  assertAmount,
  type Drain,
  invariant,
  type NodeFacts,
  type NodeId,
  type PlacingPolicy,
  type Topology,
  wholeDevice,
} from '@muster/model';
import { Changes } from './changes.ts';
import { ClassTable, type NodeClass } from './classes.ts';
import { grown } from './columns.ts';
import { DeviceMasks } from './devices.ts';
import { Latest } from './latest.ts';
import { Ledger } from './ledger.ts';
import { Mix } from './mix.ts';
import { NodeOrder } from './node-order.ts';
import { PlacingFacts } from './placing-facts.ts';
import { lowestFree } from './ports.ts';
import { deviceNeeds, Resources } from './resources.ts';
import type { Rooms } from './rooms.ts';
import { SortedInts } from './sorted-ints.ts';
import { Tree } from './tree.ts';

/** The nodes of one class. */
export interface ClassNodes {
  readonly cls: NodeClass;
  /** Nodes that take new work, by untouched devices, free thousandths of devices, cores, memory, node order; all ascending. */
  readonly index: SortedInts;
  /** Ready or silent, draining or not: what could hold work once everything is well and idle. */
  existing: number;
  /** Drained by an operator, and by Muster itself. */
  draining: number;
  /** What each of its devices takes of each of the policy's resources. */
  readonly needs: readonly (readonly number[])[];
  quarantined: number;
  /** Silent and not drained. */
  silent: number;
}

/** A slot that is no node: what to look for in an index is written there, before every node of equal amounts. */
const probe = 0;

export class Fleet {
  classes: ClassTable;
  readonly slots = new Map<NodeId, number>();
  facts: (NodeFacts | undefined)[] = [undefined];
  /** What placing reads of them. */
  placing = new PlacingFacts();
  classOf = new Int32Array(0);
  /** Devices of which nothing is taken. */
  freeDevices = new Int32Array(0);
  /** Free thousandths of all devices. */
  freeMilli = new Int32Array(0);
  freeCpu = new Float64Array(0);
  freeMemory = new Float64Array(0);
  usedCpu = new Float64Array(0);
  usedMemory = new Float64Array(0);
  /** Tasks on the node. */
  tasks = new Int32Array(0);
  /** Runs with a task on the node, and how many of them have it alone (0 or 1). */
  runs = new Int32Array(0);
  exclusive = new Uint8Array(0);
  /** Claims on the node, and how many of them want it alone. */
  claimed = new Int32Array(0);
  claimedAlone = new Int32Array(0);
  /** How often the node, its runs, when they end or the claims on it became others; what is only tried does not count. */
  moves = new Int32Array(0);
  order = new NodeOrder();
  taken = new DeviceMasks();
  /** Taken rendezvous ports of each node, ascending. */
  ports: number[][] = [];
  existing = 0;
  /** Moves when a node comes into being, goes or changes what it has. */
  existence = 0;
  /** How often all nodes went to other classes. */
  reclassed = 0;
  /** Moves when any node comes, goes or changes in any way that matters to placing. */
  standing = 0;
  byClass: (ClassNodes | undefined)[] = [];
  /** What placements that may be undone have taken. */
  readonly ledger = new Ledger();
  #vacant: number[] = [];

  /** Set where a job without places takes nodes by price and id, and not the tightest: under conservative backfill. */
  firstFit = false;
  tree: Tree;
  resources: Resources;
  readonly changes = new Changes();
  readonly latest = new Latest();
  /** What the jobs that wait and run ask for together. */
  mix = new Mix();
  /** Rooms of options that ask for places of the topology. */
  readonly rooms = new Map<string, { readonly rooms: Rooms; readonly madeFor: number }>();

  constructor(classes: ClassTable, topology: Topology) {
    this.classes = classes;
    this.tree = new Tree(topology);
    this.resources = new Resources(topology.resources, this.tree);
    this.#grow(probe + 1);
    this.order.reserve(probe);
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
    else {
      this.#leaveTree(slot);
      this.classes.countLabels(this.facts[slot]!, -1);
      this.#leaveClass(slot);
    }
    this.#setFacts(slot, facts);
    const stale = this.classes.countLabels(facts, 1);
    this.#enterClass(slot);
    this.#enterTree(slot);
    if (stale) this.#classAll();
  }

  /** Another policy: domains and resources are other ones, and so is what classes are. */
  setPolicy(policy: PlacingPolicy): void {
    const before = this.classes;
    this.classes = new ClassTable(policy, before);
    this.byClass = [];
    this.existing = 0;
    this.tree = new Tree(policy.topology);
    this.resources = new Resources(policy.topology.resources, this.tree);
    for (const slot of this.slots.values()) this.classes.countLabels(this.facts[slot]!, 1);
    for (const slot of this.slots.values()) {
      this.#enterClass(slot);
      this.#enterTree(slot);
    }
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
    return this.takesWork(slot) ? this.byClass[this.classOf[slot]!]!.index.find(slot) : -1;
  }

  /** Returns the node's position from now on. */
  end(slot: number, position: number): number {
    this.changes.add(slot);
    return position < 0 ? position : this.byClass[this.classOf[slot]!]!.index.moved(position);
  }

  /** The node is another: it, a run on it, when that ends, or a claim. */
  moved(slot: number): void {
    this.moves[slot]!++;
    this.changes.add(slot);
  }

  /** Takes what one task takes (sign 1), or gives it back (-1). Its devices are `count` of a list, from `at`. */
  changeTask(
    sign: 1 | -1,
    slot: number,
    amounts: { readonly cpuMilli: number; readonly memoryMib: number },
    devices: ArrayLike<number>,
    at: number,
    count: number,
    milli: number,
  ): void {
    this.changeTasks(sign, slot, 1, amounts, devices, at, count, milli);
  }

  /** The same of several tasks that take alike, with the devices of all. */
  changeTasks(
    sign: 1 | -1,
    slot: number,
    tasks: number,
    amounts: { readonly cpuMilli: number; readonly memoryMib: number },
    devices: ArrayLike<number>,
    at: number,
    count: number,
    milli: number,
  ): void {
    const { cls, needs } = this.byClass[this.classOf[slot]!]!;
    for (let i = 0; i < count; i++) this.#sell(slot, cls, devices[at + i]!, sign * milli);
    this.tasks[slot]! += sign * tasks;
    if (needs.length > 0) this.#use(sign, slot, needs, tasks, devices, at, count, milli);
    change(this.usedCpu, slot, sign * tasks * amounts.cpuMilli, 'taken cores');
    change(this.usedMemory, slot, sign * tasks * amounts.memoryMib, 'taken memory');
    this.#refree(slot, cls);
  }

  /** What claims keep of the node beside its runs: amounts of so many tasks, thousandths by device. */
  changeKept(
    sign: 1 | -1,
    slot: number,
    kept: {
      readonly tasks: number;
      readonly cpuMilli: number;
      readonly memoryMib: number;
      readonly devices: ReadonlyMap<number, number>;
    },
  ): void {
    this.#useAll(-1, slot);
    const cls = this.#classOf(slot);
    for (const [index, milli] of kept.devices) this.#sell(slot, cls, index, sign * milli);
    this.tasks[slot]! += sign * kept.tasks;
    this.#useAll(1, slot);
    change(this.usedCpu, slot, sign * kept.cpuMilli, 'kept cores');
    change(this.usedMemory, slot, sign * kept.memoryMib, 'kept memory');
    this.#refree(slot, cls);
  }

  /** Keeps amounts free that nobody takes yet (1), or no longer (-1); resources of domains are not touched. */
  changeShadow(
    sign: 1 | -1,
    slot: number,
    cpuMilli: number,
    memoryMib: number,
    devices: Int32Array,
    at: number,
    count: number,
  ): void {
    const cls = this.#classOf(slot);
    for (let i = 0; i < count; i++)
      if (devices[at + i]! > 0) this.#sell(slot, cls, i, sign * devices[at + i]!);
    this.usedCpu[slot]! += sign * cpuMilli;
    this.usedMemory[slot]! += sign * memoryMib;
    this.#refree(slot, cls);
  }

  /** A run goes (-1) or comes back (1) in a look at the future; a removed node stays all the same. */
  changeRuns(sign: 1 | -1, slot: number, exclusive: boolean): void {
    this.runs[slot]! += sign;
    if (exclusive) this.exclusive[slot] = sign === 1 ? 1 : 0;
    this.changes.add(slot);
  }

  enterRun(slot: number, exclusive: boolean): void {
    if (this.exclusive[slot] !== 0 || (exclusive && this.runs[slot]! > 0))
      invariant(false, `node ${slot} is not shared`);
    this.runs[slot]!++;
    if (exclusive) this.exclusive[slot] = 1;
  }

  leaveRun(slot: number): void {
    if (this.runs[slot]! === 0) invariant(false, `no run is on node ${slot}`);
    this.runs[slot]!--;
    this.changes.add(slot);
    if (this.runs[slot]! > 0) return;
    this.exclusive[slot] = 0;
    if (this.facts[slot]!.state === 'removed') this.#drop(slot);
  }

  /** A claim comes to the node (1) or goes (-1). */
  claimNode(slot: number, exclusive: boolean, sign: 1 | -1): void {
    this.changes.add(slot);
    this.claimed[slot]! += sign;
    if (exclusive) this.claimedAlone[slot]! += sign;
  }

  /** The lowest port the node can still give, or -1. */
  freePort(slot: number): number {
    const { portFirst, portCount } = this.placing;
    return lowestFree(this.ports[slot]!, portFirst[slot]!, portCount[slot]!);
  }

  hasFreePort(slot: number): boolean {
    return this.ports[slot]!.length < this.placing.portCount[slot]! || this.freePort(slot) >= 0;
  }

  compareNodes = (a: number, b: number): number =>
    this.freeDevices[a]! - this.freeDevices[b]! ||
    this.freeMilli[a]! - this.freeMilli[b]! ||
    this.freeCpu[a]! - this.freeCpu[b]! ||
    this.freeMemory[a]! - this.freeMemory[b]! ||
    this.order.numbers[a]! - this.order.numbers[b]!;

  /** 0 for nodes with equally much left. */
  compareAmounts(a: number, b: number): number {
    return (
      this.freeDevices[a]! - this.freeDevices[b]! ||
      this.freeMilli[a]! - this.freeMilli[b]! ||
      this.freeCpu[a]! - this.freeCpu[b]! ||
      this.freeMemory[a]! - this.freeMemory[b]!
    );
  }

  /** The first position of a class's index with at least these amounts, compared one after the other; or -1. */
  positionOf(index: SortedInts, devices: number, milli: number, cpuMilli: number, memoryMib: number): number {
    this.freeDevices[probe] = devices;
    this.freeMilli[probe] = milli;
    this.freeCpu[probe] = cpuMilli;
    this.freeMemory[probe] = memoryMib;
    return index.notBefore(probe);
  }

  /** Ready and not draining. */
  takesWork(slot: number): boolean {
    return this.placing.takesWork[slot] === 1;
  }

  /** An independent copy. */
  copy(classes: ClassTable): Fleet {
    const other = this.#copyNodes(classes);
    other.resources = this.resources.copy(other.tree);
    other.tasks = this.tasks.slice();
    other.freeDevices = this.freeDevices.slice();
    other.freeMilli = this.freeMilli.slice();
    other.freeCpu = this.freeCpu.slice();
    other.freeMemory = this.freeMemory.slice();
    other.usedCpu = this.usedCpu.slice();
    other.usedMemory = this.usedMemory.slice();
    other.runs = this.runs.slice();
    other.exclusive = this.exclusive.slice();
    other.claimed = this.claimed.slice();
    other.claimedAlone = this.claimedAlone.slice();
    other.moves = this.moves.slice();
    other.taken = this.taken.copy();
    other.ports = this.ports.map((ports) => ports.slice());
    other.existing = this.existing;
    for (const [id, nodes] of this.byClass.entries())
      if (nodes) other.byClass[id] = { ...nodes, index: nodes.index.copy(other.compareNodes) };
    return other;
  }

  /** The same nodes with nothing on them, all taking work unless `asTheyStand`: what the fleet could hold at best. */
  emptied(asTheyStand = false): Fleet {
    const other = this.#copyNodes(this.classes);
    other.#grow(this.classOf.length);
    // What a fleet could ever hold has nothing to do with who waits for it today.
    other.mix = new Mix();
    other.taken = this.taken.emptied();
    other.ports = this.ports.map(() => []);
    for (const slot of this.slots.values()) {
      const facts = this.facts[slot]!;
      if (!asTheyStand)
        other.#setFacts(slot, {
          ...facts,
          state: facts.state === 'silent' ? 'ready' : facts.state,
          drain: null,
        });
      other.#openClass(this.classes.get(this.classOf[slot]!));
      other.#refreeAll(slot);
      other.#count(slot, 1);
    }
    other.standing = this.standing;
    return other;
  }

  #copyNodes(classes: ClassTable): Fleet {
    const other = new Fleet(classes, { levels: this.tree.levels, resources: this.resources.list });
    other.tree = this.tree.copy();
    other.resources = new Resources(this.resources.list, other.tree);
    other.changes.fit(this.facts.length);
    for (const [node, slot] of this.slots) other.slots.set(node, slot);
    other.facts = this.facts.slice();
    other.placing = this.placing.copy();
    other.classOf = this.classOf.slice();
    other.order = this.order.copy();
    other.existence = this.existence;
    other.mix = this.mix;
    other.firstFit = this.firstFit;
    other.standing = this.standing;
    other.#vacant = this.#vacant.slice();
    return other;
  }

  #setFacts(slot: number, facts: NodeFacts): void {
    this.facts[slot] = facts;
    this.placing.set(slot, facts);
  }

  #newSlot(facts: NodeFacts): number {
    const slot = this.#vacant.pop() ?? this.facts.length;
    this.#grow(slot + 1);
    this.slots.set(facts.node, slot);
    this.ports[slot] = [];
    this.usedCpu[slot] = 0;
    this.usedMemory[slot] = 0;
    this.tasks[slot] = 0;
    this.runs[slot] = 0;
    this.exclusive[slot] = 0;
    this.claimed[slot] = 0;
    this.claimedAlone[slot] = 0;
    this.taken.add(slot);
    this.order.add(slot, facts.node);
    return slot;
  }

  #drop(slot: number): void {
    this.#leaveTree(slot);
    this.classes.countLabels(this.facts[slot]!, -1);
    this.#closeClass(this.classOf[slot]!);
    this.slots.delete(this.facts[slot]!.node);
    this.order.remove(slot);
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
    this.taken.fit(cls.devices.length);
    this.#refreeAll(slot);
    this.#count(slot, 1);
    this.existence++;
  }

  #leaveClass(slot: number): void {
    this.#count(slot, -1);
    this.#closeClass(this.classOf[slot]!);
    this.existence++;
  }

  /** Labels became fine: all nodes are in other classes. */
  #classAll(): void {
    this.reclassed++;
    for (const slot of this.slots.values()) {
      this.#leaveClass(slot);
      this.#enterClass(slot);
    }
  }

  #enterTree(slot: number): void {
    this.tree.add(slot, this.facts[slot]!);
    this.changes.fit(this.facts.length);
    this.#useAll(1, slot);
  }

  #leaveTree(slot: number): void {
    this.#useAll(-1, slot);
    this.tree.remove(slot);
  }

  /** What tasks use of the resources of their node's domains. */
  #use(
    sign: 1 | -1,
    slot: number,
    needs: ClassNodes['needs'],
    tasks: number,
    devices: ArrayLike<number>,
    at: number,
    count: number,
    milli: number,
  ): void {
    for (let r = 0; r < needs.length; r++) {
      let amount = tasks * this.resources.list[r]!.perTask * wholeDevice;
      for (let i = 0; i < count; i++) amount += (needs[r]![devices[at + i]!] ?? 0) * milli;
      this.resources.change(slot, r, sign * amount);
    }
  }

  /** A resource of a domain above the node of which more is used than there is, and of which a task with these devices uses some. */
  overAbove(slot: number, devices: Iterable<number>): string | null {
    const { needs } = this.byClass[this.classOf[slot]!]!;
    const indices = [...devices];
    for (const [r, resource] of this.resources.list.entries()) {
      const takes = resource.perTask > 0 || indices.some((index) => (needs[r]![index] ?? 0) > 0);
      const domain = takes ? this.resources.overAt(slot, r) : -1;
      if (domain >= 0) return `${resource.name} of ${this.tree.text(domain)}`;
    }
    return null;
  }

  /** The same of everything on the node. */
  #useAll(sign: 1 | -1, slot: number): void {
    const { needs } = this.byClass[this.classOf[slot]!]!;
    for (let r = 0; r < needs.length; r++) {
      let amount = this.resources.list[r]!.perTask * wholeDevice * this.tasks[slot]!;
      for (let i = 0; i < needs[r]!.length; i++) amount += needs[r]![i]! * this.taken.taken(slot, i);
      this.resources.change(slot, r, sign * amount);
    }
  }

  #openClass(cls: NodeClass): void {
    if (this.byClass[cls.id]) return;
    const index = new SortedInts(this.compareNodes);
    const needs = this.resources.list.map((resource) => deviceNeeds(resource, cls));
    this.byClass[cls.id] = { cls, index, existing: 0, draining: 0, quarantined: 0, silent: 0, needs };
  }

  #closeClass(id: number): void {
    if (this.classes.leave(id) === 'gone') delete this.byClass[id];
  }

  /** State or drain changed: the class stays, its counts and index follow. */
  #reclass(slot: number, facts: NodeFacts): void {
    const existed = exists(this.facts[slot]!);
    this.#count(slot, -1);
    this.#setFacts(slot, facts);
    this.#count(slot, 1);
    if (existed !== exists(facts)) this.existence++;
  }

  /** Adds the node to (1) or takes it from (-1) the counts and the index of its class. */
  #count(slot: number, sign: 1 | -1): void {
    this.moved(slot);
    this.standing++;
    const facts = this.facts[slot]!;
    const nodes = this.byClass[this.classOf[slot]!]!;
    if (!exists(facts)) return;
    nodes.existing += sign;
    this.existing += sign;
    if (facts.drain?.quarantine) nodes.quarantined += sign;
    else if (facts.drain !== null) nodes.draining += sign;
    else if (facts.state === 'silent') nodes.silent += sign;
    else if (sign === 1) nodes.index.insert(slot);
    else nodes.index.remove(slot);
  }

  #sell(slot: number, { devices }: NodeClass, index: number, milli: number): void {
    const before = this.taken.change(slot, index, milli);
    if (index >= devices.length) return;
    this.freeMilli[slot]! -= milli;
    if (before === 0) this.freeDevices[slot]!--;
    else if (before + milli === 0) this.freeDevices[slot]!++;
  }

  #refree(slot: number, { cpuMilli, memoryMib }: NodeClass): void {
    this.freeCpu[slot] = Math.max(0, cpuMilli - this.usedCpu[slot]!);
    this.freeMemory[slot] = Math.max(0, memoryMib - this.usedMemory[slot]!);
  }

  #refreeAll(slot: number): void {
    const cls = this.#classOf(slot);
    const total = cls.devices.length;
    let untouched = 0;
    let free = total * wholeDevice;
    for (let i = 0; i < total; i++) {
      const taken = this.taken.taken(slot, i);
      if (taken === 0) untouched++;
      free -= taken;
    }
    this.freeDevices[slot] = untouched;
    this.freeMilli[slot] = free;
    this.#refree(slot, cls);
  }

  #classOf(slot: number): NodeClass {
    return this.byClass[this.classOf[slot]!]!.cls;
  }

  #grow(size: number): void {
    this.classOf = grown(this.classOf, size);
    this.freeDevices = grown(this.freeDevices, size);
    this.freeMilli = grown(this.freeMilli, size);
    this.freeCpu = grown(this.freeCpu, size);
    this.freeMemory = grown(this.freeMemory, size);
    this.usedCpu = grown(this.usedCpu, size);
    this.usedMemory = grown(this.usedMemory, size);
    this.tasks = grown(this.tasks, size);
    this.runs = grown(this.runs, size);
    this.exclusive = grown(this.exclusive, size);
    this.claimed = grown(this.claimed, size);
    this.claimedAlone = grown(this.claimedAlone, size);
    this.moves = grown(this.moves, size);
  }
}

function change(column: Float64Array, slot: number, amount: number, what: string): void {
  const now = column[slot]! + amount;
  // A number that is handed on is made an object: only one that is wrong.
  if (!(now >= 0 && now <= Number.MAX_SAFE_INTEGER)) assertAmount(now, what);
  column[slot] = now;
}

export function exists(facts: NodeFacts): boolean {
  return facts.state === 'ready' || facts.state === 'silent';
}
