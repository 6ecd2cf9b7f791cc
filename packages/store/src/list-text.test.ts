import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listText } from './list-text.ts';
import { onEveryServer } from './testing/on-every-server.ts';
import { statement } from './testing/servers.ts';

const word = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.json(),
  fc.constantFrom('', 'NULL', 'null', '{}', '"', '\\', 'a,b', ' ', 'job_1[2]', '\\n'),
);

onEveryServer((server) => {
  test('what was written as text is read as the list it was', async () => {
    const lists = fc.sample(fc.array(fc.option(word)), { numRuns: 300, seed: 1 });
    const written = lists.filter((list) => typeof listText(list) === 'string');
    expect(written.length).toBeGreaterThan(50);
    const url = await server().database({ migrated: false });
    const values = written.map(listText);
    const read = await statement<{ list: unknown }>(
      url,
      values.map((_, i) => `SELECT ${i} AS i, to_json($${i + 1}::text[]) AS list`).join(' UNION ALL ') +
        ' ORDER BY i',
      values,
    );
    expect(read.map(({ list }) => list)).toEqual(written);
  });
});

test('ids, states, numbers and what is missing are written here', () => {
  expect(listText(['job_1', '{"state":"queued"}', null])).toBe('{"job_1","{\\"state\\":\\"queued\\"}",null}');
  expect(listText([1, -2, 2 ** 53 - 1])).toBe('{1,-2,9007199254740991}');
  expect(listText([true, false])).toBe('{true,false}');
  expect(listText([])).toBe('{}');
});

test('what JSON writes otherwise is left to the driver', () => {
  for (const left of [['two\nlines'], ['\ud800'], [Number.NaN], [[1]], [Buffer.of(1)], [new Date(0)]])
    expect(listText(left)).toBe(left);
});
