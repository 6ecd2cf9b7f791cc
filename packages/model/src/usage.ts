// Past use of a project: an average of its use that forgets with the policy's half-life, as an amount, so that a project
// that has used u for ever has past use u. Time goes in ticks of 1/256 of the half-life; the state changes only when a run
// is planned or ends, by the one function below, in the engine and in the store alike, so that both keep the same numbers.
// Between ticks the past stands still: what is used now counts beside it anyway.
//
// Whole numbers only: seconds, amounts of at most 2^40, values in 1/1024 of the amount, factors in 1/2^20.
import { isShared, type Uses } from './quota.ts';

/** The state of one key of one project. */
export interface PastUse {
  /** Average at the start of the tick of `asOfS`, in 1/1024 of the key's unit. */
  readonly value: number;
  /** Amount times seconds used since that start. */
  readonly used: number;
  /** Seconds since the epoch when the state last changed. */
  readonly asOfS: number;
}

export const noPast: PastUse = { value: 0, used: 0, asOfS: 0 };

/** What a project uses now and used before, by kind of resource; what the store keeps of it and the engine loads. */
export interface ProjectUsage {
  readonly project: string;
  readonly keys: Readonly<Record<string, PastUse & { readonly use: number }>>;
}

const ticksPerHalfLife = 256;
const valueScale = 1024;
const factorBits = 20;
const factorOne = 2 ** factorBits;

/** The n-th is 2^(-n/256) in 1/2^20: by square roots of whole numbers, because Math.pow may differ between machines. */
const factors: Float64Array = makeFactors();

function makeFactors(): Float64Array {
  const bits = 100n;
  const one = 1n << bits;
  let root = one / 2n;
  // 2^-1 to 2^(-1/256): eight roots.
  for (let i = 0; i < 8; i++) root = squareRoot(root << bits);
  const table = new Float64Array(ticksPerHalfLife);
  let power = one;
  for (let n = 0; n < ticksPerHalfLife; n++) {
    table[n] = Number((power + (1n << (bits - 21n))) >> (bits - 20n));
    power = (power * root) >> bits;
  }
  return table;
}

/** By Newton's steps from above. */
function squareRoot(value: bigint): bigint {
  let x = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (;;) {
    const next = (x + value / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}

/** Long enough that the sum of a tick stays exact, short enough to be a tick at all. */
export const halfLifeMsMin = 256_000;
export const halfLifeMsMax = 90 * 86_400_000;

export function tickSeconds(halfLifeMs: number): number {
  return Math.max(1, Math.floor(halfLifeMs / 1000 / ticksPerHalfLife));
}

/** The state after `use` has stood since it last changed until now. Time that goes back stands still. */
export function advancePast(past: PastUse, use: number, nowMs: number, halfLifeMs: number): PastUse {
  const asOfS = Math.max(past.asOfS, Math.floor(nowMs / 1000));
  const tickS = tickSeconds(halfLifeMs);
  const startS = Math.floor(past.asOfS / tickS) * tickS;
  if (asOfS < startS + tickS)
    return { value: past.value, used: past.used + use * (asOfS - past.asOfS), asOfS };
  const value = rolled(past, use, startS, asOfS, tickS);
  return { value, used: use * (asOfS % tickS), asOfS };
}

/** What the store keeps of a project after a run was planned (1) or ended (-1) at this time. */
export function usageAfter(
  usage: ProjectUsage,
  uses: Uses,
  sign: 1 | -1,
  atMs: number,
  halfLifeMs: number,
): ProjectUsage {
  const keys: Record<string, PastUse & { readonly use: number }> = { ...usage.keys };
  for (const [key, amount] of Object.entries(uses)) {
    if (!isShared(key)) continue;
    const { use, ...past } = keys[key] ?? { ...noPast, use: 0 };
    keys[key] = { ...advancePast(past, use, atMs, halfLifeMs), use: use + sign * amount };
  }
  return { project: usage.project, keys };
}

/** Past use in the key's unit at the start of the tick that this time is in. */
export function pastAt(past: PastUse, use: number, nowMs: number, halfLifeMs: number): number {
  const nowS = Math.floor(nowMs / 1000);
  const tickS = tickSeconds(halfLifeMs);
  const startS = Math.floor(past.asOfS / tickS) * tickS;
  const value = nowS < startS + tickS ? past.value : rolled(past, use, startS, nowS, tickS);
  return Math.floor((value + valueScale / 2) / valueScale);
}

/** The value at the start of the tick of `nowS`: the tick of the state ends, then whole ticks of constant use follow. */
function rolled(past: PastUse, use: number, startS: number, nowS: number, tickS: number): number {
  const used = past.used + use * Math.max(0, startS + tickS - past.asOfS);
  // A half-life that was longer when the tick began may have left more than this tick can hold.
  const mean = Math.floor(used / tickS) * valueScale + Math.floor(((used % tickS) * valueScale) / tickS);
  const value = towards(past.value, mean, 1);
  const ticks = Math.floor((nowS - startS - tickS) / tickS);
  return ticks === 0 ? value : towards(value, use * valueScale, ticks);
}

/** `target + (value - target) x 2^(-ticks/256)`, rounded towards the target. */
function towards(value: number, target: number, ticks: number): number {
  const apart = decayed(Math.abs(value - target), ticks);
  return value < target ? target - apart : target + apart;
}

function decayed(amount: number, ticks: number): number {
  const halves = Math.floor(ticks / ticksPerHalfLife);
  if (halves > 53) return 0;
  const factor = factors[ticks % ticksPerHalfLife]!;
  // In two parts, so that no product leaves the whole numbers.
  const high = Math.floor(amount / factorOne);
  const low = amount % factorOne;
  const product = high * factor + Math.floor((low * factor) / factorOne);
  return Math.floor(product / 2 ** halves);
}
