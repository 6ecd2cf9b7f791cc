// Searches for victims that found nobody, kept from one plan to the next, so that a thousand projects that wait for what nobody
// can give back do not look at every run again whenever anything happens.
//
// Kept is the search for a job of a single task of which no node had an offer (node-offers.ts), by its demand and its reach
// (rights.ts), with the nodes on which there was a possible victim. It stays in vain as long as
//   1. the reach is the same: then so are the rights, to every run; and no project that had no more to give (margins.ts) uses
//      more now: with more to give a second victim on a node may be one, to whom there was no right after the first;
//   2. no run becomes a possible victim that was none: one starts, a shield or a budget runs out, an end that was near has
//      passed, a node answers again. Then everything is forgotten: `clear` at once, `until` when its time comes;
//   3. no node with a possible victim makes an offer now. An offer depends on what is on the node, and with countable resources
//      on what is in its domains; so only nodes are asked again that changed since, and their neighbours there.
// Runs that end or are stopped only take offers away, but for the room that they leave, which is a change of the node.
import { useNow } from './borrowers.ts';
import type { Fleet } from './fleet.ts';
import type { Limit } from './margins.ts';
import { never } from './victims.ts';

/** Where a search ended, and what was used there then. */
interface Used extends Limit {
  readonly use: number;
}

interface Vain {
  /** For whoever stops runs from this length on, and so for all who stop only longer ones. */
  fromMs: number;
  /** The number of the fleet's changes when it was last looked at. */
  cursor: number;
  readonly candidates: ReadonlySet<number>;
  readonly limits: readonly Used[];
}

/** Nodes remembered for all searches together; what is more is looked for again. */
const nodesMax = 1_000_000;

export class VainSearches {
  readonly #byKey = new Map<string, Vain>();
  #nodes = 0;
  /** When a run may be a victim that is none now. */
  untilMs = never;
  /** Nodes that changed since a cursor, as last worked out. */
  #changed: { readonly from: number; readonly to: number; readonly slots: ReadonlySet<number> } | null = null;

  get size(): number {
    return this.#byKey.size;
  }

  clear(): void {
    this.#byKey.clear();
    this.#nodes = 0;
    this.untilMs = never;
    this.#changed = null;
  }

  /** At this time a run may be a victim that is none now. */
  until(ms: number): void {
    this.untilMs = Math.min(this.untilMs, ms);
  }

  rollTo(nowMs: number): void {
    if (this.untilMs <= nowMs) this.clear();
  }

  add(
    key: string,
    fromMs: number,
    fleet: Fleet,
    candidates: ReadonlySet<number>,
    limits: readonly Limit[],
  ): void {
    this.#drop(key);
    if (this.#nodes + candidates.size > nodesMax) return;
    this.#nodes += candidates.size + 1;
    const used = limits.map((limit) => ({ ...limit, use: useNow(limit.project, limit.key) }));
    this.#byKey.set(key, { fromMs, cursor: fleet.changes.count, candidates, limits: used });
  }

  /**
   * Whether the search is known to be in vain still; `offers` tells whether a node that changed makes an offer now. One that is
   * not is forgotten, but a question forgets nothing (`forgets`): the next decision notices what happens by who looks.
   */
  holds(
    key: string,
    fromMs: number,
    fleet: Fleet,
    offers: (slot: number) => boolean,
    forgets: boolean,
  ): boolean {
    const vain = this.#byKey.get(key);
    if (!vain || fromMs < vain.fromMs) return false;
    const changed = vain.limits.some(givesMore) ? null : this.#changedSince(fleet, vain.cursor);
    if (changed !== null && !some(changed, (slot) => vain.candidates.has(slot) && offers(slot))) {
      // Those who stop shorter ones as well were not asked.
      if (fromMs === vain.fromMs) vain.cursor = fleet.changes.count;
      return true;
    }
    if (forgets) this.#drop(key);
    return false;
  }

  /** The limits of a search that is kept. */
  limitsOf(key: string): readonly Limit[] {
    return this.#byKey.get(key)?.limits ?? [];
  }

  #drop(key: string): void {
    const vain = this.#byKey.get(key);
    if (!vain) return;
    this.#byKey.delete(key);
    this.#nodes -= vain.candidates.size + 1;
  }

  /** Null when some of the changes are forgotten. */
  #changedSince(fleet: Fleet, from: number): ReadonlySet<number> | null {
    const { changes, resources, tree } = fleet;
    const to = changes.count;
    if (this.#changed?.from === from && this.#changed.to === to) return this.#changed.slots;
    const missed = changes.since(from);
    if (missed < 0) return null;
    const slots = new Set<number>();
    const domains = new Set<number>();
    for (let i = to - missed; i < to; i++) {
      const slot = changes.at(i);
      if (fleet.facts[slot] === undefined) continue;
      slots.add(slot);
      for (const level of resources.levels) if (level >= 0) domains.add(tree.at(slot, level));
    }
    for (const domain of domains)
      for (const node of tree.within(domain, tree.levels.length)) slots.add(tree.slot[node]!);
    this.#changed = { from, to, slots };
    return slots;
  }
}

function some(slots: ReadonlySet<number>, test: (slot: number) => boolean): boolean {
  for (const slot of slots) if (test(slot)) return true;
  return false;
}

function givesMore({ project, key, own, use }: Used): boolean {
  return own ? useNow(project, key) < use : useNow(project, key) > use;
}
