// What is left beside a reservation when its time comes: of its nodes, and of the ceilings of its project. What would still
// run then may take that much of them now and no more; the rest is *shaded*, taken in the fleet while such a job is tried.
import { wholeDevice } from '@muster/model';
import type { Fleet } from './fleet.ts';
import { type HeldTask, type Holding, slotsIn } from './holding.ts';
import { releasePort, takePort } from './ports.ts';
import { none, type Project } from './projects.ts';
import type { Ask } from './resource-keys.ts';

interface NodeSlack {
  readonly slot: number;
  cpuMilli: number;
  memoryMib: number;
  /** Free thousandths by device index. */
  readonly devices: number[];
}

/** What is left of a countable resource in a domain; by way of one of its nodes. */
interface DomainSlack {
  readonly resource: number;
  readonly domain: number;
  readonly slot: number;
  left: number;
}

interface QuotaSlack {
  /** By key; null without a ceiling. */
  readonly all: (number | null)[];
  readonly user: (number | null)[];
}

export class Slack {
  readonly #nodes = new Map<number, NodeSlack>();
  readonly #domains: DomainSlack[] = [];
  readonly #quotas = new Map<Project, QuotaSlack>();
  readonly #fleet: Fleet;
  readonly #holding: Holding;

  /** Made when the fleet and the projects are as they will be, with the reservation taken. */
  constructor(fleet: Fleet, holding: Holding) {
    this.#holding = holding;
    this.#fleet = fleet;
    for (const slot of slotsIn(holding)) {
      const { devices } = fleet.byClass[fleet.classOf[slot]!]!.cls;
      const free = devices.map((_, index) => wholeDevice - fleet.taken.taken(slot, index));
      const [cpuMilli, memoryMib] = [fleet.freeCpu[slot]!, fleet.freeMemory[slot]!];
      this.#nodes.set(slot, { slot, cpuMilli, memoryMib, devices: free });
      this.#addDomains(slot);
    }
    for (let at: Project | null = holding.project; at !== null; at = at.parent)
      if (at.limits) this.#quotas.set(at, quotaSlack(at, holding.user));
  }

  /** Something else will be there then. */
  take({ tasks, project, user, uses }: Holding): void {
    for (const task of tasks) {
      const { slot, cpuMilli, memoryMib, devices, deviceMilli } = task;
      for (const each of this.#domains)
        if (this.#domainOf(slot, each.resource) === each.domain)
          each.left -= resourceUse(this.#fleet, each.resource, task);
      const node = this.#nodes.get(slot);
      if (!node) continue;
      node.cpuMilli -= cpuMilli;
      node.memoryMib -= memoryMib;
      for (const index of devices) node.devices[index]! -= deviceMilli;
    }
    for (let at: Project | null = project; at !== null; at = at.parent) {
      const quota = this.#quotas.get(at);
      if (!quota) continue;
      takeQuota(quota.all, uses);
      if (user === this.#holding.user) takeQuota(quota.user, uses);
    }
  }

  /** Whether so much use beside it would be above a ceiling when its time comes. */
  isOver(project: Project, user: string, uses: Ask): boolean {
    for (let at: Project | null = project; at !== null; at = at.parent) {
      const quota = this.#quotas.get(at);
      if (!quota) continue;
      if (isAbove(quota.all, uses) || (user === this.#holding.user && isAbove(quota.user, uses))) return true;
    }
    return false;
  }

  /** Takes what must stay free now; the answer gives it back. Several are given back in reverse. */
  shade(): () => void {
    const fleet = this.#fleet;
    const undo: (() => void)[] = [];
    for (const { resource, domain, slot, left } of this.#domains) {
      const shadow = fleet.resources.left(resource, domain) - Math.max(0, left);
      if (shadow <= 0) continue;
      fleet.resources.change(slot, resource, shadow);
      undo.push(() => fleet.resources.change(slot, resource, -shadow));
    }
    const { exclusive, portSlot, port } = this.#holding;
    for (const node of this.#nodes.values()) {
      const { slot } = node;
      const shadow = shadowOf(fleet, node);
      const alone = fleet.exclusive[slot]!;
      change(fleet, slot, shadow, 1);
      fleet.runs[slot]!++;
      if (exclusive) fleet.exclusive[slot] = 1;
      undo.push(() => {
        fleet.exclusive[slot] = alone;
        fleet.runs[slot]!--;
        change(fleet, slot, shadow, -1);
      });
    }
    const ports = fleet.ports[portSlot]!;
    if (!ports.includes(port)) {
      takePort(ports, port);
      undo.push(() => releasePort(ports, port));
    }
    return () => {
      for (let i = undo.length - 1; i >= 0; i--) undo[i]!();
    };
  }

  #addDomains(slot: number): void {
    const { resources } = this.#fleet;
    for (let resource = 0; resource < resources.list.length; resource++) {
      const domain = this.#domainOf(slot, resource);
      if (domain < 0 || this.#domains.some((each) => each.resource === resource && each.domain === domain))
        continue;
      const left = resources.left(resource, domain);
      if (left !== Number.POSITIVE_INFINITY) this.#domains.push({ resource, domain, slot, left });
    }
  }

  /** -1 where the policy has no such level. */
  #domainOf(slot: number, resource: number): number {
    const { resources, tree } = this.#fleet;
    const level = resources.levels[resource]!;
    return level < 0 ? -1 : tree.at(slot, level);
  }
}

/** What a task takes of a countable resource, in thousandths. */
function resourceUse(fleet: Fleet, resource: number, { slot, devices, deviceMilli }: HeldTask): number {
  const needs = fleet.byClass[fleet.classOf[slot]!]!.needs[resource]!;
  let amount = fleet.resources.list[resource]!.perTask * wholeDevice;
  for (const index of devices) amount += (needs[index] ?? 0) * deviceMilli;
  return amount;
}

interface Shadow {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly devices: readonly (readonly [number, number])[];
}

function shadowOf(fleet: Fleet, { slot, cpuMilli, memoryMib, devices }: NodeSlack): Shadow {
  const shadows: [number, number][] = [];
  for (let index = 0; index < devices.length; index++) {
    const milli = wholeDevice - fleet.taken.taken(slot, index) - Math.max(0, devices[index]!);
    if (milli > 0) shadows.push([index, milli]);
  }
  return {
    cpuMilli: Math.max(0, fleet.freeCpu[slot]! - Math.max(0, cpuMilli)),
    memoryMib: Math.max(0, fleet.freeMemory[slot]! - Math.max(0, memoryMib)),
    devices: shadows,
  };
}

function change(fleet: Fleet, slot: number, shadow: Shadow, sign: 1 | -1): void {
  const position = fleet.begin(slot);
  fleet.changeShadow(sign, slot, shadow);
  fleet.end(slot, position);
}

function quotaSlack(project: Project, user: string): QuotaSlack {
  const { ceiling, userCeiling, use, userUse } = project;
  const own = userUse?.get(user);
  return {
    all: ceiling.map((amount, key) => (amount === none ? null : amount - (use[key] ?? 0))),
    user: userCeiling.map((amount, key) => (amount === none ? null : amount - (own?.[key] ?? 0))),
  };
}

function takeQuota(slack: (number | null)[], { keys, amounts }: Ask): void {
  for (let i = 0; i < keys.length; i++) {
    const left = slack[keys[i]!] ?? null;
    if (left !== null) slack[keys[i]!] = left - amounts[i]!;
  }
}

function isAbove(slack: readonly (number | null)[], { keys, amounts }: Ask): boolean {
  for (let i = 0; i < keys.length; i++) {
    const left = slack[keys[i]!] ?? null;
    if (left !== null && amounts[i]! > left) return true;
  }
  return false;
}
