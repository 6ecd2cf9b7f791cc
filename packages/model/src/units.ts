// One grammar for sizes and durations, used by the job spec, the CLI, configuration and declared devices.
// A size always names a binary unit and a duration always names its unit: "10" and "10GB" are refused, because one
// reader's gigabyte is another's gibibyte.

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

const mibPerUnit: Record<string, number> = { MiB: 1, GiB: 1024, TiB: 1024 * 1024, PiB: 1024 * 1024 * 1024 };
const msPerUnit: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** "512MiB", "1.5GiB", "2TiB" in MiB; fractions must come out as whole MiB. */
export function parseSizeMib(text: string): Parsed<number> {
  const match = /^(\d{1,16})(?:\.(\d{1,6}))?\s?(MiB|GiB|TiB|PiB)$/.exec(text);
  if (!match) return { ok: false, message: sizeMessage(text) };
  const value = scaled(match[1] ?? '', match[2] ?? '', mibPerUnit[match[3] ?? ''] ?? 0);
  if (Number.isNaN(value)) return { ok: false, message: `"${clip(text)}" is not a whole number of MiB` };
  if (!Number.isSafeInteger(value)) return { ok: false, message: `"${clip(text)}" is too large` };
  return { ok: true, value };
}

const powersOfTen = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];

/** `whole.fraction` times `scale`, exactly: "1.001" seconds are 1001 ms, which floats do not give. NaN when not whole. */
function scaled(whole: string, fraction: string, scale: number): number {
  const divisor = powersOfTen[fraction.length] ?? 0;
  const part = Number(fraction) * scale;
  return part % divisor === 0 ? Number(whole) * scale + part / divisor : Number.NaN;
}

function sizeMessage(text: string): string {
  const loose = /^(\d+(?:\.\d+)?)\s?([kKmMgGtTpP])?[bB]?$/.exec(text);
  if (!loose)
    return `"${clip(text)}" is not a size; write a number and MiB, GiB, TiB or PiB, for example "64GiB"`;
  const unit = (loose[2] ?? 'g').toUpperCase();
  return `"${clip(text)}" is ambiguous; write the unit in full, for example "${loose[1]}${unit === 'K' ? 'M' : unit}iB"`;
}

/** "500ms", "90s", "1h30m", "2d" in milliseconds. */
export function parseDurationMs(text: string): Parsed<number> {
  const one = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  if (one) return wholeMs(text, Number(one[1]) * (msPerUnit[one[2] ?? ''] ?? 0));
  const parts = [...text.matchAll(/(\d{1,9})(?:\.(\d{1,3}))?(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join('') !== text) {
    const hint = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? `"${text}s" or "${text}m"` : '"90s", "1h30m" or "2d"';
    return { ok: false, message: `"${clip(text)}" is not a duration; name the unit, for example ${hint}` };
  }
  let total = 0;
  let previous = Number.POSITIVE_INFINITY;
  for (const [, whole, fraction, unit] of parts) {
    const scale = msPerUnit[unit ?? ''] ?? 0;
    if (scale >= previous)
      return {
        ok: false,
        message: `"${clip(text)}" repeats a unit or puts a small one first; write "1h30m"`,
      };
    previous = scale;
    total += scaled(whole ?? '', fraction ?? '', scale);
  }
  return wholeMs(text, total);
}

function wholeMs(text: string, value: number): Parsed<number> {
  if (Number.isNaN(value))
    return { ok: false, message: `"${clip(text)}" is not a whole number of milliseconds` };
  if (!Number.isSafeInteger(value)) return { ok: false, message: `"${clip(text)}" is too large` };
  return { ok: true, value };
}

/** The largest unit that gives a whole number: 65536 -> "64GiB". Reads back to the same value. */
export function formatMib(mib: number): string {
  for (const unit of ['PiB', 'TiB', 'GiB']) {
    const scale = mibPerUnit[unit] ?? 1;
    if (mib >= scale && mib % scale === 0) return `${mib / scale}${unit}`;
  }
  return `${mib}MiB`;
}

/** Reads back to the same value: 5400000 -> "1h30m". */
export function formatDurationMs(ms: number): string {
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const unit of ['d', 'h', 'm', 's', 'ms']) {
    const scale = msPerUnit[unit] ?? 1;
    const count = Math.floor(rest / scale);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * scale;
  }
  return text;
}

/** Cores from thousandths: 1500 -> "1.5". */
export function formatMilli(milli: number): string {
  return String(milli / 1000);
}

/** At most `max` characters; never ends in half of a surrogate pair. */
export function clip(text: string, max = 80): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max - 1);
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
