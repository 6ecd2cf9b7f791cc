// Percentiles of many values: the least value with at least that part of all at or below it, so that every percentile is a value that occurred.

/** Ascending. */
export function sorted(values: Float64Array): Float64Array {
  return values.slice().sort();
}

export function percentile(ascending: Float64Array, part: number): number {
  if (ascending.length === 0) return 0;
  const at = Math.ceil(part * ascending.length) - 1;
  return ascending[Math.min(ascending.length - 1, Math.max(0, at))]!;
}

export function mean(values: Float64Array): number {
  if (values.length === 0) return 0;
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}
