import { expect, test } from 'vitest';
import { type Column, table } from './table.ts';
import { displayWidth } from './width.ts';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

const columns: Column<Row>[] = [
  { title: 'ID', cell: ({ id }) => id, importance: 100, fixed: true },
  { title: 'NAME', cell: ({ name }) => name, importance: 50, least: 6 },
  { title: 'EXTRA', cell: ({ id }) => `x${id}`, importance: 10 },
  { title: 'REASON', cell: ({ reason }) => reason, importance: 30, least: 8 },
];
const rows: Row[] = [
  { id: 'job_1', name: 'a-rather-long-name', reason: 'no room for it on any node at all' },
];
const lines = (width: number | null, wide = false, shown = rows): string[] =>
  table(columns, shown, { width, wide, head: (text) => text });

test('without a terminal nothing is cut', () => {
  expect(lines(null)).toEqual([
    'ID     NAME                EXTRA   REASON',
    'job_1  a-rather-long-name  xjob_1  no room for it on any node at all',
  ]);
});

test.each([20, 30, 40, 50, 60, 70, 100])('at %i columns no line is longer', (width) => {
  for (const line of lines(width)) expect(displayWidth(line)).toBeLessThanOrEqual(width);
});

test('the least important columns give way first, and get back what is left over', () => {
  expect(lines(60)).toEqual([
    'ID     NAME                EXTRA   REASON',
    'job_1  a-rather-long-name  xjob_1  no room for it on any no…',
  ]);
  expect(lines(24)).toEqual(['ID     NAME     REASON', 'job_1  a-rath…  no room…']);
});

test('what a wider column left free, a smaller one left out before it takes', () => {
  const short = [{ ...rows[0]!, name: 'n' }];
  expect(lines(20, false, short)).toEqual(['ID     NAME  EXTRA', 'job_1  n     xjob_1']);
});

test('wide output shows everything', () => {
  expect(lines(20, true)[1]).toBe('job_1  a-rather-long-name  xjob_1  no room for it on any node at all');
});

test('a column in which nothing stands is left out', () => {
  expect(lines(null, false, [{ id: 'job_1', name: 'n', reason: '' }])[0]).toBe('ID     NAME  EXTRA');
});

test('cells are cleaned, whatever people named their jobs', () => {
  expect(lines(null, false, [{ id: 'job_1', name: 'evil\x1b[2J\nname', reason: '' }])[1]).toBe(
    'job_1  evil name  xjob_1',
  );
});
