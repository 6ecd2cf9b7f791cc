// What domains of the topology have besides cores and devices (power a rack), and what runs use of it. Amounts are in
// thousandths of the policy's unit, so that a part of a device takes exactly its part.
import { type DomainResource, wholeDevice } from '@muster/model';
import type { NodeClass } from './classes.ts';
import { grown } from './columns.ts';
import type { Tree } from './tree.ts';

export class Resources {
  readonly list: readonly DomainResource[];
  readonly #tree: Tree;
  /** Index into the tree's levels, for each resource; -2 where there is no such level. */
  readonly levels: readonly number[];
  /** By resource, then by domain. */
  #used: Float64Array[];
  /** What domains have, by resource and domain: infinite where there is no limit, below 0 where it was not looked up yet. */
  #limits: Float64Array[];
  /** The generation of the tree that these are of. */
  #madeFor = -1;

  constructor(list: readonly DomainResource[], tree: Tree) {
    this.list = list;
    this.#tree = tree;
    this.levels = list.map(({ level }) => tree.levelNamed(level));
    this.#used = list.map(() => new Float64Array(16));
    this.#limits = [];
  }

  copy(tree: Tree): Resources {
    const other = new Resources(this.list, tree);
    other.#used = this.#used.map((used) => used.slice());
    return other;
  }

  /** Adds to what is used in the node's domain. */
  change(slot: number, resource: number, amount: number): void {
    const level = this.levels[resource]!;
    if (amount === 0 || level < 0) return;
    const domain = this.#tree.at(slot, level);
    let used = this.#used[resource]!;
    if (domain >= used.length) {
      used = grown(used, domain + 1);
      this.#used[resource] = used;
    }
    used[domain]! += amount;
  }

  /** What is used of it in the domain. */
  used(resource: number, domain: number): number {
    return this.#used[resource]![domain] ?? 0;
  }

  /** What is left in a domain of the resource's level; infinite where there is no limit. */
  left(resource: number, domain: number): number {
    return Math.max(0, this.limit(resource, domain) - (this.#used[resource]![domain] ?? 0));
  }

  /** The node's domain of the resource's level when more is used there than it has; else -1. */
  overAt(slot: number, resource: number): number {
    const level = this.levels[resource]!;
    if (level < 0) return -1;
    const domain = this.#tree.at(slot, level);
    return (this.#used[resource]![domain] ?? 0) > this.limit(resource, domain) ? domain : -1;
  }

  /** What the domain has of it; infinite where there is no limit. */
  limit(resource: number, domain: number): number {
    return this.#limitsOf(resource, domain)[domain]!;
  }

  /** What domains have of it, this one looked up. */
  #limitsOf(resource: number, domain: number): Float64Array {
    if (this.#madeFor !== this.#tree.generation) this.#forget();
    const limits = this.#limits[resource]!;
    if (limits[domain]! < 0) limits[domain] = this.#capacity(resource, domain);
    return limits;
  }

  /** Domains are others: what they have is looked up anew. */
  #forget(): void {
    this.#madeFor = this.#tree.generation;
    this.#limits = this.list.map(() => new Float64Array(this.#tree.size).fill(-1));
  }

  #capacity(resource: number, domain: number): number {
    const { capacity } = this.list[resource]!;
    const name = this.#tree.labels[domain]!;
    const amount = name === '' ? undefined : (own(capacity, name) ?? own(capacity, 'default'));
    return amount === undefined ? Number.POSITIVE_INFINITY : amount * wholeDevice;
  }

  /** How many tasks that need so much of each resource the domains above a node still hold, at most `most`. */
  roomAt(slot: number, needs: readonly number[], most: number): number {
    let room = most;
    for (let r = 0; r < needs.length; r++) {
      const need = needs[r]!;
      const level = this.levels[r]!;
      if (need === 0 || level < 0) continue;
      const domain = this.#tree.at(slot, level);
      // Asked for every placement: what is left is never made a number of its own.
      const limits = this.#limitsOf(r, domain);
      const left = limits[domain]! - (this.#used[r]![domain] ?? 0);
      if (left < room * need) room = left <= 0 ? 0 : Math.floor(left / need);
    }
    return room;
  }

  /** The same for one domain by itself. */
  roomIn(domain: number, needs: readonly number[]): number {
    let room = Number.POSITIVE_INFINITY;
    const level = this.#tree.level[domain]!;
    for (let r = 0; r < needs.length; r++)
      if (needs[r]! > 0 && this.levels[r] === level) room = Math.min(room, this.#holds(r, domain, needs[r]!));
    return room;
  }

  #holds(resource: number, domain: number, need: number): number {
    const left = this.left(resource, domain);
    return left === Number.POSITIVE_INFINITY ? left : Math.floor(left / need);
  }
}

/** What the devices of a class take of a resource, by device index. */
export function deviceNeeds({ perDevice }: DomainResource, cls: NodeClass): number[] {
  return cls.devices.map(({ kind, model }) => own(perDevice, model) ?? own(perDevice, kind) ?? 0);
}

function own(record: Readonly<Record<string, number>>, key: string): number | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** "5.6 kW of power" from thousandths. */
export function resourceText({ name, unit }: DomainResource, thousandths: number): string {
  const amount = Math.floor(thousandths / wholeDevice);
  const text = unit !== '' && amount >= 1000 ? `${amount / 1000} k${unit}` : `${amount}${unit && ` ${unit}`}`;
  return `${text} of ${name}`;
}
