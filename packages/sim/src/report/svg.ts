// Pictures as text: scales, axes and lines of the report's charts. No library, no script; colours come from the page's style by class.

export interface Box {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export const usualBox: Box = { width: 760, height: 260, left: 64, right: 16, top: 12, bottom: 34 };

/** For two charts side by side: letters keep their size. */
export const narrowBox: Box = { width: 480, height: 250, left: 46, right: 14, top: 12, bottom: 34 };

/** From a value to a place in the picture. */
export type Scale = (value: number) => number;

export function linear(from: number, to: number, start: number, end: number): Scale {
  const span = to - from || 1;
  return (value) => start + ((value - from) / span) * (end - start);
}

/** Values below the least stand at the beginning: zero has no place on such a scale. */
export function logarithmic(least: number, most: number, start: number, end: number): Scale {
  const [low, high] = [Math.log10(least), Math.log10(Math.max(most, least * 10))];
  return (value) => start + ((Math.log10(Math.max(value, least)) - low) / (high - low)) * (end - start);
}

export interface Tick {
  readonly at: number;
  readonly label: string;
}

export function xAxis(box: Box, ticks: readonly Tick[], title: string): string {
  const bottom = box.height - box.bottom;
  const marks = ticks.map(
    ({ at, label }) =>
      `<line class="grid" x1="${n(at)}" x2="${n(at)}" y1="${box.top}" y2="${bottom}"/>` +
      `<text class="tick" x="${n(at)}" y="${bottom + 14}" text-anchor="middle">${escaped(label)}</text>`,
  );
  const middle = (box.left + box.width - box.right) / 2;
  return `${marks.join('')}<text class="axis" x="${n(middle)}" y="${box.height - 2}" text-anchor="middle">${escaped(title)}</text>`;
}

export function yAxis(box: Box, ticks: readonly Tick[]): string {
  return ticks
    .map(
      ({ at, label }) =>
        `<line class="grid" x1="${box.left}" x2="${box.width - box.right}" y1="${n(at)}" y2="${n(at)}"/>` +
        `<text class="tick" x="${box.left - 6}" y="${n(at + 3.5)}" text-anchor="end">${escaped(label)}</text>`,
    )
    .join('');
}

export type Point = readonly [x: number, y: number];

export function polyline(points: readonly Point[], attributes: string): string {
  return `<polyline ${attributes} points="${points.map(([x, y]) => `${n(x)},${n(y)}`).join(' ')}"/>`;
}

export function area(points: readonly Point[], baseY: number, attributes: string): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return '';
  const corners: Point[] = [[first[0], baseY], ...points, [last[0], baseY]];
  return `<polygon ${attributes} points="${corners.map(([x, y]) => `${n(x)},${n(y)}`).join(' ')}"/>`;
}

/** A picture that says in words what it shows. */
export function svg(box: Box, label: string, content: string): string {
  return `<svg viewBox="0 0 ${box.width} ${box.height}" role="img" aria-label="${escaped(label)}">${content}</svg>`;
}

/** Round values that divide the span into a few parts. */
export function niceTicks(most: number, wished = 4): number[] {
  if (most <= 0) return [0];
  const rough = most / wished;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? power * 10;
  const ticks: number[] = [];
  for (let value = 0; value <= most * 1.0001; value += step) ticks.push(Number(value.toPrecision(12)));
  return ticks;
}

/** Short enough for a page of many charts. */
export function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
