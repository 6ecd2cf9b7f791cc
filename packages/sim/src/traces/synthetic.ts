// Makes a trace from a seed, with shapes fitted to published ones, so that everything can be tried without any.
//
// Fitted to Philly (82,247 jobs): arrivals by day of the week, run times log-normal around 890 s with a deviation of 2.16 in the logarithm. By hour of
// day: low at night, high in the afternoon, as all published GPU traces have it. Sizes are powers of two with a longer tail than Philly's (which is
// filtered). Users are as uneven as those of KTH-SP2 (Zipf). What makes run times learnable is made too: a user has a
// few programs, and most of the deviation lies between programs, not inside one. Asked times are round, and mostly far too long.
import type { Random } from '../random.ts';
import { seeded } from '../random.ts';
import type { TraceRow } from './trace-builder.ts';

export interface SyntheticOptions {
  readonly seed: number;
  readonly jobs: number;
  /** Devices of the machine that it is made for. */
  readonly devices: number;
  /** Part of the machine's time that all jobs together ask for. */
  readonly load: number;
  /** No run is longer. */
  readonly longestMs?: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const byHour = [5, 4, 3, 3, 3, 3, 4, 5, 7, 9, 11, 11, 10, 11, 12, 12, 12, 11, 9, 8, 8, 7, 7, 6];
/** From Monday on. */
const byDay = [86, 107, 114, 129, 144, 61, 59];
const sizes: readonly (readonly [size: number, weight: number])[] = [
  [1, 700],
  [2, 90],
  [4, 90],
  [8, 85],
  [16, 22],
  [32, 9],
  [64, 4],
];
const typicalMs = 890_000;
/** Together 2.16: the roots of two thirds and one third of its square. */
const betweenPrograms = 1.76;
const insideProgram = 1.25;
const users = 60;
const projects = 8;
const askedHours = [1, 2, 4, 8, 12, 24, 48, 96, 168, 336];

interface Program {
  readonly name: string;
  readonly typicalMs: number;
  readonly size: number;
}

export function synthetic(options: SyntheticOptions): TraceRow[] {
  const { seed, jobs, devices, load, longestMs = 14 * dayMs } = options;
  const random = seeded(seed);
  const programs = Array.from({ length: users }, (_, user) =>
    programsOf(random.split(`user ${user}`), devices),
  );
  const who = zipf(users, 0.9);
  const drawn = Array.from({ length: jobs }, () => {
    const user = pick(random, who);
    const own = programs[user]!;
    const program = own[pick(random, zipf(own.length, 1.1))]!;
    const runMs = seconds(Math.min(longestMs, program.typicalMs * Math.exp(insideProgram * normal(random))));
    const asked = askedMs(random, runMs);
    return { user: `user-${user}`, project: `project-${user % projects}`, program, runMs, askedMs: asked };
  });
  const workMs = drawn.reduce((sum, { runMs, program }) => sum + runMs * program.size, 0);
  const times = arrivals(random, jobs, workMs / (devices * load));
  return drawn.map(({ program, ...rest }, i) => ({
    ...rest,
    submitMs: times[i]!,
    size: program.size,
    milli: 1000,
    program: program.name,
  }));
}

function programsOf(random: Random, devices: number): readonly Program[] {
  const fitting = sizes.filter(([size]) => size <= devices);
  return Array.from({ length: 1 + random.below(5) }, (_, i) => ({
    name: `program-${i}`,
    typicalMs: typicalMs * Math.exp(betweenPrograms * normal(random)),
    size: fitting[
      pick(
        random,
        fitting.map(([, weight]) => weight),
      )
    ]![0],
  }));
}

/** Ascending, over about so long, by the weights of hour and day. */
function arrivals(random: Random, count: number, spanMs: number): number[] {
  const hours = Math.max(1, Math.ceil(spanMs / hourMs));
  const weights = Array.from(
    { length: hours },
    (_, hour) => byHour[hour % 24]! * byDay[Math.floor(hour / 24) % 7]!,
  );
  const sums = cumulative(weights);
  return Array.from({ length: count }, () => seconds((pickFrom(random, sums) + random.unit()) * hourMs)).sort(
    (a, b) => a - b,
  );
}

/** A round number of hours, at least what it will need; mostly several times that, because nobody wants to be cut off. */
function askedMs(random: Random, runMs: number): number {
  const wished = runMs * Math.exp(Math.abs(1.5 * normal(random)));
  const hours = askedHours.find((hour) => hour * hourMs >= wished) ?? askedHours.at(-1)!;
  return hours * hourMs;
}

function seconds(ms: number): number {
  return Math.max(1, Math.round(ms / 1000)) * 1000;
}

/** Box and Muller; one of the two it gives. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.unit())) * Math.cos(2 * Math.PI * random.unit());
}

function zipf(count: number, exponent: number): number[] {
  return Array.from({ length: count }, (_, i) => 1 / (i + 1) ** exponent);
}

function pick(random: Random, weights: readonly number[]): number {
  return pickFrom(random, cumulative(weights));
}

function cumulative(weights: readonly number[]): number[] {
  let sum = 0;
  return weights.map((weight) => {
    sum += weight;
    return sum;
  });
}

function pickFrom(random: Random, sums: readonly number[]): number {
  const at = random.unit() * sums.at(-1)!;
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
