// What is left beside a reservation when its time comes: of its nodes, of the resources of their domains, and of the ceilings
// of its project. What would still run then may take that much of them now and no more; the rest is *shaded*, taken in the
// fleet while such a job is tried. Columns, one row a node of the reservation, because a gang may have thousands.
import { wholeDevice } from '@muster/model';
import type { Fleet } from './fleet.ts';
import type { Holding } from './holding.ts';
import type { Placement } from './ledger.ts';
import { type ClassFit, hasBit } from './match.ts';
import { releasePort, takePort } from './ports.ts';
import { none } from './project-amounts.ts';
import type { Project } from './projects.ts';
import type { Ask } from './resource-keys.ts';
import { matchShape, type Shape } from './shape.ts';

/** A countable resource in a domain; by way of one of its nodes. */
interface DomainOf {
  readonly resource: number;
  readonly domain: number;
  readonly slot: number;
}

/** What the nodes have left when the reservation is there; nobody changes it. */
export interface Beside {
  readonly slots: readonly number[];
  readonly rowOf: ReadonlyMap<number, number>;
  readonly cpuMilli: Float64Array;
  readonly memoryMib: Float64Array;
  /** Free thousandths by device index, `stride` a node. */
  readonly devices: Int32Array;
  readonly stride: number;
  readonly domains: readonly DomainOf[];
}

/** Made when the fleet is as it will be, with the reservation taken. */
export function besideOf(fleet: Fleet, slots: readonly number[]): Beside {
  const { stride: words } = fleet.taken;
  const stride = words * 32;
  const cpuMilli = new Float64Array(slots.length);
  const memoryMib = new Float64Array(slots.length);
  const devices = new Int32Array(slots.length * stride);
  const rowOf = new Map<number, number>();
  for (let row = 0; row < slots.length; row++) {
    const slot = slots[row]!;
    rowOf.set(slot, row);
    cpuMilli[row] = fleet.freeCpu[slot]!;
    memoryMib[row] = fleet.freeMemory[slot]!;
    const count = deviceCount(fleet, slot);
    for (let i = 0; i < count; i++) devices[row * stride + i] = wholeDevice - fleet.taken.taken(slot, i);
  }
  return { slots, rowOf, cpuMilli, memoryMib, devices, stride, domains: domainsOf(fleet, slots) };
}

function domainsOf(fleet: Fleet, slots: readonly number[]): DomainOf[] {
  const found: DomainOf[] = [];
  for (let resource = 0; resource < fleet.resources.list.length; resource++) {
    const seen = new Set<number>();
    for (const slot of slots) {
      const domain = domainAt(fleet, slot, resource);
      if (domain < 0 || seen.has(domain)) continue;
      seen.add(domain);
      if (fleet.resources.limit(resource, domain) !== Number.POSITIVE_INFINITY)
        found.push({ resource, domain, slot });
    }
  }
  return found;
}

/** -1 where the policy has no such level. */
function domainAt({ resources, tree }: Fleet, slot: number, resource: number): number {
  const level = resources.levels[resource]!;
  return level < 0 ? -1 : tree.at(slot, level);
}

function deviceCount(fleet: Fleet, slot: number): number {
  return fleet.byClass[fleet.classOf[slot]!]!.cls.devices.length;
}

interface QuotaSlack {
  /** By key; null without a ceiling. */
  readonly all: (number | null)[];
  readonly user: (number | null)[];
}

/** For whom room is kept. */
export type Keeper = Pick<Holding, 'project' | 'user' | 'exclusive' | 'portSlot' | 'port'>;

export class Slack {
  readonly #fleet: Fleet;
  readonly #beside: Beside;
  readonly #keeper: Keeper;
  /** What is left now; shared with `beside` until something is taken. */
  #cpuMilli: Float64Array;
  #memoryMib: Float64Array;
  #devices: Int32Array;
  readonly #left: number[];
  readonly #domainOf: Map<number, number>[];
  readonly #quotas = new Map<Project, QuotaSlack>();
  /** Shapes that none of its nodes holds beside it. */
  readonly #fullFor = new Set<Shape>();
  #shade: Shade | null = null;

  /** Made when the projects are as they will be, with the reservation taken. `left` is of each domain then. */
  constructor(fleet: Fleet, beside: Beside, left: number[], keeper: Keeper) {
    this.#fleet = fleet;
    this.#beside = beside;
    this.#keeper = keeper;
    this.#cpuMilli = beside.cpuMilli;
    this.#memoryMib = beside.memoryMib;
    this.#devices = beside.devices;
    this.#left = left;
    this.#domainOf = fleet.resources.list.map(() => new Map<number, number>());
    for (const [i, { resource, domain }] of beside.domains.entries())
      this.#domainOf[resource]!.set(domain, i);
    for (let at: Project | null = keeper.project; at !== null; at = at.parent)
      if (at.limits) this.#quotas.set(at, quotaSlack(at, keeper.user));
  }

  /** Whether a placement uses anything of its nodes, or may need more of its domains' resources than is left. */
  meets({ from, to }: Placement): boolean {
    const { ledger } = this.#fleet;
    for (let pick = from; pick < to; pick++) if (this.#beside.rowOf.has(ledger.slot[pick]!)) return true;
    if (this.#beside.domains.length === 0) return false;
    const before = this.#left.slice();
    let isShort = false;
    for (let pick = from; pick < to && !isShort; pick++) {
      isShort = this.#isShort(pick);
      this.takePlaced({ from: pick, to: pick + 1 });
    }
    for (let i = 0; i < before.length; i++) this.#left[i] = before[i]!;
    return isShort;
  }

  /**
   * Whether one of its nodes may hold a task of the shape's only group beside the reservation. What is left of them only shrinks
   * while a walk goes on, so that a shape of which none does is remembered.
   */
  leavesRoomFor(shape: Shape): boolean {
    if (this.#keeper.exclusive || shape.demand.exclusive || this.#fullFor.has(shape)) return false;
    matchShape(shape, this.#fleet.classes);
    const { slots } = this.#beside;
    for (let row = 0; row < slots.length; row++) {
      const classId = this.#fleet.classOf[slots[row]!]!;
      for (const { fits } of shape.groups[0]!.options)
        for (const fit of fits) if (fit.classId === classId && this.#holds(row, fit)) return true;
    }
    this.#fullFor.add(shape);
    return false;
  }

  #holds(row: number, { cpuMilli, memoryMib, count, milli, mask }: ClassFit): boolean {
    const fleet = this.#fleet;
    const slot = this.#beside.slots[row]!;
    if (Math.min(fleet.freeCpu[slot]!, this.#cpuMilli[row]!) < cpuMilli) return false;
    if (Math.min(fleet.freeMemory[slot]!, this.#memoryMib[row]!) < memoryMib) return false;
    let found = 0;
    for (
      let i = 0, at = row * this.#beside.stride;
      i < deviceCount(fleet, slot) && found < count;
      i++, at++
    ) {
      if (mask !== null && !hasBit(mask, i)) continue;
      if (Math.min(wholeDevice - fleet.taken.taken(slot, i), this.#devices[at]!) >= milli) found++;
    }
    return found >= count;
  }

  #isShort(pick: number): boolean {
    const { ledger } = this.#fleet;
    const { needs } = ledger.fits[pick]!;
    for (let resource = 0; resource < this.#domainOf.length; resource++) {
      const row = this.#domainOf[resource]!.get(domainAt(this.#fleet, ledger.slot[pick]!, resource));
      const need = needs[resource] ?? 0;
      if (row === undefined || need === 0) continue;
      if (Math.max(0, this.#left[row]!) < need * ledger.tasks[pick]!) return true;
    }
    return false;
  }

  /** What was placed will be there then. */
  takePlaced({ from, to }: Pick<Placement, 'from' | 'to'>): void {
    const { ledger } = this.#fleet;
    for (let pick = from; pick < to; pick++) {
      const fit = ledger.fits[pick]!;
      for (let t = 0, at = ledger.devicesAt[pick]!; t < ledger.tasks[pick]!; t++, at += fit.count)
        this.#takeTask(ledger.slot[pick]!, fit, ledger.devices, at, fit.count, fit.milli);
    }
  }

  /** Something else will be there then. */
  take({ tasks }: Pick<Holding, 'tasks'>): void {
    for (const task of tasks)
      this.#takeTask(task.slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
  }

  #takeTask(
    slot: number,
    amounts: { readonly cpuMilli: number; readonly memoryMib: number },
    devices: ArrayLike<number>,
    at: number,
    count: number,
    milli: number,
  ): void {
    for (let resource = 0; resource < this.#domainOf.length; resource++) {
      const row = this.#domainOf[resource]!.get(domainAt(this.#fleet, slot, resource));
      if (row !== undefined) this.#left[row]! -= this.#use(resource, slot, devices, at, count, milli);
    }
    const row = this.#beside.rowOf.get(slot);
    if (row === undefined) return;
    this.#own();
    this.#cpuMilli[row]! -= amounts.cpuMilli;
    this.#memoryMib[row]! -= amounts.memoryMib;
    for (let i = 0; i < count; i++) this.#devices[row * this.#beside.stride + devices[at + i]!]! -= milli;
  }

  /** What a task takes of a countable resource, in thousandths. */
  #use(
    resource: number,
    slot: number,
    devices: ArrayLike<number>,
    at: number,
    count: number,
    milli: number,
  ): number {
    const needs = this.#fleet.byClass[this.#fleet.classOf[slot]!]!.needs[resource]!;
    let amount = this.#fleet.resources.list[resource]!.perTask * wholeDevice;
    for (let i = 0; i < count; i++) amount += (needs[devices[at + i]!] ?? 0) * milli;
    return amount;
  }

  #own(): void {
    if (this.#cpuMilli !== this.#beside.cpuMilli) return;
    this.#cpuMilli = this.#cpuMilli.slice();
    this.#memoryMib = this.#memoryMib.slice();
    this.#devices = this.#devices.slice();
  }

  takeQuota(project: Project, user: string, uses: Ask): void {
    for (let at: Project | null = project; at !== null; at = at.parent) {
      const quota = this.#quotas.get(at);
      if (!quota) continue;
      takeQuota(quota.all, uses);
      if (user === this.#keeper.user) takeQuota(quota.user, uses);
    }
  }

  /** Whether so much use beside it would be above a ceiling when its time comes. */
  isOver(project: Project, user: string, uses: Ask): boolean {
    for (let at: Project | null = project; at !== null; at = at.parent) {
      const quota = this.#quotas.get(at);
      if (!quota) continue;
      if (isAbove(quota.all, uses) || (user === this.#keeper.user && isAbove(quota.user, uses))) return true;
    }
    return false;
  }

  /** Takes what must stay free now, until `unshade`. Several are given back in reverse. */
  shade(): void {
    const fleet = this.#fleet;
    const { slots, stride, domains } = this.#beside;
    this.#shade ??= new Shade(slots.length, stride, domains.length);
    const shade = this.#shade;
    for (let i = 0; i < domains.length; i++) {
      const { resource, domain, slot } = domains[i]!;
      shade.left[i] = Math.max(0, fleet.resources.left(resource, domain) - Math.max(0, this.#left[i]!));
      fleet.resources.change(slot, resource, shade.left[i]!);
    }
    for (let row = 0; row < slots.length; row++) {
      const slot = slots[row]!;
      shade.cpuMilli[row] = Math.max(0, fleet.freeCpu[slot]! - Math.max(0, this.#cpuMilli[row]!));
      shade.memoryMib[row] = Math.max(0, fleet.freeMemory[slot]! - Math.max(0, this.#memoryMib[row]!));
      const count = deviceCount(fleet, slot);
      for (let i = 0, at = row * stride; i < count; i++, at++)
        shade.devices[at] = Math.max(
          0,
          wholeDevice - fleet.taken.taken(slot, i) - Math.max(0, this.#devices[at]!),
        );
      this.#change(shade, row, 1);
      shade.alone[row] = fleet.exclusive[slot]!;
      fleet.runs[slot]!++;
      if (this.#keeper.exclusive) fleet.exclusive[slot] = 1;
    }
    const { portSlot, port } = this.#keeper;
    shade.port = !fleet.ports[portSlot]!.includes(port);
    if (shade.port) takePort(fleet.ports[portSlot]!, port);
  }

  unshade(): void {
    const fleet = this.#fleet;
    const shade = this.#shade!;
    const { slots, domains } = this.#beside;
    const { portSlot, port } = this.#keeper;
    if (shade.port) releasePort(fleet.ports[portSlot]!, port);
    for (let row = slots.length - 1; row >= 0; row--) {
      const slot = slots[row]!;
      fleet.exclusive[slot] = shade.alone[row]!;
      fleet.runs[slot]!--;
      this.#change(shade, row, -1);
    }
    for (let i = 0; i < domains.length; i++)
      fleet.resources.change(domains[i]!.slot, domains[i]!.resource, -shade.left[i]!);
  }

  #change(shade: Shade, row: number, sign: 1 | -1): void {
    const { slots, stride } = this.#beside;
    const slot = slots[row]!;
    const position = this.#fleet.begin(slot);
    const [cpuMilli, memoryMib] = [shade.cpuMilli[row]!, shade.memoryMib[row]!];
    const count = deviceCount(this.#fleet, slot);
    this.#fleet.changeShadow(sign, slot, cpuMilli, memoryMib, shade.devices, row * stride, count);
    this.#fleet.end(slot, position);
  }
}

/** What is taken of each node while it is shaded. */
class Shade {
  readonly cpuMilli: Float64Array;
  readonly memoryMib: Float64Array;
  readonly devices: Int32Array;
  readonly alone: Uint8Array;
  readonly left: Float64Array;
  port = false;

  constructor(nodes: number, stride: number, domains: number) {
    this.cpuMilli = new Float64Array(nodes);
    this.memoryMib = new Float64Array(nodes);
    this.devices = new Int32Array(nodes * stride);
    this.alone = new Uint8Array(nodes);
    this.left = new Float64Array(domains);
  }
}

function quotaSlack(project: Project, user: string): QuotaSlack {
  const own = project.userUse?.get(user);
  const left = (most: number, use: number): number | null => (most === none ? null : most - use);
  const keys = Array.from({ length: project.amounts.width }, (_, key) => key);
  return {
    all: keys.map((key) => left(project.ceiling(key), project.use(key))),
    user: keys.map((key) => left(project.userCeiling(key), own?.[key] ?? 0)),
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
