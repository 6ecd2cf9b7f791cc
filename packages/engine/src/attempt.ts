// One try of placing one gang with one choice of alternatives, inside one domain of the topology. What it placed stays
// placed, whether or not all of it fitted; fit.ts tries again or undoes it.
import { type GroupDemand, type TopologyDemand, wholeDevice } from '@muster/model';
import { chooseDevices, choosePart } from './devices.ts';
import { DomainNodes } from './domain-nodes.ts';
import type { Fleet } from './fleet.ts';
import { type Placement, undoTo } from './ledger.ts';
import { type ClassFit, tasksIn } from './match.ts';
import { strandedMicro } from './mix.ts';
import {
  amountRoom,
  compareTightness,
  deviceRoom,
  isClosed,
  labelsAllowed,
  opens,
  scoreOn,
} from './node-room.ts';
import { candidates, pack, roomiest, roomsOf } from './packing.ts';
import { takePort } from './ports.ts';
import { Rooms } from './rooms.ts';
import { isTied, type Option, type Shape } from './shape.ts';
import type { SortedInts } from './sorted-ints.ts';
import { share } from './spread.ts';
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

/** Nodes looked at one by one before a leap is tried; a leap costs as much as a few of them. */
const vainMax = 4;

export class Attempt {
  readonly placement: Placement;
  readonly #fleet: Fleet;
  readonly #shape: Shape;
  readonly #ground: Ground;
  /** Nodes with tasks of this gang; null where none is chosen twice. */
  readonly #own: Set<number> | null;
  /** Tasks of the gang in each domain, where the job asks for an even spread of all its groups. */
  #spread: Map<number, number> | null = null;
  #foundFit: ClassFit | null = null;
  #foundAt = -1;
  #tasksNext = 0;

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
    this.#foundAt = this.#fleet.begin(slot);
    this.#take(0, slot, fit, tasks);
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
    const fill = (domain: number, tasks: number): number => this.#fill(group, rooms, domain, tasks);
    const into: Into = (domain, level, tasks) => {
      const most = this.#ground.certain ? rooms.room[domain]! : tasks;
      return pack(this.#fleet, rooms, fill, domain, level, Math.min(tasks, most));
    };
    if (topology === null) return into(region, packLevel, demand.tasks);
    const level = this.#fleet.tree.levelNamed(topology.level);
    if (level === -2) return 0;
    if (topology.mode === 'spread') return this.#placeSpread(demand, into, rooms, level, region);
    return this.#placeTogether(topology, demand.tasks, into, rooms, level, region);
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
    rooms: Rooms,
    level: number,
    region: number,
  ): number {
    const { tree } = this.#fleet;
    const widest = topology.mode === 'required' ? level : tree.level[region]!;
    for (let l = level; l >= Math.max(widest, tree.level[region]! + 1); l--) {
      for (const domain of candidates(this.#fleet, rooms, l, region, tasks)) {
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

  #placeSpread(demand: GroupDemand, into: Into, rooms: Rooms, level: number, region: number): number {
    const { tree } = this.#fleet;
    const counts = demand.topology === null ? this.#spreadOfAll() : new Map<number, number>();
    const domains: number[] = [];
    // Inside one domain of the level, or of a narrower one, there is nothing to be even about.
    const among = tree.level[region]! >= level ? [region] : tree.within(region, level);
    for (const domain of among) if (rooms.room[domain]! > 0) domains.push(domain);
    const parts = share(domains, demand.tasks, (domain) => rooms.room[domain]!, counts);
    let placed = 0;
    for (const [i, domain] of domains.entries()) {
      if (parts[i] === 0) continue;
      const done = into(domain, level, parts[i]!);
      counts.set(domain, (counts.get(domain) ?? 0) + done);
      placed += done;
      if (done < parts[i]!) break;
    }
    return placed;
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
      const needsPort = group === 0 && this.placement.port < 0;
      const found = nodes.best(left, needsPort);
      if (found < 0) break;
      const slot = nodes.slots[found]!;
      const tasks = Math.min(left, nodes.room(found));
      this.#foundAt = fleet.begin(slot);
      this.#take(group, slot, rooms.fitOf(slot), tasks);
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
    for (let f = 0; f < fits.length; f++) {
      const fit = fits[f]!;
      const { index } = fleet.byClass[fit.classId]!;
      const whole = fit.milli === wholeDevice;
      const plain = whole && fit.mask === null && this.#shape.nodePreferences.length === 0;
      let p = whole ? index.lowerBound(fleet.freeDevices, fit.count) : index.first();
      for (let vain = 0; p >= 0; ) {
        const slot = index.at(p);
        const usable = this.#room(slot, fit, 1, needsPort) > 0;
        if (usable) {
          const score = this.#scoreWith(slot, fit);
          const tighter = best >= 0 && score === bestScore && this.#isTighter(slot, fit, best, bestFit!);
          if (best < 0 || score < bestScore || tighter) {
            best = slot;
            bestScore = score;
            bestFit = fit;
            this.#foundAt = p;
          }
        }
        // Nodes with equally much left stand together: none is better than one that is usable, or better off than a full one.
        const alike = plain && (usable || amountRoom(fleet, slot, fit) === 0);
        p = alike && ++vain >= vainMax ? this.#pastEqual(index, p) : index.next(p);
      }
    }
    if (best < 0) return 0;
    this.#take(group, best, bestFit!, 1);
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
      const needsPort = group === 0 && this.placement.port < 0;
      const fit = fitOf[fleet.classOf[slot]!]!;
      const tasks = this.#room(slot, fit, left, needsPort);
      if (tasks === 0) continue;
      this.#foundAt = fleet.begin(slot);
      this.#take(group, slot, fit, tasks);
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
      const once = t > 0 && group === 0 && this.placement.port < 0;
      const placed = this.#placeInTier(group, tiers[t]!, left, once);
      left -= placed;
      t = once && placed > 0 ? 0 : t + 1;
    }
    return wanted - left;
  }

  #placeInTier(group: number, fits: readonly ClassFit[], wanted: number, once: boolean): number {
    const fleet = this.#fleet;
    let tasksMax = 0;
    for (let i = 0; i < fits.length; i++) tasksMax = Math.max(tasksMax, fits[i]!.tasksMax);
    let left = wanted;
    let tasks = tasksMax;
    while (left > 0 && tasks > 0) {
      tasks = Math.min(tasks, left);
      const needsPort = group === 0 && this.placement.port < 0;
      const slot = this.#sameAgain(fits, tasks, needsPort)
        ? fleet.latest.slot
        : this.#tightest(fits, tasks, needsPort);
      if (slot < 0) {
        tasks = this.#tasksNext;
        continue;
      }
      const position = this.#take(group, slot, this.#foundFit!, tasks);
      if (this.#own === null && tasks === 1 && this.#ground.avoid.size === 0)
        this.#remember(fits, slot, position, needsPort);
      left -= tasks;
      if (once) break;
      // Nodes without a free port are out for rank 0 only; they may hold more than the first one did.
      if (needsPort) tasks = tasksMax;
    }
    return wanted - left;
  }

  /** A job that is nothing but the task that was placed last goes beside it, if that is its place. */
  runAgain(): boolean {
    const { fits, needsPort } = this.#fleet.latest;
    if (!this.#sameAgain(fits!, 1, needsPort)) return false;
    const { slot } = this.#fleet.latest;
    const position = this.#take(0, slot, this.#foundFit!, 1);
    this.#remember(fits!, slot, position, needsPort);
    return true;
  }

  #remember(fits: readonly ClassFit[], slot: number, position: number, needsPort: boolean): void {
    const { latest, changes, ledger, taken } = this.#fleet;
    const shape = isOneTask(this.#shape) ? this.#shape : null;
    const fit = this.#foundFit!;
    const device = ledger.devices[ledger.devicesAt[ledger.size - 1]!]!;
    const opened = fit.milli === wholeDevice || taken.taken(slot, device) === fit.milli;
    latest.set(shape, fits, fit, opened, slot, position, needsPort, changes.count);
  }

  /**
   * Whether the node that the last such task went to is the tightest again. It is while it holds another: it has less left
   * than when it was the tightest, and since then nothing else in the fleet has changed. But where the last one went to a
   * device that others share and this one would open another, a node with fewer untouched devices may come first.
   */
  #sameAgain(fits: readonly ClassFit[], tasks: number, needsPort: boolean): boolean {
    const { latest, changes } = this.#fleet;
    if (latest.changes !== changes.count || latest.fits !== fits || latest.needsPort !== needsPort)
      return false;
    if (tasks !== 1 || this.#own !== null || this.#ground.avoid.size > 0) return false;
    if (this.#room(latest.slot, latest.fit!, 1, needsPort) === 0) return false;
    if (!latest.opened && opens(this.#fleet, latest.slot, latest.fit!, 1) > 0) return false;
    this.#foundFit = latest.fit;
    this.#foundAt = latest.position;
    return true;
  }

  /**
   * The node with the least left over among those that hold `tasks` more, or -1. In that case `#tasksNext` is the most
   * that any node might hold, so that the caller need not count down one by one.
   */
  #tightest(fits: readonly ClassFit[], tasks: number, needsPort: boolean): number {
    let best = -1;
    let bestFit: ClassFit | null = null;
    this.#tasksNext = 0;
    for (let f = 0; f < fits.length; f++) {
      const fit = fits[f]!;
      const position =
        fit.milli === wholeDevice
          ? this.#tightestOfClass(fit, tasks, needsPort)
          : this.#tightestForParts(fit, tasks, needsPort);
      if (position < 0) continue;
      const slot = this.#fleet.byClass[fit.classId]!.index.at(position);
      if (best >= 0 && compareTightness(this.#fleet, slot, fit, best, bestFit!, tasks) > 0) continue;
      best = slot;
      bestFit = fit;
      this.#foundAt = position;
    }
    this.#foundFit = bestFit;
    return best;
  }

  /** For whole devices the index is in the right order already: the first position that holds the tasks is the tightest. */
  #tightestOfClass(fit: ClassFit, tasks: number, needsPort: boolean): number {
    const fleet = this.#fleet;
    const { index } = fleet.byClass[fit.classId]!;
    const devices = tasks * fit.count;
    const single = tasks === 1;
    const from = single
      ? fleet.positionOf(index, devices, devices * wholeDevice, fit.cpuMilli, fit.memoryMib)
      : index.lowerBound(fleet.freeDevices, devices);
    let vain = 0;
    for (let p = from; p >= 0; ) {
      const slot = index.at(p);
      const room = this.#room(slot, fit, tasks, needsPort);
      if (room === tasks) return p;
      if (room > this.#tasksNext) this.#tasksNext = room;
      // Many nodes of equal devices without enough cores or memory are passed over in one step.
      p = single && ++vain >= vainMax ? this.#leap(index, p, fit) : index.next(p);
    }
    const below = from < 0 ? index.last() : index.previous(from);
    if (below >= 0 && fit.count > 0) {
      const room = Math.min(tasks - 1, tasksIn(fleet.freeDevices[index.at(below)]!, fit.count));
      if (room > this.#tasksNext) this.#tasksNext = room;
    }
    return -1;
  }

  /** The next position, or a later one when the nodes between certainly lack cores or memory for one task. */
  #leap(index: SortedInts, position: number, fit: ClassFit): number {
    const { freeDevices, freeMilli, freeCpu, freeMemory } = this.#fleet;
    const slot = index.at(position);
    const cpuMilli = freeCpu[slot]!;
    if (cpuMilli >= fit.cpuMilli && freeMemory[slot]! >= fit.memoryMib) return index.next(position);
    return this.#fleet.positionOf(
      index,
      freeDevices[slot]!,
      freeMilli[slot]!,
      Math.max(cpuMilli, fit.cpuMilli),
      fit.memoryMib,
    );
  }

  /** For parts of devices the index is in no useful order. */
  #tightestForParts(fit: ClassFit, tasks: number, needsPort: boolean): number {
    const { index } = this.#fleet.byClass[fit.classId]!;
    let best = -1;
    for (let p = index.first(); p >= 0; p = index.next(p)) {
      const slot = index.at(p);
      const room = this.#room(slot, fit, tasks, needsPort);
      if (room < tasks) {
        if (room > this.#tasksNext) this.#tasksNext = room;
      } else if (best < 0 || compareTightness(this.#fleet, slot, fit, index.at(best), fit, tasks) < 0)
        best = p;
    }
    return best;
  }

  /** How many more tasks the node holds, at most `tasks`. */
  #room(slot: number, fit: ClassFit, tasks: number, needsPort: boolean): number {
    const fleet = this.#fleet;
    const { avoid } = this.#ground;
    if (avoid.size > 0 && avoid.has(slot)) return 0;
    if (isClosed(fleet, this.#shape, slot, this.#own?.has(slot) === true)) return 0;
    if (needsPort && !fleet.hasFreePort(slot)) return 0;
    const cpuMilli = fleet.freeCpu[slot]!;
    const memoryMib = fleet.freeMemory[slot]!;
    const room =
      cpuMilli >= tasks * fit.cpuMilli && memoryMib >= tasks * fit.memoryMib
        ? Math.min(tasks, deviceRoom(fleet, slot, fit))
        : amountRoom(fleet, slot, fit);
    return fit.needs.length === 0 ? room : Math.min(room, fleet.resources.roomAt(slot, fit.needs));
  }

  /** Returns the node's position in the index afterwards. */
  #take(group: number, slot: number, fit: ClassFit, tasks: number): number {
    const fleet = this.#fleet;
    const { ledger } = fleet;
    const first = this.#own === null || !this.#own.has(slot);
    if (first) fleet.enterRun(slot, this.#shape.demand.exclusive);
    this.#own?.add(slot);
    const pick = ledger.add(group, slot, fit, tasks, first);
    for (let i = 0, at = ledger.devicesAt[pick]!; i < tasks; i++, at += fit.count) {
      const { words, milli, stride } = fleet.taken;
      if (fit.milli < wholeDevice)
        ledger.devices[at] = choosePart(milli, slot * stride * 32, fit.devices, fit.mask, fit.milli);
      else if (fit.count > 0)
        chooseDevices(words, slot * stride, fit.devices, fit.mask, fit.count, ledger.devices, at);
      fleet.changeTask(1, slot, fit, ledger.devices, at, fit.count, fit.milli);
    }
    const position = fleet.end(slot, this.#foundAt);
    this.placement.to = ledger.size;
    if (group !== 0 || this.placement.port >= 0) return position;
    this.placement.portSlot = slot;
    this.placement.port = fleet.freePort(slot);
    takePort(fleet.ports[slot]!, this.placement.port);
    return position;
  }
}

/** Whether every job of the shape is one task that may go anywhere, and one alternative is all it has. */
function isOneTask({ ranked, groups, demand, nodePreferences }: Shape): boolean {
  if (ranked.length !== 1 || groups.length !== 1 || nodePreferences.length > 0) return false;
  const { tasks, topology, near } = groups[0]!.demand;
  return tasks === 1 && topology === null && near === null && demand.topology === null;
}

const anywhere = (): boolean => true;

/** Puts tasks into a domain, in few domains of the level, and says how many it placed. */
type Into = (domain: number, level: number, tasks: number) => number;
