// Node classes: nodes of equal cluster, pool, labels, capabilities and inventory shape are one class, so that a request is
// matched once a class and not once a node. A class lives while nodes are in it; its number is never used again.
import { type Capability, canonicalJson, type Hardware, invariant, type NodeFacts } from '@muster/model';

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
  /** Labels with `cluster` and `pool` among them; `node` differs inside a class and is looked at node by node. */
  readonly labels: Readonly<Record<string, string>>;
  readonly capabilities: readonly Capability[];
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** By device index. */
  readonly devices: readonly ClassDevice[];
}

export class ClassTable {
  /** Moves when a class appears or goes: lists of matching classes made before are stale. */
  generation = 0;
  /** What the policy knows of models. */
  hardware: readonly Hardware[];
  #nextId = 0;
  readonly #byKey = new Map<string, NodeClass>();
  readonly #byId = new Map<number, { readonly cls: NodeClass; nodes: number }>();

  constructor(hardware: readonly Hardware[]) {
    this.hardware = hardware;
  }

  setHardware(hardware: readonly Hardware[]): void {
    this.hardware = hardware;
    this.generation++;
  }

  copy(): ClassTable {
    const other = new ClassTable(this.hardware);
    other.generation = this.generation;
    other.#nextId = this.#nextId;
    for (const [key, cls] of this.#byKey) other.#byKey.set(key, cls);
    for (const [id, { cls, nodes }] of this.#byId) other.#byId.set(id, { cls, nodes });
    return other;
  }

  /** The class of a node with these facts, with one more node in it. */
  enter(facts: NodeFacts): NodeClass {
    const parts = classParts(facts);
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

function classParts(facts: NodeFacts): Omit<NodeClass, 'id' | 'key'> {
  const { inventory, cluster, pool } = facts;
  return {
    labels: { ...inventory.labels, cluster, pool },
    capabilities: [...inventory.capabilities].sort(),
    cpuMilli: inventory.cpuMilli,
    memoryMib: inventory.memoryMib,
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
