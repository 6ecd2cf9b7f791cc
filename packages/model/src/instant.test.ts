import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseInstantMs } from './instant.ts';

const first = Date.UTC(2000, 0, 1);
const last = Date.UTC(2199, 11, 31, 23, 59, 59, 999);

test('every instant the host can print is read to the same millisecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: first, max: last }), (ms) => {
      expect(parseInstantMs(new Date(ms).toISOString())).toEqual({ ok: true, value: ms });
    }),
    { numRuns: 1000 },
  );
});

test('a zone moves the instant as RFC 3339 says', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: first + 86_400_000, max: last - 86_400_000 }),
      fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 }),
      (ms, offset) => {
        const two = (n: number) => String(n).padStart(2, '0');
        const size = Math.abs(offset);
        const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
        const local = new Date(ms + offset * 60_000).toISOString().slice(0, -1);
        expect(parseInstantMs(local + zone)).toEqual({ ok: true, value: ms });
      },
    ),
  );
});

test.each([
  ['2026-11-15T09:30:00Z', Date.UTC(2026, 10, 15, 9, 30)],
  ['2026-11-15t09:30:00z', Date.UTC(2026, 10, 15, 9, 30)],
  ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
  ['2026-11-15T09:30:00.123456789Z', Date.UTC(2026, 10, 15, 9, 30, 0, 123)],
  ['2026-11-15T09:30:00.5+02:00', Date.UTC(2026, 10, 15, 7, 30, 0, 500)],
])('%s is understood', (text, ms) => {
  expect(parseInstantMs(text)).toEqual({ ok: true, value: ms });
});

const notATime = 'is not a time; write RFC 3339 with a zone, for example "2026-11-15T09:30:00Z"';
const noSuchTime = 'names a day or time that does not exist';

test.each([
  ['2026-02-30T00:00:00Z', noSuchTime],
  ['2026-02-29T00:00:00Z', noSuchTime],
  ['2100-02-29T00:00:00Z', noSuchTime],
  ['2026-00-10T00:00:00Z', noSuchTime],
  ['2026-13-10T00:00:00Z', noSuchTime],
  ['2026-04-31T00:00:00Z', noSuchTime],
  ['2026-01-00T00:00:00Z', noSuchTime],
  ['2026-01-01T24:00:00Z', noSuchTime],
  ['2026-01-01T00:60:00Z', noSuchTime],
  ['2026-01-01T00:00:60Z', noSuchTime],
  ['2026-01-01T00:00:00+24:00', noSuchTime],
  ['2026-01-01T00:00:00+99:99', noSuchTime],
  ['9999-01-01T00:00:00Z', 'is outside the years 2000 to 2199'],
  ['1999-12-31T23:59:59Z', 'is outside the years 2000 to 2199'],
  ['2026-02-30', notATime],
  ['2026-11-15T09:30:00', notATime],
  ['2026-11-15 09:30:00Z', notATime],
  ['2026-11-15T09:30Z', notATime],
  ['2026-11-15T09:30:00 Z', notATime],
  ['2026-11-15T09:30:00+0200', notATime],
  ['2026-11-15T09:30:00.Z', notATime],
  ['1763200000', notATime],
  ['1763200000000', notATime],
  ['tomorrow', notATime],
  ['', notATime],
  ['+002026-11-15T09:30:00Z', notATime],
])('%j is refused', (text, message) => {
  expect(parseInstantMs(text)).toEqual({ ok: false, message: `"${text}" ${message}` });
});
