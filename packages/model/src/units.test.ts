import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clip, formatDurationMs, formatMib, formatMilli, parseDurationMs, parseSizeMib } from './units.ts';

const value = (parsed: ReturnType<typeof parseSizeMib>) => (parsed.ok ? parsed.value : parsed.message);

describe('sizes', () => {
  test('a formatted size reads back to the same number of MiB', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (mib) => {
        expect(parseSizeMib(formatMib(mib))).toEqual({ ok: true, value: mib });
      }),
    );
  });

  test.each([
    ['1MiB', 1],
    ['512MiB', 512],
    ['64GiB', 65_536],
    ['64 GiB', 65_536],
    ['1.5GiB', 1536],
    ['0.25TiB', 262_144],
    ['2PiB', 2 * 2 ** 30],
    ['0.015625GiB', 16],
  ])('%s is %i MiB', (text, mib) => {
    expect(parseSizeMib(text)).toEqual({ ok: true, value: mib });
  });

  test.each([
    ['10', 'is ambiguous; write the unit in full, for example "10GiB"'],
    ['10GB', 'is ambiguous; write the unit in full, for example "10GiB"'],
    ['10G', 'is ambiguous; write the unit in full, for example "10GiB"'],
    ['10g', 'is ambiguous; write the unit in full, for example "10GiB"'],
    ['512mb', 'is ambiguous; write the unit in full, for example "512MiB"'],
    ['1.1MiB', 'is not a whole number of MiB'],
    ['0.1GiB', 'is not a whole number of MiB'],
    ['999999999PiB', 'is too large'],
    ['9007199254740993MiB', 'is too large'],
    ['8388607.000001PiB', 'is not a whole number of MiB'],
    ['-1GiB', 'is not a size'],
    ['+1GiB', 'is not a size'],
    ['1e3MiB', 'is not a size'],
    ['0x10MiB', 'is not a size'],
    ['1,5GiB', 'is not a size'],
    ['10gib', 'is not a size'],
    ['10KiB', 'is not a size'],
    ['GiB', 'is not a size'],
    ['', 'is not a size'],
    [' 1GiB', 'is not a size'],
    ['1GiB ', 'is not a size'],
    ['1  GiB', 'is not a size'],
    ['1GiB\n', 'is not a size'],
    ['١GiB', 'is not a size'],
    ['NaN', 'is not a size'],
    ['Infinity', 'is not a size'],
  ])('%j is refused: %s', (text, message) => {
    expect(value(parseSizeMib(text))).toBe(`"${text}" ${messageTail(message)}`);
  });

  function messageTail(message: string): string {
    return message === 'is not a size'
      ? 'is not a size; write a number and MiB, GiB, TiB or PiB, for example "64GiB"'
      : message;
  }
});

describe('durations', () => {
  test('a formatted duration reads back to the same number of milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000 * 86_400_000 }), (ms) => {
        expect(parseDurationMs(formatDurationMs(ms))).toEqual({ ok: true, value: ms });
      }),
    );
  });

  test('three decimals of a second are exact', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999_999 }), (ms) => {
        const text = `${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, '0')}s`;
        expect(parseDurationMs(text)).toEqual({ ok: true, value: ms });
      }),
    );
  });

  test.each([
    ['500ms', 500],
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1.5h', 5_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['0s', 0],
    ['1.001s', 1001],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDurationMs(text)).toEqual({ ok: true, value: ms });
  });

  test.each([
    ['10', 'is not a duration; name the unit, for example "10s" or "10m"'],
    ['1.5', 'is not a duration; name the unit, for example "1.5s" or "1.5m"'],
    ['', 'is not a duration; name the unit, for example "90s", "1h30m" or "2d"'],
    ['-5s', 'is not a duration; name the unit, for example "90s", "1h30m" or "2d"'],
    ['5 s', 'is not a duration; name the unit, for example "90s", "1h30m" or "2d"'],
    ['5sec', 'is not a duration; name the unit, for example "90s", "1h30m" or "2d"'],
    ['1w', 'is not a duration; name the unit, for example "90s", "1h30m" or "2d"'],
    ['5S', 'is not a duration; name the unit, for example "90s", "1h30m" or "2d"'],
    ['1h30', 'is not a duration; name the unit, for example "90s", "1h30m" or "2d"'],
    ['01:30:00', 'is not a duration; name the unit, for example "90s", "1h30m" or "2d"'],
    ['30m1h', 'repeats a unit or puts a small one first; write "1h30m"'],
    ['1h1h', 'repeats a unit or puts a small one first; write "1h30m"'],
    ['1.5ms', 'is not a whole number of milliseconds'],
    ['999999999d', 'is too large'],
  ])('%j is refused: %s', (text, message) => {
    expect(value(parseDurationMs(text))).toBe(`"${text}" ${message}`);
  });
});

test('a clipped text is short and never ends in half a character', () => {
  expect(clip('a'.repeat(80))).toBe('a'.repeat(80));
  expect(clip('a'.repeat(81))).toBe(`${'a'.repeat(79)}…`);
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.integer({ min: 2, max: 90 }),
      (text, max) => {
        const clipped = clip(text, max);
        expect(clipped.length).toBeLessThanOrEqual(max);
        expect(clipped.isWellFormed()).toBe(true);
      },
    ),
  );
});

test('cores are told without needless digits', () => {
  expect([1500, 1000, 1, 250].map(formatMilli)).toEqual(['1.5', '1', '0.001', '0.25']);
});
