// Tables that fit the terminal. When they do not, the least important columns give way first: each is cut down to its
// least width, then left out. Where there is no terminal nothing is cut, so that grep and awk see everything.
import { clean } from './clean.ts';
import { displayWidth, padEnd, padStart, truncate } from './width.ts';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => string;
  /** Colours the finished cell; never changes its width. */
  readonly paint?: (text: string, row: T) => string;
  readonly align?: 'right';
  /** Higher stays longer. */
  readonly importance: number;
  /** May be cut to this many columns; a column without it is whole or not there. */
  readonly least?: number;
  /** Only in wide output. */
  readonly wide?: boolean;
  /** Always shown, however narrow the terminal. */
  readonly fixed?: boolean;
}

export interface TableOptions {
  /** Columns of the terminal; null when there is none. */
  readonly width: number | null;
  readonly wide: boolean;
  readonly head: (text: string) => string;
}

const gap = 2;

export function table<T>(columns: readonly Column<T>[], rows: readonly T[], options: TableOptions): string[] {
  const shown = columns.filter((column) => (options.wide || !column.wide) && !isEmpty(column, rows));
  const cells = rows.map((row) => shown.map((column) => clean(column.cell(row))));
  const natural = shown.map((column, i) =>
    Math.max(displayWidth(column.title), ...cells.map((line) => displayWidth(line[i] ?? ''))),
  );
  const widths = options.wide ? natural : fit(shown, natural, options.width);
  const kept = shown
    .map((column, i) => ({ column, i, width: widths[i] ?? 0 }))
    .filter(({ width }) => width > 0);
  const line = (texts: readonly string[], paint: (text: string, column: Column<T>) => string): string =>
    kept
      .map(({ column, i, width }, at) => {
        const text = truncate(texts[i] ?? '', width);
        const pad =
          column.align === 'right'
            ? padStart(text, width)
            : at === kept.length - 1
              ? text
              : padEnd(text, width);
        return paint(pad, column);
      })
      .join(' '.repeat(gap))
      .trimEnd();
  return [
    line(
      shown.map(({ title }) => title),
      (text) => options.head(text),
    ),
    ...cells.map((texts, r) =>
      line(texts, (text, column) =>
        column.paint ? paintText(text, (t) => column.paint!(t, rows[r]!)) : text,
      ),
    ),
  ];
}

/** A column in which no row says anything only takes room. */
function isEmpty<T>(column: Column<T>, rows: readonly T[]): boolean {
  return !column.fixed && rows.length > 0 && rows.every((row) => column.cell(row) === '');
}

/** Padding stays unpainted, so that trimming the line works. */
function paintText(padded: string, paint: (text: string) => string): string {
  const text = padded.trim();
  if (text === '') return padded;
  const start = padded.indexOf(text);
  return padded.slice(0, start) + paint(text) + padded.slice(start + text.length);
}

function fit<T>(columns: readonly Column<T>[], natural: readonly number[], width: number | null): number[] {
  const widths = [...natural];
  if (width === null) return widths;
  const over = (): number => {
    const present = widths.filter((w) => w > 0);
    return present.reduce((sum, w) => sum + w, 0) + gap * Math.max(0, present.length - 1) - width;
  };
  const order = columns
    .map((column, i) => ({ column, i }))
    .sort((a, b) => a.column.importance - b.column.importance);
  for (const { column, i } of order) {
    const least = Math.max(column.least ?? Number.POSITIVE_INFINITY, displayWidth(column.title));
    const present = widths[i] ?? 0;
    if (over() > 0 && least < present) widths[i] = Math.max(least, present - over());
  }
  for (const { column, i } of order) if (over() > 0 && !column.fixed) widths[i] = 0;
  // What the last column left out was wider than needed goes to those that were cut, the important ones first, and then to
  // those left out before it that fit whole.
  for (const { i } of order.reverse()) {
    const present = widths[i] ?? 0;
    if (present > 0) widths[i] = Math.min(natural[i] ?? 0, present + Math.max(0, -over()));
  }
  for (const { i } of order) {
    const whole = natural[i] ?? 0;
    if (widths[i] === 0 && whole + gap <= -over()) widths[i] = whole;
  }
  return widths;
}
