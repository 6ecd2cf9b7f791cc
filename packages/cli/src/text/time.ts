// Times for people: how long ago, how long it took. JSON keeps RFC 3339.

const units: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

/** Two units at most, the second only while it tells something: 45s, 3m20s, 5h, 2d4h. */
export function shortDuration(ms: number): string {
  const whole = Math.max(0, ms);
  if (whole < 1000) return '0s';
  for (const [i, [unit, scale]] of units.entries()) {
    if (whole < scale) continue;
    const count = Math.floor(whole / scale);
    const next = units[i + 1];
    const rest = next ? Math.floor((whole % scale) / next[1]) : 0;
    return count < 10 && next && rest > 0 ? `${count}${unit}${rest}${next[0]}` : `${count}${unit}`;
  }
  return '0s';
}

/** Like shortDuration, but finer below ten seconds: for what was measured. */
export function measured(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : shortDuration(ms);
}

export function ago(at: string | null, nowMs: number): string {
  if (at === null) return '-';
  const ms = nowMs - Date.parse(at);
  return ms >= 0 ? `${shortDuration(ms)} ago` : `in ${shortDuration(-ms)}`;
}

/** The wall clock where the reader sits: 14:03:09 today, 2026-11-15 14:03 otherwise. */
export function localTime(at: string | null, nowMs: number): string {
  if (at === null) return '-';
  const time = new Date(at);
  const two = (n: number): string => String(n).padStart(2, '0');
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  const day = (date: Date): string =>
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return day(time) === day(new Date(nowMs)) ? `${clock}:${two(time.getSeconds())}` : `${day(time)} ${clock}`;
}

/** The server's sentences have RFC 3339, which is for programs. */
export function localTimes(text: string, nowMs: number): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => localTime(at, nowMs));
}

/** From one time to another, or, coarser, to now while it goes on. */
export function elapsed(from: string | null, to: string | null, nowMs: number): string {
  if (from === null) return '-';
  return to === null ? shortDuration(nowMs - Date.parse(from)) : measured(Date.parse(to) - Date.parse(from));
}
