// One text for one value: keys sorted by code unit, no spaces. Used where equal values must compare or hash equal
// (shapes, idempotent bodies, plan hashes). Undefined members are left out, as JSON does.

export function canonicalJson(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    let items = '';
    for (const item of value) items += items === '' ? canonicalJson(item) : `,${canonicalJson(item)}`;
    return `[${items}]`;
  }
  const record = value as Record<string, unknown>;
  let members = '';
  for (const key of Object.keys(record).sort()) {
    const member = record[key];
    if (member === undefined) continue;
    const text = `${JSON.stringify(key)}:${canonicalJson(member)}`;
    members += members === '' ? text : `,${text}`;
  }
  return `{${members}}`;
}
