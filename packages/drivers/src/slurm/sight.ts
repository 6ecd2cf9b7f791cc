// One look at a whole cluster: its nodes, what others hold of them, and what became of our runs. The files of a run are read
// before Slurm is asked, and again when its job is over: a job listed as over has written all it will.
import type { RunId } from '@muster/model';
import type { ListedReport } from '../listing-driver.ts';
import { type Accounting, noAccounting } from './accounting.ts';
import type { Commands } from './commands.ts';
import { haltOf, isAsleep } from './halts.ts';
import type { KeyedJobs } from './keyed-jobs.ts';
import type { SlurmJob, SlurmNode } from './listing.ts';
import { isLostStart, type LostStart, overLostStarts } from './lost-starts.ts';
import { reportsOf } from './reports.ts';
import type { Evidence, RunDirectories } from './run-directory.ts';
import type { SilentNodes } from './silent-nodes.ts';
import { deviceGres } from './submission.ts';
import { parseTopology, type Switches } from './topology.ts';
import type { Waits } from './waits.ts';

export interface Sight {
  readonly nodes: readonly SlurmNode[];
  readonly switches: Switches;
  /** When the controller was started, in its own words: another text is another life of it. */
  readonly boot: string;
  /** Every node has registered since, or is known to be down: what is not listed does not run. */
  readonly settled: boolean;
  readonly reports: readonly ListedReport[];
  /** What jobs that are not ours hold, by node. */
  readonly taken: ReadonlyMap<string, Taken>;
  /** Devices by node, as plans count them, of runs of ours of which not everything is told. */
  readonly planned: ReadonlyMap<string, ReadonlySet<number>>;
  readonly hasAccounting: boolean;
  /** Runs that Slurm keeps waiting for longer than it should, and why. */
  readonly overdue: ReadonlyMap<RunId, string>;
  /** Jobs that wait by the controller's word, began before it lost that, and run no more. */
  readonly lostStarts: readonly LostStart[];
  /** Runs that are to stop, of which a job has not heard that. */
  readonly unheard: readonly RunId[];
}

export interface Taken {
  readonly cpus: number;
  readonly memoryMib: number;
  /** Devices by Slurm's type of them. */
  readonly devices: ReadonlyMap<string, number>;
}

export async function sightOf(
  commands: Commands,
  directories: RunDirectories,
  listJobs: () => Promise<KeyedJobs>,
  listNodes: () => Promise<SlurmNode[]>,
  silentNodes: SilentNodes,
  accounting: Accounting,
  waits: Waits,
): Promise<Sight> {
  const runs = await directories.open();
  const early = new Map(
    await Promise.all(runs.map(async (run) => [run, await directories.evidence(run)] as const)),
  );
  const [jobs, nodes, switches, controller] = await Promise.all([
    listJobs(),
    listNodes(),
    commands('scontrol', ['show', 'topology']).then(parseTopology),
    commands('scontrol', ['show', 'config']).then(parseController),
  ]);
  const settled = controller.upMs >= controller.slurmdTimeoutMs;
  const circumstances = {
    settled,
    controller,
    accounting: controller.hasAccounting ? accounting : noAccounting,
    silent: silentNodes.names(),
  };
  const late = await Promise.all(
    [...early].map(async ([run, seen]) => {
      const isOver = jobsOf(run, seen, jobs).some(({ phase }) => phase === 'over');
      return [run, isOver ? await directories.evidence(run) : seen] as const;
    }),
  );
  const reports: ListedReport[] = [];
  const unheard: RunId[] = [];
  const ours = new Set<SlurmJob>();
  /** Those of which the run waits to begin. */
  const mayBegin = new Set<SlurmJob>();
  const lost: LostStart[] = [];
  for (const [run, evidence] of late) {
    const own = jobsOf(run, evidence, jobs);
    for (const job of own) ours.add(job);
    for (const job of own) if (isAwaited(job, evidence)) mayBegin.add(job);
    if (!evidence) continue;
    lost.push(...own.filter((job) => isLostStart(job, evidence)).map((job) => ({ run, job, evidence })));
    const halt = firstOf(own, (job) => haltOf(job, controller.nowS));
    const told = reportsOf(run, evidence, jobs, circumstances);
    reports.push(...(halt ? told.map((report) => (report.exit ? report : { ...report, halt })) : told));
    if (evidence.stop && own.some((job) => cannotHear(job, evidence))) unheard.push(run);
  }
  // Of a run whose end is committed Slurm may still be giving things back; that is nobody else's use.
  for (const job of jobs.all)
    if (job.phase === 'holds' && !ours.has(job) && jobs.isKeyed(job))
      if (await directories.isOver(job.name as RunId)) ours.add(job);
  const planned = new Map<string, Set<number>>();
  for (const [, evidence] of late)
    for (const { node, devices } of evidence?.tasks ?? [])
      if (devices.length > 0) planned.set(node, new Set([...(planned.get(node) ?? []), ...devices]));
  const { boot, hasAccounting } = controller;
  const overdue = waits.overdue(mayBegin, controller.nowS);
  const lostStarts = overLostStarts(lost, circumstances);
  const taken = takenBy(jobs.all, ours);
  const about = { nodes, switches, boot, settled, reports, taken, planned };
  return { ...about, hasAccounting, overdue, unheard, lostStarts };
}

/** Those of the key, and the one that claimed it. */
export function jobsOf(run: RunId, evidence: Evidence | null, jobs: KeyedJobs): SlurmJob[] {
  const id = evidence?.claim?.job ?? null;
  const claimant = id === null ? undefined : jobs.claimant(run, id);
  const own = jobs.of(run);
  return claimant && !own.includes(claimant) ? [...own, claimant] : own;
}

/** Not one that finds its key claimed by another when it begins, or that began and is taken for waiting (lost-starts.ts). */
function isAwaited({ id, restarts }: SlurmJob, evidence: Evidence | null): boolean {
  const claimant = evidence?.claim?.job ?? null;
  return claimant === null || (id === claimant && restarts > 0);
}

/** Suspended, it hears nothing; and in the second after it was resumed Slurm takes signals and drops them (measured). */
function cannotHear(job: SlurmJob, { claim, heard }: Evidence): boolean {
  return isAsleep(job) || (job.state === 'RUNNING' && !heard && job.id === claim?.job);
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | null): R | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}

/** Of jobs that are not ours. A job with one of our keys for a name, but not of ours, is counted too. */
export function takenBy(jobs: readonly SlurmJob[], ours: ReadonlySet<SlurmJob>): Map<string, Taken> {
  const taken = new Map<string, Taken>();
  for (const job of jobs) {
    if (ours.has(job) || job.phase !== 'holds') continue;
    for (const { node, cpus, memoryMib, gres } of job.uses) {
      const before = taken.get(node) ?? { cpus: 0, memoryMib: 0, devices: new Map<string, number>() };
      const devices = new Map(before.devices);
      for (const { type, count } of deviceGres(gres)) devices.set(type, (devices.get(type) ?? 0) + count);
      taken.set(node, { cpus: before.cpus + cpus, memoryMib: before.memoryMib + memoryMib, devices });
    }
  }
  return taken;
}

export interface Controller {
  readonly boot: string;
  /** When it was started, by that clock. */
  readonly bootS: number;
  /** Its clock, in seconds since 1970, as the submit times of jobs are. */
  readonly nowS: number;
  readonly upMs: number;
  /** A node that does not answer for so long is called down. */
  readonly slurmdTimeoutMs: number;
  /** Jobs that it forgot are known to slurmdbd. */
  readonly hasAccounting: boolean;
}

/** Both times are of the controller's answer, so no two clocks are compared. */
export function parseController(text: string): Controller {
  const field = (pattern: RegExp, name: string): string => {
    const found = pattern.exec(text)?.[1];
    if (found === undefined) throw new Error(`scontrol show config names no ${name}`);
    return found;
  };
  const time = String.raw`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)$`;
  const now = field(new RegExp(`^Configuration data as of ${time}`, 'm'), 'time');
  const boot = field(new RegExp(`^BOOT_TIME *= ${time}`, 'm'), 'BOOT_TIME');
  const timeoutS = field(/^SlurmdTimeout *= (\d{1,7}) sec$/m, 'SlurmdTimeout');
  const nowMs = Date.parse(`${now}Z`);
  return {
    boot,
    bootS: Date.parse(`${boot}Z`) / 1000,
    nowS: nowMs / 1000,
    upMs: nowMs - Date.parse(`${boot}Z`),
    slurmdTimeoutMs: Number(timeoutS) * 1000,
    hasAccounting: /^AccountingStorageType *= accounting_storage\/slurmdbd$/m.test(text),
  };
}
