// Node classes: nodes of equal cluster, pool, labels, capabilities and inventory shape are one class, so that a request is
// matched once a class and not once a node. A class lives while nodes are in it; its number is never used again.
//
// Labels that tell nodes apart finely (levels of the topology, and those with many values, such as a host name) are no part
// of a class; what asks for them is looked at node by node. No decision depends on which labels those are.
import {
  type Capability,
  canonicalJson,
  type DomainResource,
  type Hardware,
  invariant,
  labelsPriced,
  type NodeFacts,
  type PlacingPolicy,
  type Prices,
} from '@muster/model';

export interface ClassDevice {
  readonly kind: string;
  readonly model: string;
  readonly memoryMib: number;
  readonly interconnect: string | null;
  readonly generation: number | null;
}

export interface NodeClass {
  readonly id: number;
  readonly key: string;
  /** Labels with `cluster` and `pool` among them, without the fine ones. */
  readonly labels: Readonly<Record<string, string>>;
  readonly capabilities: readonly Capability[];
  readonly cpuMilli: number;
  /** Cores are given in such steps; left out where any part of one is. */
  readonly cpuStepMilli?: number;
  readonly memoryMib: number;
  /** 1000 for nodes that are fully trusted. */
  readonly trustMilli: number;
  /** By device index. */
  readonly devices: readonly ClassDevice[];
}

export class ClassTable {
  /** Moves when a class appears or goes: lists of matching classes made before are stale. */
  generation = 0;
  /** What the policy knows of models. */
  readonly hardware: readonly Hardware[];
  /** Labels that differ inside a class. */
  readonly #fine = new Set<string>(['node']);
  /** Nodes with each value of each label that is not fine. */
  readonly #values = new Map<string, Map<string, number>>();
  #nextId = 0;
  readonly #byKey = new Map<string, NodeClass>();
  readonly #byId = new Map<number, { readonly cls: NodeClass; nodes: number }>();

  /** Countable things of the policy's topology. */
  readonly resources: readonly DomainResource[];
  readonly prices: Prices;
  /** Labels of nodes on which a price depends. */
  readonly priced: ReadonlySet<string>;

  /** `before` is the table of an older policy, whose numbers are not used again. */
  constructor({ hardware, topology, prices }: PlacingPolicy, before?: ClassTable) {
    this.hardware = hardware;
    this.resources = topology.resources;
    this.prices = prices;
    this.priced = labelsPriced(prices);
    this.generation = before ? before.generation + 1 : 0;
    this.#nextId = before ? before.#nextId : 0;
    for (const level of topology.levels)
      if (level !== 'cluster' && level !== 'pool' && !this.priced.has(level)) this.#fine.add(level);
  }

  isFine(label: string): boolean {
    return this.#fine.has(label);
  }

  /** Counts the labels of a node that comes or goes; tells whether one of them became fine, so that classes are stale. */
  countLabels({ inventory }: NodeFacts, sign: 1 | -1): boolean {
    let changed = false;
    for (const [label, value] of Object.entries(inventory.labels)) {
      // Prices are by this label, so that it is always part of the class.
      if (this.priced.has(label) || this.#fine.has(label)) continue;
      const values = this.#values.get(label) ?? new Map<string, number>();
      this.#values.set(label, values);
      const nodes = (values.get(value) ?? 0) + sign;
      if (nodes > 0) values.set(value, nodes);
      else values.delete(value);
      if (values.size <= valuesMax) continue;
      this.#fine.add(label);
      this.#values.delete(label);
      changed = true;
    }
    return changed;
  }

  copy(): ClassTable {
    const { hardware, resources, prices } = this;
    const other = new ClassTable({ hardware, topology: { levels: [], resources }, prices });
    for (const label of this.#fine) other.#fine.add(label);
    for (const [label, values] of this.#values) other.#values.set(label, new Map(values));
    other.generation = this.generation;
    other.#nextId = this.#nextId;
    for (const [key, cls] of this.#byKey) other.#byKey.set(key, cls);
    for (const [id, { cls, nodes }] of this.#byId) other.#byId.set(id, { cls, nodes });
    return other;
  }

  /** The class of a node with these facts, with one more node in it. */
  enter(facts: NodeFacts): NodeClass {
    const parts = classParts(facts, this.#fine);
    const key = canonicalJson(parts);
    const known = this.#byKey.get(key);
    if (known) {
      this.#byId.get(known.id)!.nodes++;
      return known;
    }
    const cls: NodeClass = { id: this.#nextId++, key, ...parts };
    this.#byKey.set(key, cls);
    this.#byId.set(cls.id, { cls, nodes: 1 });
    this.generation++;
    return cls;
  }

  leave(id: number): 'gone' | 'stays' {
    const row = this.#byId.get(id);
    invariant(row && row.nodes > 0, `no node is in class ${id}`);
    row.nodes--;
    if (row.nodes > 0) return 'stays';
    this.#byId.delete(id);
    this.#byKey.delete(row.cls.key);
    this.generation++;
    return 'gone';
  }

  get(id: number): NodeClass {
    const row = this.#byId.get(id);
    invariant(row, `class ${id} has no nodes`);
    return row.cls;
  }

  /** In no order that a decision may rest on. */
  *all(): IterableIterator<NodeClass> {
    for (const { cls } of this.#byId.values()) yield cls;
  }
}

/** A label with more values than this is fine. */
const valuesMax = 8;

function classParts(facts: NodeFacts, fine: ReadonlySet<string>): Omit<NodeClass, 'id' | 'key'> {
  const { inventory, cluster, pool } = facts;
  const coarse = Object.fromEntries(Object.entries(inventory.labels).filter(([label]) => !fine.has(label)));
  return {
    labels: { ...coarse, cluster, pool },
    capabilities: [...inventory.capabilities].sort(),
    cpuMilli: inventory.cpuMilli,
    ...(inventory.cpuStepMilli !== undefined && { cpuStepMilli: inventory.cpuStepMilli }),
    memoryMib: inventory.memoryMib,
    trustMilli: facts.trustMilli ?? 1000,
    devices: [...inventory.devices]
      .sort((a, b) => a.index - b.index)
      .map(({ kind, model, memoryMib, interconnect = null, generation = null }) => ({
        kind,
        model,
        memoryMib,
        interconnect,
        generation,
      })),
  };
}
