import { describe, expect, test } from 'vitest';
import { policyRows } from '../policies/policies.ts';
import { fleetOf } from '../replay/fleet.ts';
import { type Line, traceOf } from '../testing/worlds.ts';
import { compare } from './compare.ts';
import { htmlReport } from './html-report.ts';
import { escaped, linear, logarithmic, niceTicks } from './svg.ts';
import { duration, factor } from './words.ts';

const lines: Line[] = [
  { at: 0, run: 100, size: 2, project: '<img src=x onerror=alert(1)>' },
  { at: 1, run: 10, size: 2, project: 'b"&' },
];
const trace = traceOf(...lines);
const read = { file: '<script>.swf', rows: 2, jobs: 2, excluded: [], badCount: 0, bad: [], notes: [] };
const wanted = ['fifo', 'srtf'].map((name) => ({
  row: policyRows.find((row) => row.name === name)!,
  durations: null,
}));

describe('the page', () => {
  const page = htmlReport(compare(trace, read, fleetOf(2, 1), wanted));

  test('shows names from a trace as text, whatever they hold', () => {
    expect(page).toContain('&lt;script&gt;.swf under 2 policies');
    expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(page).not.toMatch(/<script|<img/);
  });

  test('says who waits least, what that costs, and what it rests on', () => {
    // FIFO: 0 and 99 s. SRTF stops the first for the second, which loses 1 s of work, 60 s of restart and 10 s of room.
    expect(page).toContain('Jobs wait least under <b>srtf</b>: 35.5\u00a0s on average');
    expect(page).toContain('beside 49.5\u00a0s under <b>fifo</b>');
    expect(page).toContain('it stops runs once');
    expect(page).toContain('a restart takes 1\u00a0min');
  });

  test('of one policy alone is a page too', () => {
    const alone = htmlReport(compare(trace, read, fleetOf(2, 1), wanted.slice(0, 1)));
    expect(alone).toContain('Under <b>fifo</b> jobs wait 49.5\u00a0s on average');
    expect(alone).not.toMatch(/NaN|Infinity|undefined/);
  });
});

test('numbers are said in one unit', () => {
  expect([0, 8, 90, 5400, 86_400, 40 * 86_400].map(duration)).toEqual(
    ['0 s', '8 s', '1.5 min', '1.5 h', '1 d', '40 d'].map((text) => text.replace(' ', '\u00a0')),
  );
  expect([1.234, 12.34, 1234].map(factor)).toEqual(['1.23', '12.3', '1,234']);
});

test('ticks are round and reach the end', () => {
  expect(niceTicks(10)).toEqual([0, 5, 10]);
  expect(niceTicks(0.7)).toEqual([0, 0.2, 0.4, 0.6]);
  expect(niceTicks(823, 5)).toEqual([0, 200, 400, 600, 800]);
  expect(niceTicks(0)).toEqual([0]);
});

test('scales put the ends where they belong, and zero at the foot of a logarithm', () => {
  expect(linear(0, 10, 100, 200)(5)).toBe(150);
  expect(logarithmic(1, 100, 0, 10)(10)).toBe(5);
  expect(logarithmic(1, 100, 0, 10)(0)).toBe(0);
  expect(escaped('<a b="c">&')).toBe('&lt;a b=&quot;c&quot;&gt;&amp;');
});
