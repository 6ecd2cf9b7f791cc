// Resource keys as small numbers, and amounts by key as two short lists: what a shape asks for at least, what a placement
// or a run uses. Numbers are given in the order keys are met and mean nothing; texts decide wherever order matters.
import { deviceKeys, isShared, type Uses } from '@muster/model';
import type { NodeClass } from './classes.ts';
import type { Fleet } from './fleet.ts';
import type { Placement } from './ledger.ts';
import type { ClassFit } from './match.ts';

/** Amounts by key, keys in the order of their texts. */
export interface Ask {
  readonly keys: readonly number[];
  readonly amounts: readonly number[];
  /** The same by text, made when first asked for. */
  uses: Uses | null;
}

export const noAsk: Ask = { keys: [], amounts: [], uses: {} };

export class ResourceKeys {
  readonly texts: string[] = [];
  /** Whether shares count the key: models do not, being in their kind already. */
  readonly shared: boolean[] = [];
  readonly #ids = new Map<string, number>();
  #whenMore: (count: number) => void = () => {};
  /** Position of each key among all texts. */
  #order: number[] = [];
  readonly #byClass = new WeakMap<NodeClass, readonly (readonly [number, number])[]>();
  readonly #sums: number[] = [];
  /** What one task uses, for fits where that does not depend on which devices it gets. */
  readonly #ofTask = new WeakMap<ClassFit, Ask>();
  #lastFit: ClassFit | null = null;
  #lastAsk: Ask = noAsk;
  readonly #ofRuns = new WeakMap<Uses, Ask>();
  readonly cpu = this.id('cpu');
  readonly memory = this.id('memory');

  copy(): ResourceKeys {
    const other = new ResourceKeys();
    for (const text of this.texts) other.id(text);
    return other;
  }

  id(text: string): number {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    const id = this.texts.length;
    this.texts.push(text);
    this.shared.push(isShared(text));
    this.#ids.set(text, id);
    this.#sums.push(0);
    const sorted = [...this.texts].sort();
    this.#order = this.texts.map((each) => sorted.indexOf(each));
    this.#whenMore(this.texts.length);
    return id;
  }

  /** Says how many keys there are, now and whenever one is added: tables by key have to be as wide. */
  whenMore(tell: (count: number) => void): void {
    this.#whenMore = tell;
    tell(this.texts.length);
  }

  ask(uses: Uses): Ask {
    for (const [text, amount] of Object.entries(uses)) this.#sums[this.id(text)] = amount;
    return this.#collect(Object.keys(uses).map((text) => this.id(text)));
  }

  /** What a run holds: what it uses never changes, nor do the numbers of keys, so that it is worked out once. */
  held(uses: Uses): Ask {
    let ask = this.#ofRuns.get(uses);
    if (!ask) {
      ask = this.ask(uses);
      this.#ofRuns.set(uses, ask);
    }
    return ask;
  }

  uses(ask: Ask): Uses {
    if (ask.uses !== null) return ask.uses;
    const { keys, amounts } = ask;
    const uses: Record<string, number> = {};
    for (let i = 0; i < keys.length; i++) uses[this.texts[keys[i]!]!] = amounts[i]!;
    ask.uses = uses;
    return uses;
  }

  /** What a placement uses, on the nodes it has. */
  placed(fleet: Fleet, { from, to }: Placement): Ask {
    const { fits, tasks } = fleet.ledger;
    if (to !== from + 1 || tasks[from] !== 1) return this.#sumUp(fleet, from, to);
    const fit = fits[from]!;
    // Most placements are of the fit of the one before.
    if (fit === this.#lastFit) return this.#lastAsk;
    const known = this.#ofTask.get(fit);
    const ask = known ?? this.#sumUp(fleet, from, to);
    if (!known && !this.#isUniform(fleet, fit)) return ask;
    this.#ofTask.set(fit, ask);
    this.#lastFit = fit;
    this.#lastAsk = ask;
    return ask;
  }

  /** Whether all devices that match are of one model: a fit is of one class, whose nodes have the same devices. */
  #isUniform(fleet: Fleet, { classId, mask, count }: ClassFit): boolean {
    if (count === 0) return true;
    const keys = this.#keysOf(fleet.byClass[classId]!.cls);
    const such = keys.filter((_, i) => mask === null || (mask[i >>> 5]! & (1 << (i & 31))) !== 0);
    return such.every(([kind, model]) => kind === such[0]![0] && model === such[0]![1]);
  }

  #sumUp(fleet: Fleet, from: number, to: number): Ask {
    const { ledger } = fleet;
    const touched: number[] = [];
    for (let pick = from; pick < to; pick++) {
      const { cpuMilli, memoryMib, count, milli } = ledger.fits[pick]!;
      const tasks = ledger.tasks[pick]!;
      this.#add(touched, this.cpu, cpuMilli * tasks);
      this.#add(touched, this.memory, memoryMib * tasks);
      if (count === 0) continue;
      const keys = this.#keysOf(fleet.byClass[fleet.classOf[ledger.slot[pick]!]!]!.cls);
      const at = ledger.devicesAt[pick]!;
      for (let i = at; i < at + tasks * count; i++) {
        const [kind, model] = keys[ledger.devices[i]!]!;
        this.#add(touched, kind, milli);
        this.#add(touched, model, milli);
      }
    }
    return this.#collect(touched);
  }

  #add(touched: number[], key: number, amount: number): void {
    if (amount === 0) return;
    if (this.#sums[key] === 0) touched.push(key);
    this.#sums[key]! += amount;
  }

  #collect(touched: number[]): Ask {
    const order = this.#order;
    if (touched.length > 1) touched.sort((a, b) => order[a]! - order[b]!);
    const amounts: number[] = new Array(touched.length);
    for (let i = 0; i < touched.length; i++) {
      amounts[i] = this.#sums[touched[i]!]!;
      this.#sums[touched[i]!] = 0;
    }
    return { keys: touched, amounts, uses: null };
  }

  #keysOf(cls: NodeClass): readonly (readonly [number, number])[] {
    let keys = this.#byClass.get(cls);
    if (!keys) {
      keys = cls.devices.map((device) => {
        const [kind, model] = deviceKeys(device);
        return [this.id(kind), this.id(model)] as const;
      });
      this.#byClass.set(cls, keys);
    }
    return keys;
  }
}

/** Whether two lists of keys are the same, in the same order. */
export function areEqual(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
