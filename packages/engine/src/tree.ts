// The topology as a tree of domains: the policy's levels from wide to narrow, the labels of nodes, and each node as a domain
// of its own at the bottom. The root is the whole fleet. Domains of one parent stand in the order of their names; the
// order of two domains is that of their paths. Nodes without a label for a level are together in a domain without a name.
import type { NodeFacts, Topology } from '@muster/model';
import { grown } from './columns.ts';
import { compareText } from './order.ts';

export const root = 0;

export class Tree {
  readonly levels: readonly string[];
  /** Moves when a domain comes or goes: what was summed up over the old domains is stale. */
  generation = 0;
  /** By domain. */
  parent = new Int32Array(16);
  /** Index into `levels`; the number of levels for a node, -1 for the root. */
  level = new Int32Array(16);
  /** The node of the narrowest domains, -1 for others. */
  slot = new Int32Array(16);
  /** Nodes in it. */
  nodes = new Int32Array(16);
  names: string[] = [''];
  /** What people call it: the label's value, of a node its name. */
  labels: string[] = [''];
  children: number[][] = [[]];
  /** The narrowest domain of each node, by slot. */
  of = new Int32Array(16);
  size = 1;
  #vacant: number[] = [];

  constructor({ levels }: Pick<Topology, 'levels'>) {
    this.levels = levels;
    this.parent[root] = -1;
    this.level[root] = -1;
    this.slot[root] = -1;
  }

  copy(): Tree {
    const other = new Tree(this);
    other.generation = this.generation;
    other.parent = this.parent.slice();
    other.level = this.level.slice();
    other.slot = this.slot.slice();
    other.nodes = this.nodes.slice();
    other.names = this.names.slice();
    other.labels = this.labels.slice();
    other.children = this.children.map((children) => children.slice());
    other.of = this.of.slice();
    other.size = this.size;
    other.#vacant = this.#vacant.slice();
    return other;
  }

  /** The index of a level by its name, the node itself included; -2 for a name that is none. */
  levelNamed(name: string): number {
    if (name === 'node') return this.levels.length;
    const index = this.levels.indexOf(name);
    return index < 0 ? -2 : index;
  }

  add(slot: number, facts: NodeFacts): void {
    this.generation++;
    let domain = root;
    this.nodes[root]!++;
    for (let l = 0; l < this.levels.length; l++) {
      domain = this.#child(domain, labelOfNode(facts, this.levels[l]!) ?? '', l);
      this.nodes[domain]!++;
    }
    const own = this.#child(domain, facts.node, this.levels.length);
    this.nodes[own] = 1;
    this.slot[own] = slot;
    this.labels[own] = facts.name;
    this.of = grown(this.of, slot + 1);
    this.of[slot] = own;
  }

  remove(slot: number): void {
    this.generation++;
    for (let domain = this.of[slot]!; domain >= 0; ) {
      const parent = this.parent[domain]!;
      this.nodes[domain]!--;
      if (this.nodes[domain] === 0 && domain !== root) {
        const siblings = this.children[parent]!;
        siblings.splice(siblings.indexOf(domain), 1);
        this.#vacant.push(domain);
      }
      domain = parent;
    }
  }

  /** The domain of a level that the node is in. */
  at(slot: number, level: number): number {
    return this.above(this.of[slot]!, level);
  }

  /** The domain of a level that this one is in, or is. */
  above(domain: number, level: number): number {
    let up = domain;
    while (this.level[up]! > level) up = this.parent[up]!;
    return up;
  }

  isIn(domain: number, wider: number): boolean {
    return this.above(domain, this.level[wider]!) === wider;
  }

  /** By path. */
  compare(a: number, b: number): number {
    if (a === b) return 0;
    let one = a;
    let two = b;
    while (this.parent[one] !== this.parent[two]) {
      one = this.parent[one]!;
      two = this.parent[two]!;
    }
    return compareText(this.names[one]!, this.names[two]!);
  }

  /** All domains of a level inside one, by path. */
  *within(domain: number, level: number): IterableIterator<number> {
    if (this.level[domain] === level) yield domain;
    else for (const child of this.children[domain]!) yield* this.within(child, level);
  }

  /** "rack r7", for people. */
  text(domain: number): string {
    const level = this.level[domain]!;
    if (level < 0) return 'the fleet';
    const name = this.labels[domain]!;
    return name === '' ? `nodes without ${this.levels[level]}` : `${this.levels[level] ?? 'node'} ${name}`;
  }

  #child(parent: number, name: string, level: number): number {
    const siblings = this.children[parent]!;
    let low = 0;
    let high = siblings.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.names[siblings[middle]!]! < name) low = middle + 1;
      else high = middle;
    }
    const found = siblings[low];
    if (found !== undefined && this.names[found] === name) return found;
    const domain = this.#vacant.pop() ?? this.size++;
    this.#grow(domain + 1);
    this.parent[domain] = parent;
    this.level[domain] = level;
    this.slot[domain] = -1;
    this.nodes[domain] = 0;
    this.names[domain] = name;
    this.labels[domain] = name;
    this.children[domain] = [];
    siblings.splice(low, 0, domain);
    return domain;
  }

  #grow(size: number): void {
    this.parent = grown(this.parent, size);
    this.level = grown(this.level, size);
    this.slot = grown(this.slot, size);
    this.nodes = grown(this.nodes, size);
  }
}

/** What a constraint or a level reads of a node: its own names, or a label. */
export function labelOfNode(facts: NodeFacts, label: string): string | undefined {
  if (label === 'cluster') return facts.cluster;
  if (label === 'pool') return facts.pool;
  if (label === 'node') return facts.name;
  const { labels } = facts.inventory;
  return Object.hasOwn(labels, label) ? labels[label] : undefined;
}
