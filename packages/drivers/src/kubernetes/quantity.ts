// Amounts as Kubernetes writes them: "250m", "4", "16Gi", "1e3". Read exactly, and rounded down to the unit we count in where a
// node has it, up where a pod takes it: so a node is never taken for larger than it is.

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

export type Rounding = 'down' | 'up';

/** How many of `unit` (0.001 for thousandths, 2 ** 20 for MiB) the text says; throws for what is no amount. */
export function amountOf(text: string, unit: number, rounding: Rounding): number {
  const [, digits, suffix = ''] =
    /^\+?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d{1,2}|[A-Za-z]{0,2})$/.exec(text) ?? [];
  const factor = /^[eE][+-]?\d/.test(suffix) ? 10 ** Number(suffix.slice(1)) : factors[suffix];
  if (digits === undefined || factor === undefined)
    throw new RangeError(`not an amount: ${text.slice(0, 40)}`);
  // 1.9999999 of a unit that is really 2 must not be rounded down to 1.
  const value = Number((Number(digits) * (factor / unit)).toPrecision(15));
  const whole = rounding === 'down' ? Math.floor(value) : Math.ceil(value);
  if (!Number.isSafeInteger(whole)) throw new RangeError(`too much: ${text.slice(0, 40)}`);
  return whole;
}

export const cpuMilliOf = (text: string, rounding: Rounding): number => amountOf(text, 0.001, rounding);
export const memoryMibOf = (text: string, rounding: Rounding): number => amountOf(text, 2 ** 20, rounding);
