// Claims: places that belong to a job whose victims still run there. What is claimed and not held by a living victim of the
// claim is taken in the fleet like a run's, as a *shadow*; as victims end, the shadow grows by what they held, so that
// nobody else ever sees it free. What victims hold beyond the claim is free for all once they end.
//
// A claim is *had* when all its victims are gone; the job then starts exactly there. It is *lost* when a node of it can no
// longer give it: then the engine gives it up by a unit of its plan, and the job is considered anew.
import {
  type Claim,
  type JobDemand,
  type JobId,
  type LiveRun,
  type Reason,
  type RunId,
  wholeDevice,
} from '@muster/model';
import { suits } from './claim-places.ts';
import type { Fleet } from './fleet.ts';
import { releasePort, takePort } from './ports.ts';

/** What is claimed on one node, what living victims hold there, and what the shadow takes of the difference. */
interface ClaimedNode {
  readonly slot: number;
  readonly want: Amounts;
  readonly held: Amounts;
  shadow: Amounts | null;
  /** The rendezvous port, on the node of rank 0; -1 elsewhere. */
  readonly port: number;
  /** Living victims that hold this port now. */
  portHeld: number;
  portTaken: boolean;
}

interface Amounts {
  tasks: number;
  cpuMilli: number;
  memoryMib: number;
  /** Thousandths by device index. */
  readonly devices: Map<number, number>;
}

export interface HeldClaim {
  readonly job: JobId;
  readonly demand: JobDemand;
  readonly claim: Claim;
  readonly nodes: Map<number, ClaimedNode>;
  /** Victims that have not ended. */
  victimsLeft: number;
  /** Set when somebody else holds what was claimed, or a node is gone. */
  broken: boolean;
  /** Nodes of its victims: what is expected of them is another while they are claimed. */
  readonly victimSlots: Set<number>;
}

export class Claims {
  readonly byJob = new Map<JobId, HeldClaim>();
  readonly #byVictim = new Map<RunId, HeldClaim>();
  readonly #byNode = new Map<number, Set<HeldClaim>>();
  /** Claims that may be had or lost: something happened to them since they were last found to be neither. */
  readonly unsettled = new Set<HeldClaim>();

  get size(): number {
    return this.byJob.size;
  }

  copy(): Claims {
    const other = new Claims();
    for (const [job, held] of this.byJob) {
      const nodes = new Map([...held.nodes].map(([slot, node]) => [slot, copyNode(node)]));
      const twin = { ...held, nodes };
      other.byJob.set(job, twin);
      other.#enterNodes(twin);
      if (this.unsettled.has(held)) other.unsettled.add(twin);
    }
    for (const [run, { job }] of this.#byVictim) other.#byVictim.set(run, other.byJob.get(job)!);
    return other;
  }

  /** Whether the run is being stopped for somebody. */
  isVictim(run: RunId): boolean {
    return this.#byVictim.has(run);
  }

  /** `runs` tells which victims live. */
  add(
    fleet: Fleet,
    { job, demand }: Pick<HeldClaim, 'job' | 'demand'>,
    claim: Claim,
    runs: { get(run: RunId): LiveRun | undefined },
  ): HeldClaim {
    const held: HeldClaim = {
      job,
      demand,
      claim,
      nodes: new Map(),
      victimsLeft: 0,
      broken: false,
      victimSlots: new Set(),
    };
    for (const task of claim.tasks) {
      const node = nodeOf(fleet, held, task.node);
      if (!node) continue;
      addAmounts(node.want, task, 1);
    }
    for (const { run: id } of claim.victims) {
      const run = runs.get(id);
      if (!run) continue;
      held.victimsLeft++;
      this.#byVictim.set(id, held);
      for (const { node } of run.tasks) held.victimSlots.add(fleet.slotOf(node));
      changeHeld(fleet, held, run, 1);
    }
    this.byJob.set(job, held);
    this.unsettled.add(held);
    this.#enterNodes(held);
    for (const slot of held.victimSlots) fleet.moved(slot);
    for (const node of held.nodes.values()) {
      fleet.claimNode(node.slot, claim.exclusive, 1);
      fleet.moved(node.slot);
      cast(fleet, held, node);
    }
    return held;
  }

  /** Everything the claim took is free again, except what its victims still hold. */
  remove(fleet: Fleet, job: JobId): readonly number[] {
    const held = this.byJob.get(job);
    if (!held) return [];
    this.byJob.delete(job);
    this.unsettled.delete(held);
    for (const slot of held.nodes.keys()) this.#leave(slot, held);
    for (const { run } of held.claim.victims) this.#byVictim.delete(run);
    for (const slot of held.victimSlots) fleet.moved(slot);
    for (const node of held.nodes.values()) {
      withdraw(fleet, node);
      fleet.claimNode(node.slot, held.claim.exclusive, -1);
      fleet.moved(node.slot);
    }
    return [...held.nodes.keys()];
  }

  /** A run has ended, and what it held is free in the fleet: a claim on it takes its part at once. */
  ended(fleet: Fleet, run: LiveRun): void {
    this.suppose(fleet, run, -1);
    this.#byVictim.delete(run.run);
  }

  /** The same for a question (-1), and everything as it was (1); before a run holds its room again. */
  suppose(fleet: Fleet, run: LiveRun, sign: 1 | -1): void {
    const held = this.#byVictim.get(run.run);
    if (!held) return;
    held.victimsLeft += sign;
    this.unsettled.add(held);
    changeHeld(fleet, held, run, sign);
    for (const { node: id } of run.tasks) {
      const node = held.nodes.get(fleet.slots.get(id) ?? -1);
      if (!node) continue;
      withdraw(fleet, node);
      cast(fleet, held, node);
    }
  }

  /** The node goes: nothing of a claim stays on it. */
  leaveNode(fleet: Fleet, slot: number): void {
    for (const held of this.#byNode.get(slot) ?? []) {
      withdraw(fleet, held.nodes.get(slot)!);
      fleet.claimNode(slot, held.claim.exclusive, -1);
      held.nodes.delete(slot);
      held.broken = true;
      this.unsettled.add(held);
    }
    this.#byNode.delete(slot);
  }

  /** The node is something else than it was: its claims are looked at again. */
  nodeChanged(slot: number): void {
    for (const held of this.#byNode.get(slot) ?? []) this.unsettled.add(held);
  }

  /** Levels and hardware may be others now. */
  policyChanged(): void {
    for (const held of this.byJob.values()) this.unsettled.add(held);
  }

  #enterNodes(held: HeldClaim): void {
    for (const slot of held.nodes.keys()) {
      const known = this.#byNode.get(slot);
      if (known) known.add(held);
      else this.#byNode.set(slot, new Set([held]));
    }
  }

  #leave(slot: number, held: HeldClaim): void {
    const known = this.#byNode.get(slot);
    known?.delete(held);
    if (known?.size === 0) this.#byNode.delete(slot);
  }
}

/** Why the claim can no longer be had; null while it can. */
export function whyLost(fleet: Fleet, held: HeldClaim): Reason | null {
  if (held.broken) return lost('its places are no longer there');
  const waits = held.victimsLeft > 0;
  for (const node of held.nodes.values()) {
    const { slot, want } = node;
    const { name, state, drain, inventory } = fleet.facts[slot]!;
    // A silent node may come back, and its victims have to be proven gone; without any there is nothing to wait for.
    if (state !== 'ready' && !(state === 'silent' && waits)) return lost(`node ${name} is ${state}`);
    if (drain !== null) return lost(`node ${name} is draining`);
    const shrunk =
      usedThen(node, fleet.usedCpu[slot]!, 'cpuMilli') > inventory.cpuMilli ||
      usedThen(node, fleet.usedMemory[slot]!, 'memoryMib') > inventory.memoryMib ||
      [...want.devices.keys()].some((index) => index >= inventory.devices.length);
    if (shrunk) return lost(`node ${name} has less than before`);
    const over = waits ? null : fleet.overAbove(slot, want.devices.keys());
    if (over !== null) return lost(`${over} is used up`);
  }
  return suits(fleet, held.demand, held.claim) ? null : lost('its places are no longer what it asks for');
}

/** Whether it waits for victims while a node of it does not answer: their end may not be proven for long. */
export function isStuck(fleet: Fleet, held: HeldClaim): boolean {
  if (held.victimsLeft === 0 || whyLost(fleet, held) !== null) return false;
  for (const { slot } of held.nodes.values()) if (fleet.facts[slot]!.state === 'silent') return true;
  return false;
}

/** What is taken of the node once the victims are gone and the job is there. */
function usedThen({ want, held, shadow }: ClaimedNode, used: number, key: 'cpuMilli' | 'memoryMib'): number {
  return used - held[key] - (shadow?.[key] ?? 0) + want[key];
}

function lost(message: string): Reason {
  return { code: 'claim-lost', message };
}

function nodeOf(fleet: Fleet, held: HeldClaim, id: LiveRun['tasks'][number]['node']): ClaimedNode | null {
  const slot = fleet.slots.get(id);
  if (slot === undefined) {
    held.broken = true;
    return null;
  }
  const known = held.nodes.get(slot);
  if (known) return known;
  const { tasks, port } = held.claim;
  const node: ClaimedNode = {
    slot,
    want: noAmounts(),
    held: noAmounts(),
    shadow: null,
    port: tasks[0]?.node === id ? port : -1,
    portHeld: 0,
    portTaken: false,
  };
  held.nodes.set(slot, node);
  return node;
}

/** What a victim holds of the claim's nodes counts as held (1), or no longer (-1). */
function changeHeld(fleet: Fleet, held: HeldClaim, run: LiveRun, sign: 1 | -1): void {
  for (const task of run.tasks) {
    const node = held.nodes.get(fleet.slots.get(task.node) ?? -1);
    if (!node) continue;
    addAmounts(node.held, task, sign);
    if (task.rank === 0 && run.port === node.port) node.portHeld += sign;
  }
}

/** Takes what is claimed and held by no victim. Somebody else's device is not taken; such a claim is broken. */
function cast(fleet: Fleet, held: HeldClaim, node: ClaimedNode): void {
  const { slot, want, held: given } = node;
  const shadow = noAmounts();
  shadow.tasks = Math.max(0, want.tasks - given.tasks);
  shadow.cpuMilli = Math.max(0, want.cpuMilli - given.cpuMilli);
  shadow.memoryMib = Math.max(0, want.memoryMib - given.memoryMib);
  for (const [index, milli] of want.devices) {
    const open = milli - (given.devices.get(index) ?? 0);
    if (open <= 0) continue;
    if (fleet.taken.taken(slot, index) + open > wholeDevice) held.broken = true;
    else shadow.devices.set(index, open);
  }
  node.shadow = shadow;
  changeFleet(fleet, slot, shadow, 1);
  if (node.port <= 0 || node.portHeld > 0) return;
  if (fleet.ports[slot]!.includes(node.port)) held.broken = true;
  else {
    takePort(fleet.ports[slot]!, node.port);
    node.portTaken = true;
  }
}

function withdraw(fleet: Fleet, node: ClaimedNode): void {
  if (!node.shadow) return;
  changeFleet(fleet, node.slot, node.shadow, -1);
  node.shadow = null;
  if (node.portTaken) releasePort(fleet.ports[node.slot]!, node.port);
  node.portTaken = false;
}

function changeFleet(fleet: Fleet, slot: number, amounts: Amounts, sign: 1 | -1): void {
  const position = fleet.begin(slot);
  fleet.changeKept(sign, slot, amounts);
  fleet.end(slot, position);
}

function noAmounts(): Amounts {
  return { tasks: 0, cpuMilli: 0, memoryMib: 0, devices: new Map() };
}

function addAmounts(sum: Amounts, task: LiveRun['tasks'][number], sign: 1 | -1): void {
  sum.tasks += sign;
  sum.cpuMilli += sign * task.cpuMilli;
  sum.memoryMib += sign * task.memoryMib;
  for (const index of task.devices) {
    const milli = (sum.devices.get(index) ?? 0) + sign * task.deviceMilli;
    if (milli === 0) sum.devices.delete(index);
    else sum.devices.set(index, milli);
  }
}

function copyNode(node: ClaimedNode): ClaimedNode {
  const copy = (of: Amounts): Amounts => ({ ...of, devices: new Map(of.devices) });
  return { ...node, want: copy(node.want), held: copy(node.held), shadow: node.shadow && copy(node.shadow) };
}
