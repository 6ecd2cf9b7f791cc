import { expect, test } from 'vitest';
import { jsonReport, row, tableReport } from './report.ts';

const submits = row({
  name: 'submits_per_s',
  value: 1234.5678,
  unit: '1/s',
  reference: ['bare inserts', 2469.1356],
  about: 'Submits',
  aim: '>= 70 %',
});
const bare = row({ name: 'bare', value: 5, unit: '1/s', reference: null, about: 'Bare', aim: null });

test('the JSON has one object with exactly the agreed fields', () => {
  expect(JSON.parse(jsonReport('control', [submits, bare]))).toEqual({
    bench: 'control',
    rows: [
      {
        name: 'submits_per_s',
        value: 1235,
        unit: '1/s',
        reference: 'bare inserts',
        referenceValue: 2469,
        ratio: 0.5,
      },
      { name: 'bare', value: 5, unit: '1/s', reference: null, referenceValue: null, ratio: null },
    ],
  });
});

test('the table tells what each row means and its aim', () => {
  const table = tableReport([submits, bare]);
  expect(table).toContain(
    'submits_per_s   1235  1/s    2469    0.5\n    Submits. Limit: bare inserts. Aim: >= 70 %.',
  );
  expect(table).toContain('\n    Bare.');
});
