// Two bodies are the same request when their values are, whatever the order of their fields. Sorting into a copy and letting
// the native writer do the rest takes a third of the time of canonicalJson, and every keyed submit pays for it; the texts
// need only be equal for equal values, and are never shown or stored.
import { hash } from 'node:crypto';

export function bodyHash(body: unknown, held: boolean): string {
  // Holding is part of what was asked, though not of the spec.
  return hash('sha256', `${JSON.stringify(sorted(body))}${held ? ' held' : ''}`, 'hex');
}

/** Keys like `__proto__` never come here: the body's parser refuses them. */
function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.some(isObject) ? value.map(sorted) : value;
  const record = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(record).sort()) {
    const item = record[key];
    copy[key] = typeof item === 'object' ? sorted(item) : item;
  }
  return copy;
}

function isObject(value: unknown): boolean {
  return value !== null && typeof value === 'object';
}
