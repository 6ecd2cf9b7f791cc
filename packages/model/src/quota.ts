// Amounts of resources by key. A key is `cpu` (milli-cores), `memory` (MiB), a kind of device (`gpu`, in milli-devices) or
// a kind with a model (`gpu/H100`). What uses one H100 uses 1000 of `gpu` and 1000 of `gpu/H100`. A quota may also say a
// part of the healthy capacity: the sum over nodes that are ready and not draining.
import { type GroupDemand, type JobDemand, wholeDevice } from './demand.ts';
import type { Device, Inventory } from './inventory.ts';
import { isAcceleratorModel, isName } from './names.ts';
import { clip, formatMib, formatMilli, type Parsed, parseSizeMib } from './units.ts';

/** An amount in the key's own unit, or a part of the healthy capacity in thousandths of a percent. */
export type Amount = number | { readonly percentMilli: number };

export type Amounts = Readonly<Record<string, Amount>>;

/** What something uses, by key; keys with nothing are left out. */
export type Uses = Readonly<Record<string, number>>;

const wholeMilli = 100_000;

export function deviceKeys({ kind, model }: Pick<Device, 'kind' | 'model'>): readonly [string, string] {
  return [kind, `${kind}/${model}`];
}

/** Keys that shares are counted in: not the single models, which are in their kind already. */
export function isShared(key: string): boolean {
  return !key.includes('/');
}

export const keyRule = 'cpu, memory, a kind of device such as gpu, or a kind with a model such as gpu/H100';

export function isResourceKey(text: string): boolean {
  const [kind = '', model, ...more] = text.split('/');
  if (more.length > 0 || !isName(kind)) return false;
  return model === undefined || (kind !== 'cpu' && kind !== 'memory' && isAcceleratorModel(model));
}

/** An amount as people write it: a number (cores, devices), a size for memory, or a percentage. */
export function parseAmount(key: string, written: string | number): Parsed<Amount> {
  if (typeof written === 'number') {
    if (key === 'memory') return refuse(`must be a size such as "2TiB" or a percentage, not ${written}`);
    const milli = Math.round(written * 1000);
    if (!Number.isSafeInteger(milli) || milli < 0 || milli / 1000 !== written)
      return refuse('must be a number from 0, in thousandths');
    return { ok: true, value: milli };
  }
  const percent = /^(\d{1,3})(?:\.(\d{1,3}))?%$/.exec(written);
  if (percent) {
    const percentMilli = Number(percent[1]) * 1000 + Number((percent[2] ?? '').padEnd(3, '0'));
    if (percentMilli > wholeMilli) return refuse(`"${clip(written)}" is more than all there is`);
    return { ok: true, value: { percentMilli } };
  }
  if (key === 'memory') return parseSizeMib(written);
  return refuse(
    `"${clip(written)}" is not an amount of ${clip(key)}; write a number or a percentage such as 25%`,
  );
}

function refuse(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}

/** Reads back to the same amount. */
export function writtenAmount(key: string, amount: Amount): string | number {
  if (typeof amount !== 'number') return `${amount.percentMilli / 1000}%`;
  return key === 'memory' ? formatMib(amount) : amount / 1000;
}

/** For people: "64 gpu/H100", "2TiB memory", "1.5 cpu". */
export function amountText(key: string, amount: number): string {
  return `${key === 'memory' ? formatMib(amount) : formatMilli(amount)} ${key}`;
}

/** A part of the healthy capacity as an amount, rounded down; exact for any capacity below 2^53 / 1000. */
export function resolveAmount(amount: Amount, healthy: number): number {
  if (typeof amount === 'number') return amount;
  const whole = Math.floor(healthy / wholeMilli);
  const rest = healthy % wholeMilli;
  return whole * amount.percentMilli + Math.floor((rest * amount.percentMilli) / wholeMilli);
}

export function addUse(uses: Record<string, number>, key: string, amount: number): void {
  if (amount !== 0) uses[key] = (uses[key] ?? 0) + amount;
}

/** What a node adds to the healthy capacity. */
export function capacityOf(inventory: Inventory): Uses {
  const uses: Record<string, number> = {};
  addUse(uses, 'cpu', inventory.cpuMilli);
  addUse(uses, 'memory', inventory.memoryMib);
  for (const device of inventory.devices)
    for (const key of deviceKeys(device)) addUse(uses, key, wholeDevice);
  return uses;
}

/**
 * What a job is sure to use wherever it starts: of each key the least over its alternatives. Amounts that follow from the
 * node (cores and memory left out) are known only once it has one, and count nothing here.
 */
export function leastUses(demand: JobDemand): Uses {
  const uses: Record<string, number> = {};
  for (const group of demand.groups)
    for (const [key, amount] of Object.entries(leastOfGroup(group))) addUse(uses, key, amount);
  return uses;
}

function leastOfGroup(group: GroupDemand): Uses {
  const uses: Record<string, number> = {};
  addUse(uses, 'cpu', group.tasks * (group.cpuMilli ?? 0));
  addUse(uses, 'memory', group.tasks * (group.memoryMib ?? 0));
  const ways = group.accelerators.map(({ kind, model, milli }) => {
    const amount = group.tasks * milli;
    return new Map(
      model === null
        ? [[kind, amount]]
        : [
            [kind, amount],
            [`${kind}/${model}`, amount],
          ],
    );
  });
  const [first, ...rest] = ways;
  for (const [key, amount] of first ?? [])
    addUse(uses, key, Math.min(amount, ...rest.map((way) => way.get(key) ?? 0)));
  return uses;
}
