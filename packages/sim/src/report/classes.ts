// Classes of jobs that people recognise: by size, by run time, by project.
import type { Played } from '../replay/replay.ts';
import type { Trace } from '../traces/trace.ts';
import type { ClassRow } from './distribution-charts.ts';
import { duration } from './words.ts';

interface Class {
  readonly name: string;
  readonly has: (trace: Trace, job: number) => boolean;
}

const infinity = Number.POSITIVE_INFINITY;
const runBounds = [60, 600, 3600, 8 * 3600, infinity];
const sizeBounds = [1, 4, 8, 32, 128, infinity];
const projectsShown = 8;

export function sizeClasses(played: readonly Played[]): ClassRow[] {
  const size = (trace: Trace, job: number): number => trace.size[job]!;
  return rowsOf(played, bounded(sizeBounds, size, sizeName));
}

function sizeName(above: number, upTo: number): string {
  if (upTo === 1) return '1 device';
  return upTo === infinity ? `more than ${above} devices` : `${above + 1} to ${upTo} devices`;
}

export function runTimeClasses(played: readonly Played[]): ClassRow[] {
  const runS = (trace: Trace, job: number): number => trace.runMs[job]! / 1000;
  return rowsOf(played, bounded(runBounds, runS, runTimeName));
}

function runTimeName(above: number, upTo: number): string {
  return upTo === infinity ? `runs over ${duration(above)}` : `runs up to ${duration(upTo)}`;
}

/** The projects with most jobs. */
export function projectClasses(played: readonly Played[]): ClassRow[] {
  const { trace } = played[0]!;
  const counts = new Float64Array(trace.names.projects.length);
  for (const project of trace.project) counts[project]!++;
  const most = [...counts.keys()].sort((a, b) => counts[b]! - counts[a]! || a - b).slice(0, projectsShown);
  return rowsOf(
    played,
    most.map((project) => ({
      name: trace.names.projects[project]!,
      has: (all, job) => all.project[job] === project,
    })),
  );
}

function bounded(
  bounds: readonly number[],
  value: (trace: Trace, job: number) => number,
  name: (above: number, upTo: number) => string,
): Class[] {
  return bounds.map((upTo, i): Class => {
    const above = i === 0 ? 0 : bounds[i - 1]!;
    return {
      name: name(above, upTo),
      has: (trace, job) => value(trace, job) > above && value(trace, job) <= upTo,
    };
  });
}

/** Classes that nobody is in are left out. */
function rowsOf(played: readonly Played[], classes: readonly Class[]): ClassRow[] {
  return classes
    .map(({ name, has }): ClassRow => {
      const waits = played.map((each) => meanWait(each, has));
      return { name, jobs: waits[0]?.jobs ?? 0, waits: waits.map(({ s }) => s) };
    })
    .filter(({ jobs }) => jobs > 0);
}

function meanWait(
  { trace, endMs }: Played,
  has: Class['has'],
): { readonly jobs: number; readonly s: number } {
  let [jobs, totalMs] = [0, 0];
  for (let job = 0; job < trace.count; job++) {
    if (endMs[job]! < 0 || !has(trace, job)) continue;
    jobs++;
    totalMs += endMs[job]! - trace.submitMs[job]! - trace.runMs[job]!;
  }
  return { jobs, s: jobs === 0 ? 0 : totalMs / jobs / 1000 };
}
