// Comma-separated files as the traces have them: a header, no quotes, plain or gzipped.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { CalledWrongly } from '../called-wrongly.ts';

export interface Table {
  readonly path: string;
  readonly columns: ReadonlyMap<string, number>;
  readonly rows: readonly (readonly string[])[];
}

export function readCsv(path: string): Table {
  let text: string;
  try {
    const data = readFileSync(path);
    text = (path.endsWith('.gz') ? gunzipSync(data) : data).toString('utf8');
  } catch (error) {
    throw new CalledWrongly(`${path} cannot be read: ${(error as Error).message}`);
  }
  const [header = '', ...lines] = text.split(/\r?\n/).filter((line) => line !== '');
  const columns = new Map(header.split(',').map((name, i) => [name.trim(), i]));
  return { path, columns, rows: lines.map((line) => line.split(',')) };
}

export function hasColumns(table: Table, ...names: readonly string[]): boolean {
  return names.every((name) => table.columns.has(name));
}

/** The column's text in each row; a column that is not there is empty everywhere unless it is needed. */
export function textColumn(table: Table, name: string, needed = true): (row: readonly string[]) => string {
  const at = table.columns.get(name);
  if (at === undefined && needed) throw new CalledWrongly(`${table.path} has no column ${name}`);
  return (row) => (at === undefined ? '' : (row[at] ?? '').trim());
}

export function numberColumn(table: Table, name: string, needed = true): (row: readonly string[]) => number {
  const text = textColumn(table, name, needed);
  return (row) => {
    const value = Number(text(row) || '0');
    if (!Number.isSafeInteger(value) || value < 0)
      throw new CalledWrongly(
        `${table.path}: ${name} is "${text(row)}" in "${row.join(',')}", not a whole number`,
      );
    return value;
  };
}
