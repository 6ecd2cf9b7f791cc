// The command that starts a run's tasks on one node, made from rows when it is handed out.
import {
  type JobId,
  type JobSpec,
  layoutRun,
  type NodeId,
  type RunId,
  type StartCommand,
  type TaskPlacement,
} from '@muster/model';
import type { TakenRow } from './outbox-rules.ts';
import type { RunRecord, TaskRecord } from './records.ts';
import { isOver } from './run-rules.ts';

export interface StartedJob {
  readonly id: JobId;
  readonly spec: JobSpec;
  readonly user: string;
}

/** The commands of the rows that are sent, and the token each of their runs has from now on. */
export function startCommands(
  rows: readonly TakenRow[],
  starts: ReadonlyMap<number, RunRecord>,
  jobs: readonly StartedJob[],
  nodes: readonly { readonly id: NodeId; readonly name: string; readonly address: string }[],
  mint: (run: RunId) => string,
): { readonly commands: ReadonlyMap<number, StartCommand>; readonly tokens: ReadonlyMap<RunId, string> } {
  const jobById = new Map(jobs.map((job) => [job.id, job]));
  const nodeById = new Map(nodes.map((node) => [node.id as string, node]));
  const plans = new Map<RunId, RunStart>();
  for (const run of new Set(starts.values())) {
    const job = jobById.get(run.job.id);
    if (job) plans.set(run.id, runStart(run, job, nodeById));
  }
  const commands = new Map<number, StartCommand>();
  const tokens = new Map<RunId, string>();
  for (const row of rows) {
    const plan = starts.has(row.id) && plans.get(row.run);
    if (!plan) continue;
    const token = tokens.get(row.run) ?? mint(row.run);
    tokens.set(row.run, token);
    commands.set(row.id, startCommand(plan, row.node, token));
  }
  return { commands, tokens };
}

/** What all start commands of a run share, made once: a run may have thousands of nodes. */
interface RunStart {
  readonly run: RunRecord;
  readonly job: StartedJob;
  readonly env: (task: TaskPlacement) => Record<string, string>;
  readonly tasksOn: ReadonlyMap<NodeId, readonly TaskRecord[]>;
}

function runStart(
  run: RunRecord,
  job: StartedJob,
  nodes: ReadonlyMap<string, { readonly name: string; readonly address: string }>,
): RunStart {
  const { id, attempt, tasks, port } = run;
  const env = layoutRun({ job: job.id, run: id, attempt, spec: job.spec, tasks, nodes, port });
  const tasksOn = Map.groupBy(
    tasks.filter((task) => !isOver(task)),
    (task) => task.node,
  );
  return { run, job, env, tasksOn };
}

function startCommand({ run, job, env, tasksOn }: RunStart, node: NodeId, token: string): StartCommand {
  const { spec } = job;
  return {
    run: run.id,
    job: job.id,
    project: spec.project,
    user: job.user,
    stop: spec.stop,
    askSignal: spec.checkpoint?.signal ?? null,
    timeLimitMs: spec.timeLimitMs,
    stopAfterMs: run.stopAfterMs,
    outputLimitMib: spec.outputLimitMib,
    image: spec.image?.ref ?? null,
    nodes: tasksOn.size,
    tasks: (tasksOn.get(node) ?? []).map((task) => ({
      rank: task.rank,
      command: spec.groups[task.group]?.command ?? [],
      env: { ...env(task), MUSTER_RUN_TOKEN: token },
      workdir: spec.workdir,
      devices: task.devices,
      cpuMilli: task.cpuMilli,
      memoryMib: task.memoryMib,
    })),
  };
}
