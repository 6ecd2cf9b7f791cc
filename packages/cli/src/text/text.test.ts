// Cleaning, measuring, cutting, colouring and telling time.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { clean } from './clean.ts';
import { paintFor } from './style.ts';
import { ago, elapsed, localTime, measured, shortDuration } from './time.ts';
import { displayWidth, padEnd, truncate, wrap } from './width.ts';

test.each([
  ['plain', 'plain'],
  ['\x1b[31mred\x1b[0m', 'red'],
  ['\x1b]0;title\x07x', 'x'],
  ['\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\', 'link'],
  ['a\nb\tc\r\nd', 'a b c d'],
  ['bell\x07 back\b del\x7f csi\x9b31m', 'bell back del csi31m'],
  ['\u202egnp.exe\u2066', 'gnp.exe'],
  ['unfinished \x1b[', 'unfinished '],
])('%j is cleaned to %j', (dirty, expected) => expect(clean(dirty)).toBe(expected));

test('no cleaned text has a control character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(clean(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
    }),
  );
});

test.each([
  ['abc', 3],
  ['héllo', 5],
  ['e\u0301', 1],
  ['日本', 4],
  ['🚀', 2],
  ['👩‍💻', 2],
  ['a\u200bb', 2],
  ['…', 1],
])('%s takes %i columns', (text, columns) => expect(displayWidth(text)).toBe(columns));

test('a cut text never takes more room than there is, and says that it was cut', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, width) => {
      const cut = truncate(text, width);
      expect(displayWidth(cut)).toBeLessThanOrEqual(width);
      if (cut !== text) expect(cut.endsWith('…')).toBe(true);
    }),
  );
});

test('wide characters are padded by columns, not by code units', () => {
  expect(padEnd('日本', 6)).toBe('日本  ');
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
});

test.each([
  [0, '0s'],
  [999, '0s'],
  [45_000, '45s'],
  [200_000, '3m20s'],
  [1_200_000, '20m'],
  [5 * 3_600_000 + 60_000, '5h1m'],
  [30 * 3_600_000, '1d6h'],
  [20 * 86_400_000, '20d'],
])('%i ms reads %s', (ms, text) => expect(shortDuration(ms)).toBe(text));

test('times are relative, local and finer when measured', () => {
  const now = new Date(2026, 10, 15, 12, 0, 0).getTime();
  const at = (ms: number): string => new Date(now - ms).toISOString();
  expect(ago(at(90_000), now)).toBe('1m30s ago');
  expect(ago(at(-60_000), now)).toBe('in 1m');
  expect(ago(null, now)).toBe('-');
  expect(localTime(at(3_600_000), now)).toBe('11:00:00');
  expect(localTime(at(86_400_000), now)).toBe('2026-11-14 12:00');
  expect(elapsed(at(5000), null, now)).toBe('5s');
  expect(elapsed(at(5000), at(4750), now)).toBe('250ms');
  expect(measured(1234)).toBe('1.2s');
});

test('colours only where they can be seen and were not refused', () => {
  const red = (tty: boolean, env: Record<string, string> = {}, noColor = false) =>
    paintFor(tty, env, noColor)('red', 'x');
  expect(red(true)).toBe('\x1b[31mx\x1b[39m');
  for (const plain of [
    red(false),
    red(true, { NO_COLOR: '1' }),
    red(true, {}, true),
    red(true, { TERM: 'dumb' }),
  ])
    expect(plain).toBe('x');
});
