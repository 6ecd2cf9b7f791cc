// One look at a whole cluster: its nodes, what others hold of them, and what became of our runs. The files of a run are read
// before Slurm is asked, and again when its job is over: a job listed as over has written all it will.
import type { RunId } from '@muster/model';
import type { Commands } from './commands.ts';
import { parseGres } from './gres.ts';
import type { SlurmJob, SlurmNode } from './listing.ts';
import { jobsOf, type PlacedReport, reportsOf } from './reports.ts';
import type { RunDirectories } from './run-directory.ts';
import { parseTopology, type Switches } from './topology.ts';

export interface Sight {
  readonly nodes: readonly SlurmNode[];
  readonly switches: Switches;
  /** When the controller was started, in its own words: another text is another life of it. */
  readonly boot: string;
  /** Every node has registered since, or is known to be down: what is not listed does not run. */
  readonly settled: boolean;
  readonly reports: readonly PlacedReport[];
  /** What jobs that are not ours hold, by node. */
  readonly taken: ReadonlyMap<string, Taken>;
}

export interface Taken {
  readonly cpus: number;
  readonly memoryMib: number;
  readonly devices: number;
}

export async function sightOf(
  commands: Commands,
  directories: RunDirectories,
  listJobs: () => Promise<SlurmJob[]>,
  listNodes: () => Promise<SlurmNode[]>,
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
  const reports: PlacedReport[] = [];
  for (const [run, seen] of early) {
    const over = jobsOf(run, jobs).some(({ phase }) => phase === 'over');
    const evidence = over ? await directories.evidence(run) : seen;
    if (evidence) reports.push(...reportsOf(run, evidence, jobs, settled));
  }
  return { nodes, switches, boot: controller.boot, settled, reports, taken: takenBy(jobs, new Set(runs)) };
}

/** Of jobs that are not ours. A job with one of our keys for a name, but not of ours, is counted too. */
export function takenBy(jobs: readonly SlurmJob[], runs: ReadonlySet<RunId>): Map<string, Taken> {
  const taken = new Map<string, Taken>();
  for (const job of jobs) {
    const ours = job.name === job.comment && runs.has(job.name as RunId);
    if (ours || job.phase !== 'holds') continue;
    for (const { node, cpus, memoryMib, gres } of job.uses) {
      const before = taken.get(node) ?? { cpus: 0, memoryMib: 0, devices: 0 };
      const devices = parseGres(gres).reduce((sum, { name, count }) => sum + (name === 'gpu' ? count : 0), 0);
      taken.set(node, {
        cpus: before.cpus + cpus,
        memoryMib: before.memoryMib + memoryMib,
        devices: before.devices + devices,
      });
    }
  }
  return taken;
}

export interface Controller {
  readonly boot: string;
  readonly upMs: number;
  /** A node that does not answer for so long is called down. */
  readonly slurmdTimeoutMs: number;
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
  return {
    boot,
    upMs: Date.parse(`${now}Z`) - Date.parse(`${boot}Z`),
    slurmdTimeoutMs: Number(timeoutS) * 1000,
  };
}
