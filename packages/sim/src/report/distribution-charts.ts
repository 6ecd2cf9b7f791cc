// How waits and slowdowns are distributed, and what they are for jobs of one class.
import {
  type Box,
  escaped,
  linear,
  logarithmic,
  narrowBox,
  type Point,
  polyline,
  svg,
  type Tick,
  usualBox,
  xAxis,
  yAxis,
} from './svg.ts';
import { count, duration, knownTimes } from './words.ts';

export interface Distribution {
  readonly label: string;
  readonly colour: number;
  /** Ascending. */
  readonly values: Float64Array;
}

export interface CdfAxis {
  readonly least: number;
  readonly title: string;
  readonly ticks: (most: number) => readonly (readonly [value: number, label: string])[];
}

export const waitAxis: CdfAxis = {
  least: 1,
  title: 'wait',
  ticks: (most) => spaced(knownTimes.filter(([s]) => s <= most * 1.5)),
};

export const slowdownAxis: CdfAxis = {
  least: 1,
  title: 'bounded slowdown',
  ticks: (most) =>
    [1, 10, 100, 1000, 10_000, 100_000]
      .filter((value) => value <= most * 1.5)
      .map((value) => [value, `${value}x`]),
};

const quantiles = 200;

/** The part of jobs at or below each value. */
export function cdfChart(distributions: readonly Distribution[], axis: CdfAxis): string {
  const box = narrowBox;
  const most = Math.max(axis.least * 10, ...distributions.map(({ values }) => values.at(-1) ?? 0));
  const x = logarithmic(axis.least, most, box.left, box.width - box.right);
  const y = linear(0, 1, box.height - box.bottom, box.top);
  const lines = distributions.map(({ label, colour, values }) =>
    polyline(cdfPoints(values, x, y), `class="line c${colour}"`).replace(
      '/>',
      `><title>${escaped(label)}</title></polyline>`,
    ),
  );
  const content =
    yAxis(
      box,
      [0, 0.25, 0.5, 0.75, 1].map((part): Tick => ({ at: y(part), label: `${part * 100} %` })),
    ) +
    xAxis(
      box,
      axis.ticks(most).map(([value, label]): Tick => ({ at: x(value), label })),
      axis.title,
    ) +
    lines.join('');
  return svg(box, `part of jobs with at most that ${axis.title}, by policy`, content);
}

function cdfPoints(values: Float64Array, x: (value: number) => number, y: (part: number) => number): Point[] {
  const points: Point[] = [];
  for (let i = 0; i <= quantiles; i++) {
    const at = Math.min(values.length - 1, Math.floor((i / quantiles) * values.length));
    points.push([x(values[at]!), y((at + 1) / values.length)]);
  }
  return points;
}

export interface ClassRow {
  readonly name: string;
  readonly jobs: number;
  /** Mean wait in seconds of each policy, in the page's order. */
  readonly waits: readonly number[];
}

/** A dot a policy and class on a logarithmic axis, with the policies' names on hover. */
export function classChart(
  rows: readonly ClassRow[],
  labels: readonly string[],
  colours: readonly number[],
  width: Box = usualBox,
): string {
  const rowHeight = 28;
  const box = { ...width, left: 170, height: rows.length * rowHeight + 50, top: 8 };
  const most = Math.max(60, ...rows.flatMap(({ waits }) => waits));
  const x = logarithmic(1, most, box.left, box.width - box.right);
  const lines = rows.map(({ name, jobs, waits }, i) => {
    const y = box.top + (i + 0.5) * rowHeight;
    const dots = waits.map(
      (wait, at) =>
        `<circle class="mark c${colours[at]}" cx="${x(wait).toFixed(1)}" cy="${y}" r="5"><title>${escaped(`${labels[at]}: ${duration(wait)} on average`)}</title></circle>`,
    );
    const ends = [Math.min(...waits), Math.max(...waits)].map((wait) => x(wait).toFixed(1));
    return (
      `<line class="range" x1="${ends[0]}" x2="${ends[1]}" y1="${y}" y2="${y}"/>${dots.join('')}` +
      `<text class="name" x="${box.left - 10}" y="${y + 4}" text-anchor="end">${escaped(name)} <tspan class="soft">· ${count(jobs)}</tspan></text>`
    );
  });
  const ticks = spaced(knownTimes.filter(([s]) => s <= most * 1.2)).map(
    ([s, label]): Tick => ({ at: x(s), label }),
  );
  return svg(
    box,
    'average wait by class of jobs and policy',
    xAxis(box, ticks, 'average wait') + lines.join(''),
  );
}

/** Every label where there are few, every other one where there are many. */
function spaced<T>(ticks: readonly T[]): readonly T[] {
  return ticks.length <= 7 ? ticks : ticks.filter((_, i) => i % 2 === (ticks.length - 1) % 2);
}
