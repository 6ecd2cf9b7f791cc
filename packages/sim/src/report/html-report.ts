// The report: one HTML file that says what the policies would do, with every chart inside it. No script, nothing loaded from anywhere, so that it can be mailed
// and kept.
import { boundedSlowdown, doneJobs, type Measures } from '../metrics/measures.ts';
import { sorted } from '../metrics/order-statistics.ts';
import { timeline } from '../metrics/timeline.ts';
import type { Played } from '../replay/replay.ts';
import { projectClasses, runTimeClasses, sizeClasses } from './classes.ts';
import type { Compared, Comparison } from './compare.ts';
import {
  type ClassRow,
  cdfChart,
  classChart,
  type Distribution,
  slowdownAxis,
  waitAxis,
} from './distribution-charts.ts';
import { figuresTable } from './figures-table.ts';
import { colourCount, pageStyle } from './page-style.ts';
import { type Box, escaped, narrowBox, usualBox } from './svg.ts';
import { deviceStrip, queueChart, type Series } from './timeline-charts.ts';
import { count, duration, factor, percent, policyLabel } from './words.ts';

const pieces = 240;
const boundMs = 10_000;

export function htmlReport({ comparison, played }: Compared): string {
  const { policies } = comparison;
  const labels = labelsOf(policies);
  const colours = coloursOf(policies);
  const untilMs = Math.max(1, ...played.map(lastEndMs));
  const series = played.map(
    (each, i): Series => ({
      label: labels[i]!,
      colour: colours[i]!,
      timeline: timeline(each, untilMs, pieces),
    }),
  );
  const distribution = (i: number, values: Float64Array): Distribution => ({
    label: labels[i]!,
    colour: colours[i]!,
    values: sorted(values),
  });
  const waits = played.map((each, i) => distribution(i, waitsOf(each)));
  const slowdowns = played.map((each, i) => distribution(i, slowdownsOf(each)));
  const legend = `<div class="legend">${labels.map((label, i) => `<span><span class="dot c${colours[i]}"></span>${escaped(label)}</span>`).join('')}</div>`;
  const classes = (rows: readonly ClassRow[], box: Box): string => classChart(rows, labels, colours, box);
  return page(
    `${comparison.trace.file}: ${labels.join(', ')}`,
    [
      head(comparison, labels),
      card(figuresTable(policies, labels, colours)),
      section(
        'How long jobs wait',
        'The part of jobs that wait at most so long, and how much longer than alone they take. Further up and left is better.',
      ),
      `<div class="pair">${card(legend + cdfChart(waits, waitAxis))}${card(legend + cdfChart(slowdowns, slowdownAxis))}</div>`,
      section('Who waits', 'Average wait by class of job; the number beside a name is how many jobs it has.'),
      card(legend + classes(sizeClasses(played), usualBox)),
      `<div class="pair">${card(classes(runTimeClasses(played), narrowBox))}${card(classes(projectClasses(played), narrowBox))}</div>`,
      section(
        'The queue',
        'Jobs that wait, over time. The axis is stretched at its foot, so that short queues stay visible.',
      ),
      card(legend + queueChart(series)),
      section('The devices', `Devices held by runs, of ${count(comparison.fleet.devices)}.`),
      card(series.map((each) => deviceStrip(each, comparison.fleet.devices)).join('')),
      foot(comparison),
    ].join('\n'),
  );
}

/** Muster's own policy has the first colour, whoever stands beside it. */
function coloursOf(policies: readonly Measures[]): number[] {
  const isOwn = ({ policy }: Measures): boolean => policy.startsWith('muster');
  const order = [...policies.filter(isOwn), ...policies.filter((each) => !isOwn(each))];
  return policies.map((each) => order.indexOf(each) % colourCount);
}

/** The durations are named where one policy stands there twice. */
function labelsOf(policies: readonly Measures[]): string[] {
  return policies.map(({ policy, durations }) =>
    policyLabel(policy, durations, policies.filter((other) => other.policy === policy).length === 1),
  );
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>${pageStyle}</style>
</head>
<body><main>
${content}
</main></body>
</html>
`;
}

function head({ trace, fleet, policies }: Comparison, labels: readonly string[]): string {
  const fact = (value: string, what: string): string => `<li><b>${escaped(value)}</b>${escaped(what)}</li>`;
  const nodes = fleet.pools.reduce((sum, pool) => sum + pool.nodes, 0);
  return `<p class="soft">Muster simulation</p>
<h1>${escaped(labels.length === 1 ? `${trace.file} under ${labels[0]}` : `${trace.file} under ${labels.length} policies`)}</h1>
<ul class="facts">${[
    fact(count(trace.jobs), 'jobs'),
    fact(count(trace.users), trace.users === 1 ? 'user' : 'users'),
    fact(count(trace.projects), trace.projects === 1 ? 'project' : 'projects'),
    fact(duration(trace.spanS), 'from first to last submit'),
    fact(
      count(fleet.devices),
      nodes === fleet.devices ? 'devices, counted' : `devices on ${count(nodes)} nodes`,
    ),
    fact(percent(trace.load), 'of the fleet asked for'),
  ].join('')}</ul>
<p class="lead">${headline(policies, labels)}</p>`;
}

/** What a person would say first: who waits least, and what that costs those who wait longest. */
function headline(policies: readonly Measures[], labels: readonly string[]): string {
  const order = [...policies.keys()].sort((a, b) => policies[a]!.avgWaitS - policies[b]!.avgWaitS);
  const [best, worst] = [order[0]!, order.at(-1)!];
  const [least, most] = [policies[best]!, policies[worst]!];
  const name = (i: number): string => `<b>${escaped(labels[i]!)}</b>`;
  if (best === worst)
    return `Under ${name(best)} jobs wait ${duration(least.avgWaitS)} on average and take ${factor(least.boundedSlowdown)} times as long as alone.`;
  const less = most.avgWaitS === 0 ? '' : ` (${percent(1 - least.avgWaitS / most.avgWaitS)} less)`;
  const tail =
    least.maxWaitS > most.maxWaitS
      ? `Its longest wait is ${duration(least.maxWaitS)}, longer than the ${duration(most.maxWaitS)} there`
      : `Its longest wait is ${duration(least.maxWaitS)}, not longer than the ${duration(most.maxWaitS)} there`;
  const stops =
    least.preemptions === 0
      ? '.'
      : `; it stops runs ${least.preemptions === 1 ? 'once' : `${count(least.preemptions)} times`}, and ${percent(least.goodput)} of what they held was work kept.`;
  return `Jobs wait least under ${name(best)}: ${duration(least.avgWaitS)} on average, beside ${duration(most.avgWaitS)} under ${name(worst)}${less}. ${tail}${stops}`;
}

function section(title: string, about: string): string {
  return `<h2>${escaped(title)}</h2><p class="soft">${escaped(about)}</p>`;
}

function card(content: string): string {
  return `<div class="card">${content}</div>`;
}

function foot({ trace, costs, notes }: Comparison): string {
  const lines = [
    `${trace.file} (${trace.format}): ${count(trace.rows)} rows, ${count(trace.jobs)} jobs.`,
    ...trace.excluded.map(({ reason, count: rows }) => `${count(rows)} rows excluded because ${reason}.`),
    ...trace.bad.map(({ line, why }) => `Line ${line} left out: ${why}.`),
    ...(trace.badCount > trace.bad.length ? [`${count(trace.badCount)} bad rows in all.`] : []),
    ...notes,
    `A stopped run saves its work every ${duration(costs.checkpointMs / 1000)}; what it did since is done again, and a restart takes ${duration(costs.restartMs / 1000)}.`,
    "A wait is all of a job's time beyond its run time: restarts and work done again count.",
  ];
  return `<h2>What this rests on</h2><ul class="notes">${lines.map((line) => `<li>${escaped(line)}</li>`).join('')}</ul>`;
}

function lastEndMs({ endMs }: Played): number {
  return endMs.reduce((last, ms) => Math.max(last, ms), 0);
}

function waitsOf(played: Played): Float64Array {
  const { trace, endMs } = played;
  return Float64Array.from(
    doneJobs(played),
    (job) => (endMs[job]! - trace.submitMs[job]! - trace.runMs[job]!) / 1000,
  );
}

function slowdownsOf(played: Played): Float64Array {
  return Float64Array.from(doneJobs(played), (job) => boundedSlowdown(played, job, boundMs));
}
