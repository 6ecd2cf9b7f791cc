// What differs between two plans made from the same state, in sentences for a person: who starts, who is stopped, and who is
// told something else.
import { type JobId, type NodeId, type Plan, type StartUnit, verdictText } from '@muster/model';

export interface Names {
  readonly nodes: Map<NodeId, string>;
  readonly jobs: Map<JobId, string>;
}

const sentencesMax = 20;

/** `was` as recorded, `is` as decided now. */
export function planDifferences(was: Plan, is: Plan, names: Names): string[] {
  const sentences = [...starts(was, is, names), ...stops(was, is, names), ...told(was, is)];
  const more = sentences.length - sentencesMax;
  return more > 0 ? [...sentences.slice(0, sentencesMax), `and ${more} more differences`] : sentences;
}

function jobText(job: JobId, { jobs }: Names): string {
  const name = jobs.get(job);
  return name === undefined ? job : `${name} (${job})`;
}

function* starts(was: Plan, is: Plan, names: Names): Iterable<string> {
  const [before, after] = [startsOf(was), startsOf(is)];
  const on = ({ tasks }: StartUnit): string =>
    [...new Set(tasks.map(({ node }) => names.nodes.get(node) ?? node))].join(', ');
  for (const [job, unit] of before) {
    const now = after.get(job);
    if (!now) yield `${jobText(job, names)} started on ${on(unit)}, and would not start`;
    else if (on(now) !== on(unit))
      yield `${jobText(job, names)} started on ${on(unit)}, and would start on ${on(now)}`;
    else if (JSON.stringify(now.tasks) !== JSON.stringify(unit.tasks))
      yield `${jobText(job, names)} started on ${on(unit)}, and would have other devices there`;
  }
  for (const [job, unit] of after)
    if (!before.has(job)) yield `${jobText(job, names)} did not start, and would start on ${on(unit)}`;
}

function startsOf({ units }: Plan): Map<JobId, StartUnit> {
  return new Map(units.flatMap((unit) => (unit.kind === 'start' ? [[unit.job, unit] as const] : [])));
}

function* stops(was: Plan, is: Plan, names: Names): Iterable<string> {
  const [before, after] = [victimsOf(was), victimsOf(is)];
  const pair = ([victim, by]: readonly [JobId, JobId]): string =>
    `${jobText(victim, names)} for ${jobText(by, names)}`;
  for (const [key, victim] of before) if (!after.has(key)) yield `it stopped ${pair(victim)}, and would not`;
  for (const [key, victim] of after) if (!before.has(key)) yield `it did not stop ${pair(victim)}, and would`;
}

function victimsOf({ units }: Plan): Map<string, readonly [JobId, JobId]> {
  const victims = new Map<string, readonly [JobId, JobId]>();
  for (const unit of units)
    if (unit.kind === 'preempt')
      for (const { job, run } of unit.claim.victims) victims.set(`${run} ${unit.job}`, [job, unit.job]);
  return victims;
}

function* told(was: Plan, is: Plan): Iterable<string> {
  const [before, after] = [verdictsOf(was), verdictsOf(is)];
  for (const [entry, text] of after) {
    const other = before.get(entry);
    if (other === text) continue;
    const [project, tier] = entry.split('|');
    const said = other === undefined ? 'nothing new' : `"${other}"`;
    yield `jobs of ${project}, tier ${tier}, were told ${said}, and would be told "${text}"`;
  }
  for (const [entry, text] of before) {
    if (after.has(entry)) continue;
    const [project, tier] = entry.split('|');
    yield `jobs of ${project}, tier ${tier}, were told "${text}", and would be told nothing new`;
  }
}

function verdictsOf({ verdicts }: Plan): Map<string, string> {
  return new Map(verdicts.map(({ entry, verdict }) => [entry, verdictText(verdict)]));
}
