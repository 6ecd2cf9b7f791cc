// The columns of a comma-separated file, found by the names in its first line. Fields have no quotes in the traces we know; a
// quoted field is taken without its quotes, and a comma inside one makes the row bad by its number of fields.
import { TraceRefused } from './trace-format.ts';

export class Columns {
  readonly #at = new Map<string, number>();
  readonly width: number;

  constructor(header: string) {
    const names = header.split(',').map(unquoted);
    this.width = names.length;
    for (const [i, name] of names.entries()) this.#at.set(name.toLowerCase(), i);
  }

  has(...names: readonly string[]): boolean {
    return names.every((name) => this.#at.has(name));
  }

  require(format: string, ...names: readonly string[]): void {
    const missing = names.filter((name) => !this.#at.has(name));
    if (missing.length > 0)
      throw new TraceRefused(
        `line 1 should name the columns of a ${format} file, and ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not there`,
      );
  }

  /** The field's text; empty when the file has no such column. */
  text(fields: readonly string[], name: string): string {
    const at = this.#at.get(name);
    return at === undefined ? '' : unquoted(fields[at] ?? '');
  }

  /** NaN when it is not a number. */
  number(fields: readonly string[], name: string): number {
    const text = this.text(fields, name);
    return text === '' ? Number.NaN : Number(text);
  }
}

function unquoted(field: string): string {
  const text = field.trim();
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}
