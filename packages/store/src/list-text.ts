// A list as PostgreSQL reads it, for a parameter such as `$1::text[]`. A commit sends thousands of ids and states, and the
// driver would escape each of them by itself, with a new string for every step; JSON writes the same in one.
const fallsBack = (item: unknown): boolean =>
  typeof item === 'object' ? item !== null : typeof item === 'number' && !Number.isFinite(item);

/** Beside quotes and backslashes JSON escapes control characters and halves of characters, which PostgreSQL would read otherwise. */
const otherEscape = /\\[^"\\]/;

/** The text of a list, or the list itself where the driver has to write it. */
export function listText(items: readonly unknown[]): string | readonly unknown[] {
  if (items.some(fallsBack)) return items;
  const text = JSON.stringify(items);
  return otherEscape.test(text) ? items : `{${text.slice(1, -1)}}`;
}
