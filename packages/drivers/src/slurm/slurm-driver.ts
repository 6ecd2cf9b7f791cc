// The Slurm driver. A run is one Slurm job whose name is its key, and whose comment says it again with our installation's mark; ids mean nothing beyond one controller's life. Slurm
// cannot check an epoch or a key, so the shared directory of the runs does (run-directory.ts) and the job claims its key before it
// runs (batch-script.ts). What sbatch did not answer may be carried out later, so a run that somebody had in hand before is looked
// for first, and what starts twice in spite of that ends at the claim.
import { setTimeout as pause } from 'node:timers/promises';
import {
  type NodeId,
  neverStarted,
  OperationalError,
  type RunId,
  type SlurmBilling,
  type StopCommand,
  type TaskReport,
} from '@muster/model';
import { askedTogether } from '../asked-together.ts';
import type { CommandAnswer, Driver, OutputAnswer, OutputRequest } from '../contract.ts';
import { Gathering, type Part } from '../gathering.ts';
import { accountingOf } from './accounting.ts';
import { batchScript } from './batch-script.ts';
import { CommandError, type Commands } from './commands.ts';
import { isAsleep } from './halts.ts';
import { KeyedJobs } from './keyed-jobs.ts';
import { parseJobs, parseNodes, type SlurmJob, type SlurmNode } from './listing.ts';
import { isLostStart, type LostStart } from './lost-starts.ts';
import { exitOfState, nothingKnown, reportsOf } from './reports.ts';
import type { RunDirectories } from './run-directory.ts';
import { jobsOf, type Sight, sightOf } from './sight.ts';
import { SilentNodes } from './silent-nodes.ts';
import { StatusFiles } from './status-files.ts';
import { type RunPart, slurmCapabilities, submissionOf } from './submission.ts';
import { Waits } from './waits.ts';

export interface SlurmDeps {
  readonly commands: Commands;
  /** The mark on its jobs. */
  readonly installation: string;
  readonly directories: RunDirectories;
  /** Slurm's name of a node; null when it is none of this cluster. */
  readonly nodeName: (node: NodeId) => string | null;
  readonly billing: (project: string) => SlurmBilling;
  /** Where jobs keep their checkpoints, each in a directory of its own. */
  readonly checkpointDirectory?: string | undefined;
  /** How long the commands of a run on several nodes may come one after another. */
  readonly gatherMs?: number;
  /** A plan names nodes with room, so Slurm starts such a job at once; or they are not what we took them for, and it is given back. */
  readonly waitMaxS?: number;
}

export interface SlurmDriver extends Driver {
  /** Everything there is to see; rejects when Slurm does not answer or cannot be read. */
  look(): Promise<Sight>;
  /** Its end is committed: it is looked at no more, and nothing of this key will ever run. */
  forget(run: RunId): Promise<void>;
}

/** What sbatch says when no job was made and none will be; after any other error there may be one. */
const refusals =
  /Invalid (account|partition|qos|node name|generic resource|job|feature)|not available|time limit is invalid|violates accounting|permission denied|cannot be satisfied|can not be satisfied|More processors requested|Node count specification invalid/i;
const gone = /Invalid job id|already (completing|completed|finished)/i;
const outputLookMs = 100;

export function createSlurmDriver(deps: SlurmDeps): SlurmDriver {
  const { commands, installation, directories, nodeName, billing } = deps;
  const accounting = accountingOf(commands, installation);
  let known = new Map<string, SlurmNode>();
  let hasAccounting = false;
  const gathering = new Gathering(deps.gatherMs ?? 10_000, send);
  const statuses = new StatusFiles(directories);
  const silent = new SilentNodes();
  const waits = new Waits(deps.waitMaxS ?? 60);

  const jobs = askedTogether(async () => {
    const listed = parseJobs(await commands('squeue', ['--json']));
    return new KeyedJobs(listed, installation);
  });

  async function nodes(): Promise<SlurmNode[]> {
    const list = parseNodes(await commands('sinfo', ['--json']));
    known = new Map(list.map((node) => [node.name, node]));
    silent.see(list, performance.now());
    return list;
  }

  async function partOf({ node, command }: Part): Promise<RunPart | null> {
    const name = nodeName(node);
    if (name === null) return null;
    if (!known.has(name)) await nodes();
    const found = known.get(name);
    return found ? { node: name, gres: found.gres, command } : null;
  }

  async function send(parts: readonly Part[]): Promise<CommandAnswer> {
    return answered(async () => {
      const found = await Promise.all(parts.map(partOf));
      const placed = found.filter((part) => part !== null);
      const [first] = placed;
      if (!first || placed.length !== parts.length)
        return { outcome: 'refused', detail: 'Slurm has no such node' };
      const { run, project } = first.command;
      const checkpoints = deps.checkpointDirectory ?? null;
      const submission = submissionOf(placed, installation, billing(project), checkpoints);
      if (!submission.ok) return { outcome: 'refused', detail: submission.detail };
      const fresh = await directories.prepare(run, submission.files);
      if (!fresh && ((await held(run)).length > 0 || (await endedUnclaimed(run))))
        return { outcome: 'accepted' };
      return submit(run, submission.options);
    });
  }

  /** What was refused stays so: accepted, it would be waited for and nobody would ever tell of it. */
  async function answerOfOver(run: RunId): Promise<CommandAnswer> {
    const detail = await directories.refusal(run);
    return detail === null ? { outcome: 'accepted' } : { outcome: 'refused', detail };
  }

  async function submit(run: RunId, options: readonly string[]): Promise<CommandAnswer> {
    try {
      await commands('sbatch', options, batchScript(directories.of(run)));
      return { outcome: 'accepted' };
    } catch (error) {
      if (!(error instanceof CommandError) || error.kind !== 'exited' || !refusals.test(error.said))
        throw error;
      const detail = error.said.trim().slice(0, 500);
      await directories.refuse(run, detail);
      return { outcome: 'refused', detail };
    }
  }

  async function held(run: RunId) {
    const evidence = await directories.evidence(run);
    if (!evidence) return [];
    return reportsOf(run, evidence, await jobs(), { ...nothingKnown, silent: silent.names() });
  }

  /**
   * A run that nobody claimed and the controller does not list may have been cancelled by somebody before it began. What the
   * accounting says of that is written down as a stop, which also claims the key: the next look tells it.
   */
  async function endedUnclaimed(run: RunId): Promise<boolean> {
    const account = hasAccounting ? await accounting.ask(run, null) : null;
    if (account?.kind !== 'ended' || account.job.state !== 'CANCELLED') return false;
    // By a person: what the controller itself ended has nobody who asked for it.
    if (account.job.endedBy === null) return false;
    const exit = exitOfState(account.job.state, null, account.job.endedBy);
    if (exit === null || exit.ok) return false;
    const how = { class: 'cancelled', signal: 'TERM', graceMs: 0, reason: exit.reason.message } as const;
    await directories.stop(run, { run, ...how }, exit.reason.code);
    return true;
  }

  async function stop(command: StopCommand, code?: string): Promise<CommandAnswer> {
    const { run } = command;
    if (command.ask) statuses.hurry(run);
    const claimed = await directories.stop(run, command, code);
    const listed = await jobs();
    const evidence = claimed ? null : await directories.evidence(run);
    for (const job of jobsOf(run, evidence, listed)) {
      // The next looks end it, when its nodes have.
      if (isLostStart(job, evidence)) continue;
      if (job.phase === 'waits') await cancel(job);
      else if (job.phase === 'holds' && (isAsleep(job) || !claimed)) await tell(run, job);
    }
    return { outcome: 'accepted' };
  }

  /**
   * There is a stop to read. What is suspended hears no signal, and to wake it is not ours: whoever did it, or Slurm for another job, has
   * the cores. So Slurm ends it, which wakes it for its own signal and grace (TERM, KillWait).
   */
  async function tell(run: RunId, job: SlurmJob): Promise<void> {
    if (!isAsleep(job)) return cancel(job, '--batch', '--signal=USR1');
    await directories.noteCancel(run);
    await cancel(job);
  }

  async function tellAgain(run: RunId): Promise<void> {
    const evidence = await directories.evidence(run);
    const listed = await jobs();
    for (const job of evidence ? jobsOf(run, evidence, listed) : [])
      if (isAsleep(job) || job.state === 'RUNNING') await tell(run, job);
  }

  /** It claims the key, so that the job begins nothing if it starts all the same; its end is told by the next look. */
  async function giveUp(run: RunId, reason: string): Promise<void> {
    const message = `Slurm kept it waiting (${reason}), though its nodes had room by what we knew`;
    const how = { class: 'infrastructure', signal: 'TERM', graceMs: 1000 } as const;
    await stop({ run, reason: message, ...how }, neverStarted);
  }

  /** Why it ends is written down first: from the cancel alone it would read as an outside hand's. */
  async function endLostStart({ run, job, evidence }: LostStart): Promise<void> {
    const reason = 'Slurm lost that the job had begun, and its nodes ended it';
    const how = { class: 'infrastructure', signal: 'TERM', graceMs: 0, reason } as const;
    if (evidence.stop === null) await directories.stop(run, { run, ...how }, 'forgotten');
    await cancel(job);
  }

  async function cancel({ id, name }: SlurmJob, ...options: readonly string[]): Promise<void> {
    try {
      // The name again: the id may be another's by now.
      await commands('scancel', [...options, `--name=${name}`, String(id)]);
    } catch (error) {
      const isGone = error instanceof CommandError && error.kind === 'exited' && gone.test(error.said);
      if (!isGone) throw error;
    }
  }

  async function output({ run, rank, offset, maxBytes, waitMs }: OutputRequest): Promise<OutputAnswer> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      // Whether it is over before what it wrote: nothing is written after that.
      const [evidence] = await Promise.all([directories.evidence(run), directories.checkOwner()]);
      const over = evidence?.exits.has(rank) === true || (await directories.isOver(run));
      const read = await directories.readOutput(run, rank, offset, maxBytes);
      const end = over && read.offset + read.data.length >= read.size;
      if (read.data.length > 0 || end || performance.now() >= deadline) return { ...read, end };
      await pause(outputLookMs);
    }
  }

  return {
    capabilities: { has: slurmCapabilities, assigns: 'count' },
    submit: (target, command) =>
      answered(async () => {
        if (!(await directories.admit(target.epoch))) return { outcome: 'stale-epoch' };
        if (await directories.isOver(command.run)) return answerOfOver(command.run);
        return gathering.add({ node: target.node, command });
      }),
    stop: (target, command) =>
      answered(async () => {
        if (!(await directories.admit(target.epoch))) return { outcome: 'stale-epoch' };
        return stop(command);
      }),
    async find(node, run): Promise<readonly TaskReport[] | null> {
      try {
        const name = nodeName(node);
        const [reports] = await Promise.all([held(run), directories.checkOwner()]);
        return reports.filter((report) => report.node === name).map(withoutNode);
      } catch {
        return null;
      }
    },
    output: (request) =>
      output(request).catch((error: unknown) => {
        const message = `the shared directory of ${request.node} does not answer`;
        throw new OperationalError('node-unreachable', message, { cause: error });
      }),
    async look() {
      const sight = await sightOf(commands, directories, jobs, nodes, silent, accounting, waits);
      hasAccounting = sight.hasAccounting;
      // What fails is tried again by the next look; it is no silence of the cluster.
      await Promise.allSettled([
        ...[...sight.overdue].map(([run, reason]) => giveUp(run, reason)),
        ...sight.unheard.map(tellAgain),
        ...sight.lostStarts.map(endLostStart),
      ]);
      return { ...sight, reports: await statuses.added(sight.reports) };
    },
    forget(run) {
      statuses.forget(run);
      accounting.forget(run);
      return directories.forget(run);
    },
  };
}

function withoutNode({ run, rank, state, exit }: TaskReport): TaskReport {
  return { run, rank, state, exit };
}

async function answered(ask: () => Promise<CommandAnswer>): Promise<CommandAnswer> {
  try {
    return await ask();
  } catch {
    return { outcome: 'unknown' };
  }
}
