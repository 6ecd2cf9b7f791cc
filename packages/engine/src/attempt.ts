// One try of placing one gang with one choice of alternatives, inside one domain of the topology. What it placed stays
// placed, whether or not all of it fitted; fit.ts tries again or undoes it.
import { type GroupDemand, type TopologyDemand, wholeDevice } from '@muster/model';
import { DomainNodes, holdsFirst } from './domain-nodes.ts';
import type { Fleet } from './fleet.ts';
import { type Placement, undoTo } from './ledger.ts';
import type { ClassFit } from './match.ts';
import { strandedMicro } from './mix.ts';
import { amountRoom, compareTightness, isClosed, labelsAllowed, roomFor, scoreOn } from './node-room.ts';
import { candidates, type Filling, type Into, pack, roomiest, roomsOf } from './packing.ts';
import { Rooms } from './rooms.ts';
import { isTied, type Option, type Shape, takesVary } from './shape.ts';
import type { SortedInts } from './sorted-ints.ts';
import { spread } from './spread.ts';
import { takeTasks } from './take-tasks.ts';
import { findTightest, vainMax } from './tightest.ts';
import { root } from './tree.ts';

/** How far an attempt came: groups wholly placed, and tasks of the first that was not. */
export interface Progress {
  readonly placed: number;
  /** The group that did not fit; -1 when all did. */
  readonly group: number;
  readonly tasksFit: number;
}

/** Where an attempt may place, and what it must keep away from. */
export interface Ground {
  /** Nothing is placed outside this domain. */
  readonly region: number;
  /** Few domains of this level are used inside it; -1 when that does not matter, -2 when no domain of the level asked for has room. */
  readonly packLevel: number;
  /** Groups that must be near another, or have another near them, are all in this domain; -1 where they may choose. */
  readonly near: number;
  /** Whether a group gets no more tasks there than its room promises, though the models they get may leave more of a resource. */
  readonly certain: boolean;
  readonly avoid: ReadonlySet<number>;
}

const complete: Progress = { placed: -1, group: -1, tasksFit: 0 };

export class Attempt {
  readonly placement: Placement;
  readonly #fleet: Fleet;
  readonly #shape: Shape;
  readonly #ground: Ground;
  /** Nodes with tasks of this gang; null where none is chosen twice. */
  readonly #own: Set<number> | null;
  /** Tasks of the gang in each domain, where the job asks for an even spread of all its groups. */
  #spread: Map<number, number> | null = null;

  constructor(fleet: Fleet, shape: Shape, ground: Ground) {
    this.#fleet = fleet;
    this.#shape = shape;
    this.#ground = ground;
    // A countable resource may let a node take more tasks once the first ones took less than they could have.
    const again = fleet.resources.list.length > 0 && shape.groups[0]!.demand.tasks > 1;
    this.#own = shape.groups.length > 1 || again ? new Set() : null;
    const { size } = fleet.ledger;
    this.placement = { from: size, to: size, portSlot: -1, port: -1 };
  }

  run(combination: readonly number[], order: readonly number[]): Progress {
    for (let i = 0; i < order.length; i++) {
      const group = order[i]!;
      const { demand, options } = this.#shape.groups[group]!;
      const tasksFit = this.#placeGroup(group, demand, options, combination[group]!);
      if (tasksFit < demand.tasks) return { placed: i, group, tasksFit };
    }
    return complete;
  }

  /** So many tasks of the first group to a node that has room for them. */
  takeOn(slot: number, fit: ClassFit, tasks: number): void {
    this.#take(0, slot, fit, tasks, this.#fleet.begin(slot));
  }

  #placeGroup(group: number, demand: GroupDemand, options: readonly Option[], chosen: number): number {
    const option = options[chosen]!;
    const { packLevel } = this.#ground;
    if (packLevel === -2) return 0;
    const region = this.#regionOf(group);
    const { topology: ofJob } = this.#shape.demand;
    const topology = demand.topology ?? (ofJob?.mode === 'spread' ? ofJob : null);
    const anyPlace = region === root && topology === null && demand.near === null && packLevel < 0;
    if (anyPlace && this.#fleet.firstFit) return this.#placeFirst(group, option, demand.tasks);
    if (anyPlace && demand.tasks === 1 && this.#fleet.mix.isMixed) return this.#placeOne(group, option.fits);
    if (anyPlace && this.#shape.nodePreferences.length === 0)
      return this.#placeAnywhere(group, option.tiers, demand.tasks);
    const rooms = this.#roomsOf(group, demand, option, chosen);
    if (rooms === null) return 0;
    const filling: Filling = {
      rooms,
      fill: (domain, tasks) => this.#fill(group, rooms, domain, tasks),
      mayBegin: (domain) => !this.#needsPort(group) || holdsFirst(this.#fleet, rooms, domain),
    };
    const into: Into = (domain, level, tasks) => {
      const most = this.#ground.certain ? rooms.room[domain]! : tasks;
      return pack(this.#fleet, filling, domain, level, Math.min(tasks, most));
    };
    const wanted = this.#ground.certain ? Math.min(demand.tasks, rooms.room[region]!) : demand.tasks;
    if (topology === null) return into(region, packLevel, wanted);
    const level = this.#fleet.tree.levelNamed(topology.level);
    if (level === -2) return 0;
    if (topology.mode === 'required')
      return this.#placeTogether(topology, wanted, into, filling, level, region);
    if (topology.mode === 'preferred') {
      const { to, port, portSlot } = this.placement;
      const placed = this.#placeTogether(topology, wanted, into, filling, level, region);
      if (placed === wanted || !takesVary(this.#shape, group, chosen)) return placed;
      // As if nothing were preferred: that makes no job wait.
      this.#undoTo({ to, port, portSlot });
      return into(region, -1, wanted);
    }
    const counts = demand.topology === null ? this.#spreadOfAll() : new Map<number, number>();
    return spread(this.#fleet, filling, into, level, region, wanted, counts);
  }

  /** Whether the next task of the group is the gang's first one: all ranks find it by its port. */
  #needsPort(group: number): boolean {
    return group === 0 && this.placement.port < 0;
  }

  #regionOf(group: number): number {
    const { region, near } = this.#ground;
    return near >= 0 && isTied(this.#shape, group) ? near : region;
  }

  /** In one domain of the level, or (preferred) in the narrowest wider one that holds all. */
  #placeTogether(
    topology: TopologyDemand,
    tasks: number,
    into: Into,
    { rooms, mayBegin }: Filling,
    level: number,
    region: number,
  ): number {
    const { tree } = this.#fleet;
    const widest = topology.mode === 'required' ? level : tree.level[region]!;
    for (let l = level; l >= Math.max(widest, tree.level[region]! + 1); l--) {
      for (const domain of candidates(this.#fleet, rooms, l, region, tasks, mayBegin)) {
        const { to, port, portSlot } = this.placement;
        if (into(domain, level, tasks) === tasks) return tasks;
        this.#undoTo({ to, port, portSlot });
      }
    }
    if (topology.mode === 'preferred' || level <= tree.level[region]!) return into(region, level, tasks);
    const best = roomiest(this.#fleet, rooms, level, region);
    return best < 0 ? 0 : into(best, level, Math.min(tasks - 1, rooms.room[best]!));
  }

  #undoTo(mark: Omit<Placement, 'from'>): void {
    const { ledger } = this.#fleet;
    for (let pick = mark.to; pick < this.placement.to; pick++)
      if (ledger.first[pick] === 1) this.#own?.delete(ledger.slot[pick]!);
    undoTo(this.#fleet, this.placement, mark);
  }

  #spreadOfAll(): Map<number, number> {
    this.#spread ??= new Map();
    return this.#spread;
  }

  /** The rooms of this option as the gang sees them; null where it may be nowhere. */
  #roomsOf(group: number, demand: GroupDemand, option: Option, chosen: number): Rooms | null {
    const fleet = this.#fleet;
    const near = this.#nearOf(demand);
    if (near === null) return null;
    if (near === anywhere && this.#ground.avoid.size === 0 && !this.#own?.size)
      return roomsOf(fleet, this.#shape, group, chosen);
    const { avoid } = this.#ground;
    const isNear = near === anywhere ? () => true : near;
    const room = (slot: number, fit: ClassFit): number =>
      avoid.has(slot) || !isNear(slot) || isClosed(fleet, this.#shape, slot, this.#own?.has(slot) === true)
        ? 0
        : amountRoom(fleet, slot, fit);
    const allowed = (slot: number): boolean => labelsAllowed(fleet, this.#shape, slot);
    return new Rooms(fleet, option.fits, room, allowed).sync();
  }

  /** Which nodes are in a domain with tasks of the group that this one must be near to. */
  #nearOf({ near }: GroupDemand): ((slot: number) => boolean) | null {
    if (near === null) return anywhere;
    const { tree, ledger } = this.#fleet;
    const level = tree.levelNamed(near.level);
    const target = this.#shape.groups.findIndex(({ demand }) => demand.name === near.group);
    if (level === -2 || target < 0) return null;
    const domains = new Set<number>();
    for (let pick = this.placement.from; pick < this.placement.to; pick++)
      if (ledger.group[pick] === target) domains.add(tree.at(ledger.slot[pick]!, level));
    return (slot) => domains.has(tree.at(slot, level));
  }

  /** As many of the tasks as fit into a domain, by the rule of nodes in order.ts; the domain's nodes are looked at one by one. */
  #fill(group: number, rooms: Rooms, domain: number, wanted: number): number {
    const fleet = this.#fleet;
    const nodes = new DomainNodes(fleet, this.#shape, rooms, domain);
    let left = wanted;
    while (left > 0) {
      const needsPort = this.#needsPort(group);
      const found = nodes.best(left, needsPort);
      if (found < 0) break;
      const slot = nodes.slots[found]!;
      const tasks = Math.min(left, nodes.room(found));
      this.#take(group, slot, rooms.fitOf(slot), tasks, fleet.begin(slot));
      nodes.took(found, tasks);
      left -= tasks;
    }
    return wanted - left;
  }

  /** A single task among jobs of many kinds: the node with the lowest score and least stranded, the tightest of those. */
  #placeOne(group: number, fits: readonly ClassFit[]): number {
    const fleet = this.#fleet;
    const needsPort = group === 0;
    let best = -1;
    let bestScore = 0;
    let bestFit: ClassFit | null = null;
    let bestAt = -1;
    for (let f = 0; f < fits.length; f++) {
      const fit = fits[f]!;
      const { index } = fleet.byClass[fit.classId]!;
      const whole = fit.milli === wholeDevice;
      const plain = whole && fit.mask === null && this.#shape.nodePreferences.length === 0;
      let p = whole ? index.lowerBound(fleet.freeDevices, fit.count) : index.first();
      for (let vain = 0; p >= 0; ) {
        const slot = index.at(p);
        const usable = this.room(slot, fit, 1, needsPort) > 0;
        if (usable) {
          const score = this.#scoreWith(slot, fit);
          const tighter = best >= 0 && score === bestScore && this.#isTighter(slot, fit, best, bestFit!);
          if (best < 0 || score < bestScore || tighter) {
            best = slot;
            bestScore = score;
            bestFit = fit;
            bestAt = p;
          }
        }
        // Nodes with equally much left stand together: none is better than one that is usable, or better off than a full one.
        const alike = plain && (usable || amountRoom(fleet, slot, fit) === 0);
        p = alike && ++vain >= vainMax ? this.#pastEqual(index, p) : index.next(p);
      }
    }
    if (best < 0) return 0;
    this.#take(group, best, bestFit!, 1, bestAt);
    return 1;
  }

  #scoreWith(slot: number, fit: ClassFit): number {
    const { mix, classes } = this.#fleet;
    const stranded = strandedMicro(mix.strands(this.#fleet, slot, fit), classes.prices.deviceHourMicro);
    return scoreOn(this.#fleet, this.#shape, slot, fit) + stranded;
  }

  #isTighter(slot: number, fit: ClassFit, other: number, otherFit: ClassFit): boolean {
    return compareTightness(this.#fleet, slot, fit, other, otherFit, 1) < 0;
  }

  /** The next position whose node has other amounts left. */
  #pastEqual(index: SortedInts, position: number): number {
    const { freeDevices, freeMilli, freeCpu, freeMemory } = this.#fleet;
    const slot = index.at(position);
    const next = index.next(position);
    if (next < 0 || this.#fleet.compareAmounts(slot, index.at(next)) !== 0) return next;
    return this.#fleet.positionOf(
      index,
      freeDevices[slot]!,
      freeMilli[slot]!,
      freeCpu[slot]!,
      freeMemory[slot]! + 1,
    );
  }

  /** The cheapest nodes, of those the first by id: what others take elsewhere, or will, changes nothing about it. */
  #placeFirst(group: number, { fits }: Option, wanted: number): number {
    const fleet = this.#fleet;
    const fitOf: (ClassFit | undefined)[] = [];
    for (const fit of fits) fitOf[fit.classId] = fit;
    const score = (slot: number): number => scoreOn(fleet, this.#shape, slot, fitOf[fleet.classOf[slot]!]!);
    let slots = fleet.order.slots().filter((slot) => fitOf[fleet.classOf[slot]!] && fleet.takesWork(slot));
    const isEven =
      this.#shape.nodePreferences.length === 0 && fits.every((fit) => fit.score === fits[0]!.score);
    if (!isEven) slots = slots.toSorted((a, b) => score(a) - score(b));
    let left = wanted;
    for (let i = 0; i < slots.length && left > 0; i++) {
      const slot = slots[i]!;
      const needsPort = this.#needsPort(group);
      const fit = fitOf[fleet.classOf[slot]!]!;
      const tasks = this.room(slot, fit, left, needsPort);
      if (tasks === 0) continue;
      this.#take(group, slot, fit, tasks, fleet.begin(slot), true);
      left -= tasks;
      // Nodes without a free port were out for rank 0 only. And where domains have countable resources, tasks may have taken
      // less of them than they could have, so that the node holds more.
      if (needsPort) i = -1;
      else if (fit.needs.length > 0) i--;
    }
    return wanted - left;
  }

  /** The cheapest nodes first. */
  #placeAnywhere(group: number, tiers: readonly (readonly ClassFit[])[], wanted: number): number {
    let left = wanted;
    for (let t = 0; t < tiers.length && left > 0; ) {
      // Only rank 0 needs a port: cheaper nodes without one are for the others.
      const once = t > 0 && this.#needsPort(group);
      const placed = this.#placeInTier(group, tiers[t]!, left, once);
      left -= placed;
      t = once && placed > 0 ? 0 : t + 1;
    }
    return wanted - left;
  }

  #placeInTier(group: number, fits: readonly ClassFit[], wanted: number, once: boolean): number {
    const fleet = this.#fleet;
    const { latest } = fleet;
    let tasksMax = 0;
    for (let i = 0; i < fits.length; i++) tasksMax = Math.max(tasksMax, fits[i]!.tasksMax);
    let left = wanted;
    let tasks = tasksMax;
    while (left > 0 && tasks > 0) {
      tasks = Math.min(tasks, left);
      const needsPort = this.#needsPort(group);
      const free = this.#isFree(tasks);
      const again = free && latest.holdsAnother(fleet, this.#shape, fits, needsPort);
      const found = again ? latest : findTightest(fleet, fits, tasks, needsPort, this);
      if (found.slot < 0) {
        tasks = found.tasksNext;
        continue;
      }
      const { slot, fit } = found;
      const position = this.#take(group, slot, fit!, tasks, found.position);
      if (free) latest.set(fleet, this.#shape, fits, fit!, slot, position, needsPort);
      left -= tasks;
      if (once) break;
      // Nodes without a free port are out for rank 0 only; they may hold more than the first one did.
      if (needsPort) tasks = tasksMax;
    }
    return wanted - left;
  }

  /** Whether the task that was placed last, and this one, may go wherever the tightest node is. */
  #isFree(tasks: number): boolean {
    return tasks === 1 && this.#own === null && this.#ground.avoid.size === 0;
  }

  /** How many more tasks the node holds, at most `tasks`. */
  room(slot: number, fit: ClassFit, tasks: number, needsPort: boolean): number {
    const { avoid } = this.#ground;
    if (avoid.size > 0 && avoid.has(slot)) return 0;
    return roomFor(this.#fleet, this.#shape, slot, fit, tasks, needsPort, this.#own?.has(slot) === true);
  }

  /** From its position in the index to the one afterwards. */
  #take(group: number, slot: number, fit: ClassFit, tasks: number, position: number, lowest = false): number {
    const first = this.#own === null || !this.#own.has(slot);
    this.#own?.add(slot);
    const { placement } = this;
    return takeTasks(this.#fleet, this.#shape, placement, group, slot, fit, tasks, first, position, lowest);
  }
}

const anywhere = (): boolean => true;
