// What `muster simulate --live` tells a person: who gains and who loses by a change, the greatest loss first.
import { type Cli, type Column, shortDuration } from '@muster/cli';
import type { Gain, Gains } from '@muster/sim';

export interface ToldGains extends Gains {
  readonly since: string | null;
  readonly events: number;
  readonly jobs: number;
  readonly excluded: Readonly<Record<string, number>>;
  readonly nodes: { readonly before: number; readonly after: number; readonly leftOut: number };
}

export function printGains(cli: Cli, told: ToldGains): void {
  const { jobs, since, nodes, excluded, all, projects, users, most, firstStart } = told;
  if (jobs === 0) {
    cli.line('No job has run in that time; a longer --last may find some.');
    leftOut(cli, excluded);
    return;
  }
  const fleet =
    nodes.before === nodes.after ? count(nodes.before, 'node') : `${nodes.before} → ${nodes.after} nodes`;
  cli.line(`${cli.paint('bold', count(jobs, 'job'))} since ${since ?? 'the log begins'}, ${fleet}`);
  cli.line(
    cli.paint(
      'dim',
      `They really waited ${duration(firstStart.realS)} on average for their first start; played as things are, ${duration(firstStart.playedS)}.`,
    ),
  );
  cli.table<Gain>(columns('PROJECT'), [...projects, ...(projects.length > 1 ? [all] : [])]);
  if (users.length > 1) cli.table<Gain>(columns('USER'), users);
  if (most.length > 0) cli.line(cli.paint('bold', 'The waits that change most'));
  for (const { job, beforeWaitS, afterWaitS } of most)
    cli.line(`  ${job}  ${duration(beforeWaitS)} → ${duration(afterWaitS)}`);
  leftOut(cli, excluded);
  if (nodes.leftOut > 0)
    cli.line(
      cli.paint('dim', `Lost or removed, and without a part in this: ${count(nodes.leftOut, 'node')}.`),
    );
}

function leftOut(cli: Cli, excluded: Readonly<Record<string, number>>): void {
  for (const [reason, jobs] of Object.entries(excluded))
    cli.line(cli.paint('dim', `${count(jobs, 'job')} left out: ${reason}`));
}

function columns(who: string): readonly Column<Gain>[] {
  const figure = (title: string, importance: number, cell: (gain: Gain) => string): Column<Gain> => ({
    title,
    cell,
    importance,
    align: 'right',
  });
  return [
    { title: who, cell: ({ name }) => name, importance: 100, fixed: true },
    figure('JOBS', 70, ({ jobs }) => String(jobs)),
    figure('WAIT NOW', 95, ({ beforeWaitS }) => duration(beforeWaitS)),
    figure('THEN', 94, ({ afterWaitS }) => duration(afterWaitS)),
    figure('SOONER', 80, ({ sooner }) => String(sooner)),
    figure('LATER', 81, ({ later }) => String(later)),
    figure('PREEMPTED', 60, (gain) => `${gain.preemptionsBefore} → ${gain.preemptionsAfter}`),
    figure('NEVER START', 90, ({ lost, won }) => (won > 0 ? `${lost} (${won} now do)` : String(lost))),
  ];
}

function duration(s: number): string {
  return shortDuration(s * 1000);
}

function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? '' : 's'}`;
}
