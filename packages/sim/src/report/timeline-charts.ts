// The device timeline, one small picture a policy on one scale, and the queue, all policies in one picture.
import type { Timeline } from '../metrics/timeline.ts';
import {
  area,
  type Box,
  escaped,
  linear,
  niceTicks,
  type Point,
  polyline,
  svg,
  type Tick,
  usualBox,
  xAxis,
  yAxis,
} from './svg.ts';
import { count } from './words.ts';

export interface Series {
  readonly label: string;
  /** Which of the page's colours. */
  readonly colour: number;
  readonly timeline: Timeline;
}

const dayMs = 86_400_000;
const stripBox: Box = { ...usualBox, height: 118, top: 8, bottom: 30 };

/** What the devices did: held by runs, under the line of all there are. */
export function deviceStrip({ label, colour, timeline }: Series, devices: number): string {
  const box = stripBox;
  const x = timeScale(timeline, box);
  const y = linear(0, devices, box.height - box.bottom, box.top);
  const points = pointsOf(timeline, timeline.used, x, y);
  const ticks = [0, devices / 2, devices].map((value): Tick => ({ at: y(value), label: count(value) }));
  const content =
    yAxis(box, ticks) +
    xAxis(box, timeTicks(timeline, x), '') +
    area(points, box.height - box.bottom, `class="fill c${colour}"`) +
    polyline(points, `class="line c${colour}"`);
  return `<figure><figcaption><span class="dot c${colour}"></span>${escaped(label)}</figcaption>${svg(box, `devices in use over time under ${label}`, content)}</figure>`;
}

export function queueChart(series: readonly Series[]): string {
  const box = usualBox;
  const most = Math.max(
    1,
    ...series.map(({ timeline }) => timeline.waitingJobs.reduce((a, b) => Math.max(a, b), 0)),
  );
  // Queues differ by orders of magnitude between policies: the root keeps short ones visible and long ones honest.
  const y = (value: number): number =>
    linear(0, Math.sqrt(most), box.height - box.bottom, box.top)(Math.sqrt(value));
  const first = series[0]!.timeline;
  const x = timeScale(first, box);
  const ticks = niceTicks(most, 5).map((value): Tick => ({ at: y(value), label: count(value) }));
  const lines = series.map(({ label, colour, timeline }) =>
    polyline(pointsOf(timeline, timeline.waitingJobs, x, y), `class="line c${colour}"`).replace(
      '/>',
      `><title>${escaped(label)}</title></polyline>`,
    ),
  );
  const content =
    yAxis(box, ticks) + xAxis(box, timeTicks(first, x), 'days since the first submit') + lines.join('');
  return svg(box, 'jobs that wait over time, by policy', content);
}

function timeScale({ pieceMs, used }: Timeline, box: Box): (ms: number) => number {
  return linear(0, pieceMs * used.length, box.left, box.width - box.right);
}

function pointsOf(
  { pieceMs }: Timeline,
  values: Float64Array,
  x: (ms: number) => number,
  y: (value: number) => number,
): Point[] {
  return [...values].map((value, i): Point => [x((i + 0.5) * pieceMs), y(value)]);
}

function timeTicks({ pieceMs, used }: Timeline, x: (ms: number) => number): Tick[] {
  const days = (pieceMs * used.length) / dayMs;
  return niceTicks(days, 7).map((day): Tick => ({ at: x(day * dayMs), label: `${day} d` }));
}
