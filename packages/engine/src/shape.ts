// A request shape is a demand in canonical form, interned: jobs that ask the same share one shape, and what can be said
// of a demand (which classes match, whether it fits now, whether it ever could) is worked out and kept once a shape.
import {
  type Constraint,
  canonicalJson,
  type GroupDemand,
  invariant,
  type JobDemand,
  type Preference,
} from '@muster/model';
import type { ClassTable } from './classes.ts';
import type { Lane } from './entry.ts';
import { type ClassFit, matchClass } from './match.ts';
import { type MixPart, mixParts } from './mix.ts';
import type { Reason } from './reason.ts';
import type { Ask } from './resource-keys.ts';
import type { Tree } from './tree.ts';

/** One alternative of one group: its devices, and the classes where a task of it could ever run. */
export interface Option {
  /** Thousandths of devices a task asks. */
  readonly milli: number;
  fits: readonly ClassFit[];
  /** The same by score, lowest first; those of one list have the same. */
  tiers: readonly (readonly ClassFit[])[];
}

export interface ShapeGroup {
  readonly demand: GroupDemand;
  /** In the written order; a group without devices has one option of none. */
  readonly options: readonly Option[];
}

export interface Shape {
  readonly id: number;
  readonly key: string;
  readonly demand: JobDemand;
  readonly groups: readonly ShapeGroup[];
  /** What it adds to the mix of all jobs. */
  readonly mix: readonly MixPart[];
  /** Choices of one option a group, in the order they are tried. */
  readonly combinations: readonly (readonly number[])[];
  /** Constraints on fine labels, which no class can answer. */
  nodeRules: readonly Constraint[];
  /** Preferences on fine labels. */
  nodePreferences: readonly Preference[];
  /** Combinations with the least each can cost, cheapest first, then in the order they are written. */
  ranked: readonly Ranked[];
  /** The generation of classes that `fits` were made for. */
  matchedAt: number;
  /** What it is sure to use, whatever its alternatives and nodes. */
  readonly ask: Ask;
  /** Lanes with waiting jobs: those in line, and those that a ceiling keeps out. */
  readonly lanes: Set<Lane>;
  readonly gated: Set<Lane>;
  /** How many entries refer to it, waiting or not. */
  uses: number;
  /** Set when its first waiting job was found not to fit and nothing that could help has happened since. */
  blocked: Reason | null;
  /** Set when it fits and every lane in line was found over a ceiling: tried again whenever anything is. */
  stalled: boolean;
  /** The binding reason last told to its entries; new entries are told by themselves. */
  told: string | null;
  /** The generation of nodes that `impossible` was found at; -1 for never. */
  judgedAt: number;
  impossible: Reason | null;
  /** The standing of nodes at which it was tried on the fleet without runs, and whether it fitted. */
  idleAt: number;
  fitsIdle: boolean;
}

/** More choices than this are not tried: eight alternatives in each of two groups. */
export const maxCombinations = 64;

/** One demand is written in few orders of its members; more are not remembered. */
const textsMax = 4;

export class ShapeTable {
  readonly #byKey = new Map<string, Shape>();
  #nextId = 0;
  /** Plain JSON of demands seen, which is far cheaper than the canonical form, to their shapes. */
  readonly #byText = new Map<string, Shape>();
  readonly #texts = new Map<Shape, string[]>();

  get size(): number {
    return this.#byKey.size;
  }

  /** In no order that a decision may rest on. */
  all(): IterableIterator<Shape> {
    return this.#byKey.values();
  }

  intern(demand: JobDemand, askOf: (demand: JobDemand) => Ask): Shape {
    const text = JSON.stringify(demand);
    const known = this.#byText.get(text);
    if (known) return known;
    const key = canonicalJson(demand);
    let shape = this.#byKey.get(key);
    if (!shape) {
      shape = makeShape(this.#nextId++, key, demand, askOf(demand));
      this.#byKey.set(key, shape);
    }
    this.#remember(text, shape);
    return shape;
  }

  release(shape: Shape): void {
    shape.uses--;
    invariant(shape.uses >= 0, `shape ${shape.id} is used less than never`);
    if (shape.uses > 0) return;
    this.#byKey.delete(shape.key);
    for (const text of this.#texts.get(shape) ?? []) this.#byText.delete(text);
    this.#texts.delete(shape);
  }

  #remember(text: string, shape: Shape): void {
    const texts = this.#texts.get(shape) ?? [];
    if (texts.length === textsMax) return;
    texts.push(text);
    this.#texts.set(shape, texts);
    this.#byText.set(text, shape);
  }

  /** A copy whose shapes have no lanes yet; `found` tells which shape became which. */
  copy(found: Map<Shape, Shape>): ShapeTable {
    const other = new ShapeTable();
    other.#nextId = this.#nextId;
    for (const [key, shape] of this.#byKey) {
      const groups = shape.groups.map((group) => ({
        ...group,
        options: group.options.map((option) => ({ ...option })),
      }));
      const twin: Shape = { ...shape, groups, lanes: new Set(), gated: new Set() };
      other.#byKey.set(key, twin);
      found.set(shape, twin);
    }
    return other;
  }
}

export function makeShape(id: number, key: string, demand: JobDemand, ask: Ask): Shape {
  const groups = demand.groups.map((group) => ({
    demand: group,
    options:
      group.accelerators.length === 0
        ? [{ milli: 0, fits: [], tiers: [] }]
        : group.accelerators.map(({ milli }) => ({ milli, fits: [], tiers: [] })),
  }));
  return {
    id,
    key,
    demand,
    groups,
    mix: mixParts(demand),
    combinations: combinationsOf(groups),
    nodeRules: [],
    nodePreferences: [],
    ranked: [],
    matchedAt: -1,
    ask,
    lanes: new Set(),
    gated: new Set(),
    uses: 0,
    blocked: null,
    stalled: false,
    told: null,
    judgedAt: -1,
    impossible: null,
    idleAt: -1,
    fitsIdle: false,
  };
}

/** The last group's choice moves fastest, so that earlier groups keep their preference longest. */
function combinationsOf(groups: readonly ShapeGroup[]): number[][] {
  const combinations: number[][] = [];
  const choice = groups.map(() => 0);
  while (combinations.length < maxCombinations) {
    combinations.push([...choice]);
    let g = groups.length - 1;
    while (g >= 0 && choice[g]! + 1 === groups[g]!.options.length) choice[g--] = 0;
    if (g < 0) break;
    choice[g]!++;
  }
  return combinations;
}

/** Whether where its tasks are relative to each other matters. */
export function asksForPlaces({ demand }: Shape): boolean {
  return demand.topology !== null || demand.groups.some(({ topology, near }) => topology ?? near);
}

/** Whether it is one task that may go anywhere. */
export function isOneTask(shape: Shape): boolean {
  return shape.groups.length === 1 && shape.groups[0]!.demand.tasks === 1 && !asksForPlaces(shape);
}

/** Whether its tasks may take less of a countable resource than they are counted for, or more: by the models and nodes that they get. */
export function takesVary({ groups }: Shape, group: number, alternative: number): boolean {
  const { fits } = groups[group]!.options[alternative]!;
  return fits.some(
    ({ needsLess, needs }) => needsLess || needs.some((need, r) => need !== fits[0]!.needs[r]),
  );
}

/** Whether the group must be near another, or another near it. */
export function isTied({ groups }: Shape, group: number): boolean {
  const { near, name } = groups[group]!.demand;
  return near !== null || groups.some(({ demand }) => demand.near?.group === name);
}

/** Whether less room could make it fit: several groups compete, and so do domains for the one that gives the port. */
export function isGreedy(shape: Shape): boolean {
  return shape.groups.length > 1 || asksForPlaces(shape);
}

/** Whether it fits wherever there is room for all its tasks, in one domain where that is required: what it prefers never makes it wait. */
export function isPlain({ groups }: Shape): boolean {
  return groups.length === 1 && groups[0]!.demand.near === null;
}

/** Whether it is placed in one and the same way whatever others take elsewhere. */
export function isSteady(shape: Shape): boolean {
  return shape.groups.length === 1 && !asksForPlaces(shape);
}

/** The level of the domain that all tasks of its only group must be in; -1 for none, -2 when there is no such level. */
export function requiredLevel({ demand, groups }: Shape, tree: Tree): number {
  let narrowest = -1;
  for (const topology of [demand.topology, groups[0]!.demand.topology]) {
    if (topology?.mode !== 'required') continue;
    const level = tree.levelNamed(topology.level);
    if (level === -2) return -2;
    narrowest = Math.max(narrowest, level);
  }
  return narrowest;
}

/** Brings the lists of matching classes up to date. */
export function matchShape(shape: Shape, classes: ClassTable): void {
  // Asked for every job; what follows has functions inside, for which room would be made beforehand.
  if (shape.matchedAt !== classes.generation) matchAnew(shape, classes);
}

function matchAnew(shape: Shape, classes: ClassTable): void {
  shape.matchedAt = classes.generation;
  shape.nodeRules = shape.demand.constraints.filter((rule) => classes.isFine(rule.label));
  shape.nodePreferences = shape.demand.preferences.filter((rule) => classes.isFine(rule.label));
  for (const group of shape.groups) {
    for (const [o, option] of group.options.entries()) {
      const fits: ClassFit[] = [];
      for (const cls of classes.all()) {
        const match = matchClass(shape.demand, group.demand, o, cls, classes);
        if (typeof match !== 'string') fits.push(match);
      }
      option.fits = fits;
      option.tiers = tiersOf(fits);
    }
  }
  shape.ranked = rank(shape);
}

/** One choice of alternatives, and the least it can cost. */
export interface Ranked {
  readonly combination: readonly number[];
  /** Its place as written. */
  readonly index: number;
  readonly least: number;
}

function rank({ groups, combinations }: Shape): Ranked[] {
  const ranked = combinations.flatMap((combination, index): Ranked[] => {
    let least = 0;
    for (const [g, { demand, options }] of groups.entries()) {
      const [cheapest] = options[combination[g]!]!.tiers;
      if (!cheapest) return [];
      least += demand.tasks * cheapest[0]!.score;
    }
    return [{ combination, index, least }];
  });
  return ranked.sort((a, b) => a.least - b.least || a.index - b.index);
}

function tiersOf(fits: readonly ClassFit[]): ClassFit[][] {
  const tiers = Map.groupBy(fits, (fit) => fit.score);
  return [...tiers].sort(([a], [b]) => a - b).map(([, tier]) => tier);
}
