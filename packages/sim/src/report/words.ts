// Numbers as the report says them.

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export function count(value: number): string {
  return whole.format(value);
}

export function percent(part: number): string {
  return `${(part * 100).toFixed(1)}\u00a0%`;
}

/** 8 s, 4.2 min, 3.1 h, 12 d: one unit, because people compare. */
export function duration(seconds: number): string {
  const units: readonly (readonly [unit: string, s: number])[] = [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ];
  const [unit, s] = units.find(([, each]) => seconds >= each) ?? ['s', 1];
  const value = seconds / s;
  const text = value >= 100 || value === Math.round(value) ? count(value) : value.toFixed(1);
  return `${text}\u00a0${unit}`;
}

export function factor(value: number): string {
  return value >= 100 ? count(value) : value.toFixed(value < 10 ? 2 : 1);
}

/** Moments on a logarithmic axis of time that a person knows. */
export const knownTimes: readonly (readonly [s: number, label: string])[] = [
  [1, '1 s'],
  [10, '10 s'],
  [60, '1 min'],
  [600, '10 min'],
  [3600, '1 h'],
  [6 * 3600, '6 h'],
  [86_400, '1 d'],
  [7 * 86_400, '1 w'],
  [30 * 86_400, '30 d'],
  [365 * 86_400, '1 y'],
];

export function policyLabel(policy: string, durations: string | null, alone: boolean): string {
  return durations === null || alone ? policy : `${policy} (${durations})`;
}
