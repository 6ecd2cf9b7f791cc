// What every benchmark answers, and the two ways it is printed: one JSON object for programs, a table for people. A
// figure never stands alone: beside it is the physical limit measured in the same run, and the ratio of the two.

export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the limit is, in words; null when the figure is itself a limit. */
  readonly reference: string | null;
  readonly referenceValue: number | null;
  /** value / referenceValue. */
  readonly ratio: number | null;
}

/** A row with what a reader of the table wants to know. */
export interface ToldRow extends Row {
  /** One sentence: what was measured. */
  readonly about: string;
  readonly aim: string | null;
}

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly reference: readonly [what: string, value: number] | null;
  readonly about: string;
  readonly aim: string | null;
}

export function row({ name, value, unit, reference, about, aim }: Figure): ToldRow {
  const [what, limit] = reference ?? [null, null];
  const ratio = limit === null || limit === 0 ? null : round(value / limit);
  const referenceValue = limit === null ? null : round(limit);
  return { name, value: round(value), unit, reference: what, referenceValue, ratio, about, aim };
}

/** Four digits say more than any of these figures repeats. */
function round(value: number): number {
  return Number(value.toPrecision(4));
}

export function jsonReport(bench: string, rows: readonly ToldRow[]): string {
  const plain = rows.map(
    ({ name, value, unit, reference, referenceValue, ratio }): Row => ({
      name,
      value,
      unit,
      reference,
      referenceValue,
      ratio,
    }),
  );
  return JSON.stringify({ bench, rows: plain });
}

export function tableReport(rows: readonly ToldRow[]): string {
  const head = ['name', 'value', 'unit', 'limit', 'ratio'];
  const cells = rows.map(({ name, value, unit, referenceValue, ratio }) => [
    name,
    String(value),
    unit,
    referenceValue === null ? '-' : String(referenceValue),
    ratio === null ? '-' : String(ratio),
  ]);
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((line) => line[i]?.length ?? 0)));
  const numeric = (i: number): boolean => i === 1 || i >= 3;
  const lineOf = (line: readonly string[]): string =>
    line
      .map((cell, i) => (numeric(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  const told = rows.map(({ about, reference, aim }, i) => {
    const limit = reference === null ? '' : ` Limit: ${reference}.`;
    return `${lineOf(cells[i] ?? [])}\n    ${about}.${limit}${aim === null ? '' : ` Aim: ${aim}.`}`;
  });
  return [lineOf(head), ...told].join('\n');
}
