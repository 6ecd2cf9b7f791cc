// Points in time as users write them: RFC 3339 with a zone, nothing else. Computed from the calendar, without the
// host's clock or date library, so that the same text gives the same number everywhere.
import type { Parsed } from './units.ts';
import { clip } from './units.ts';

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;
const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function parseInstantMs(text: string): Parsed<number> {
  const match = pattern.exec(text);
  if (!match)
    return {
      ok: false,
      message: `"${clip(text)}" is not a time; write RFC 3339 with a zone, for example "2026-11-15T09:30:00Z"`,
    };
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 && leap ? 29 : (monthDays[month - 1] ?? 0);
  const offsetHours = Number(match[9] ?? 0);
  const offsetRest = Number(match[10] ?? 0);
  const badOffset = offsetHours > 23 || offsetRest > 59;
  if (day < 1 || day > days || hour > 23 || minute > 59 || second > 59 || badOffset) {
    return { ok: false, message: `"${clip(text)}" names a day or time that does not exist` };
  }
  if (year < 2000 || year > 2199)
    return { ok: false, message: `"${clip(text)}" is outside the years 2000 to 2199` };
  const fraction = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  const offsetMinutes = (match[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetRest);
  const seconds =
    daysFromCivil(year, month, day) * 86_400 + hour * 3600 + (minute - offsetMinutes) * 60 + second;
  return { ok: true, value: seconds * 1000 + fraction };
}

/** Days since 1970-01-01 of a date in the proleptic Gregorian calendar. */
function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
