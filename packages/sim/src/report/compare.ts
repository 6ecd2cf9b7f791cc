// Plays one trace under several policies, one after the other, and puts the figures side by side.
import { type Measures, measure } from '../metrics/measures.ts';
import type { Durations } from '../policies/beliefs.ts';
import { assumedMs } from '../policies/beliefs.ts';
import type { PolicyRow } from '../policies/policies.ts';
import { devicesOf, type Fleet } from '../replay/fleet.ts';
import { type Played, replay } from '../replay/replay.ts';
import { type Costs, usualCosts } from '../replay/stage.ts';
import type { ReadReport, Trace } from '../traces/trace.ts';

export interface Wanted {
  readonly row: PolicyRow;
  /** Null for a policy that believes nothing of run times. */
  readonly durations: Durations | null;
}

/** What `muster simulate -o json` prints. */
export interface Comparison {
  readonly trace: TraceSummary;
  readonly fleet: { readonly devices: number; readonly pools: Fleet['pools'] };
  readonly costs: Costs;
  /** What was assumed, in whole sentences. */
  readonly notes: readonly string[];
  readonly policies: readonly Measures[];
}

export interface TraceSummary extends ReadReport {
  readonly format: string;
  /** From the first to the last submit. */
  readonly spanS: number;
  readonly users: number;
  readonly projects: number;
  readonly deviceHours: number;
  /** What all jobs ask for, as a part of the fleet's time between the first and the last submit. */
  readonly load: number;
}

export interface CompareOptions {
  readonly costs?: Costs;
  readonly onProgress?: (policy: Wanted, part: number) => void;
  /** Called with each result as it is there. */
  readonly onPlayed?: (played: Played, measures: Measures) => void;
}

export interface Compared {
  readonly comparison: Comparison;
  readonly played: readonly Played[];
}

export function compare(
  trace: Trace,
  report: ReadReport,
  fleet: Fleet,
  wanted: readonly Wanted[],
  options: CompareOptions = {},
): Compared {
  const costs = options.costs ?? usualCosts;
  const played: Played[] = [];
  const policies: Measures[] = [];
  for (const each of wanted) {
    const onProgress = (part: number): void => options.onProgress?.(each, part);
    const outcome = replay(trace, fleet, each.row.make(each.durations ?? 'asked'), { costs, onProgress });
    const figures = measure(outcome, {
      durations: each.durations,
      pricePerDeviceHour: fleet.pricePerDeviceHour,
    });
    options.onPlayed?.(outcome, figures);
    played.push(outcome);
    policies.push(figures);
  }
  const comparison: Comparison = {
    trace: summaryOf(trace, report, devicesOf(fleet)),
    fleet: { devices: devicesOf(fleet), pools: fleet.pools },
    costs,
    notes: [...report.notes, ...notesOf(trace, fleet, wanted), ...policies.flatMap(coverageNote)],
    policies,
  };
  return { comparison, played };
}

function summaryOf(trace: Trace, report: ReadReport, devices: number): TraceSummary {
  const spanMs = trace.count === 0 ? 0 : trace.submitMs[trace.count - 1]!;
  let deviceMs = 0;
  for (let job = 0; job < trace.count; job++) deviceMs += trace.runMs[job]! * trace.size[job]!;
  return {
    ...report,
    format: trace.format,
    spanS: spanMs / 1000,
    users: trace.names.users.length,
    projects: trace.names.projects.length,
    deviceHours: deviceMs / 3_600_000,
    load: spanMs === 0 ? 0 : deviceMs / (devices * spanMs),
  };
}

/** Whether what was learned can be believed. */
function coverageNote({ policy, coverageP50, coverageP90 }: Measures): string[] {
  if (coverageP50 === null || coverageP90 === null) return [];
  const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;
  return [
    `${policy} learned run times: ${percent(coverageP50)} of the jobs stayed within their P50, ${percent(coverageP90)} within their P90.`,
  ];
}

function notesOf(trace: Trace, fleet: Fleet, wanted: readonly Wanted[]): string[] {
  const notes: string[] = [];
  const onAsked = wanted.some(({ durations }) => durations === 'asked');
  const silent = trace.askedMs.filter((ms) => ms === 0).length;
  if (onAsked && silent > 0)
    notes.push(
      `${silent} jobs do not say how long they may run; beliefs from asked times take ${assumedMs / 3_600_000} h for them.`,
    );
  const parts = trace.milli.filter((milli) => milli < 1000).length;
  if (parts > 0)
    notes.push(
      `${parts} jobs ask for a part of a device; muster shares devices, the textbook policies give each a whole one.`,
    );
  if (
    wanted.some(({ row }) => row.name === 'conservative') &&
    fleet.pools.some(({ devicesPerNode }) => devicesPerNode > 1)
  )
    notes.push(
      'conservative reserves devices by number; its starts also wait until they lie together on nodes.',
    );
  return notes;
}
