// Turns a start command into what the supervisor runs: the environment starts clean, devices become the variables that
// programs read, limits get their words. Nothing of the agent's own environment reaches a task but what is listed here.
import { join } from 'node:path';
import { type Device, formatDurationMs, formatMib, type StartCommand, type TaskStart } from '@muster/model';
import { missingKind } from './discover/slots.ts';
import { type TaskSpec, taskKey } from './supervisor/protocol.ts';
import type { TaskUser } from './task-user.ts';

export interface SpecWorld {
  readonly devices: readonly Device[];
  readonly realUuids: ReadonlySet<string>;
  readonly scratchRoot: string;
  /** Null: tasks run as the agent's user. */
  readonly user: TaskUser | null;
  /** Of the job, where it keeps its checkpoints; null where this machine has no place for them. */
  readonly checkpoints: string | null;
  /** Where the API is, as this agent reaches it. */
  readonly serverUrl: string;
  readonly agentEnv: Readonly<Record<string, string | undefined>>;
}

export type Specs =
  | { readonly ok: true; readonly specs: readonly TaskSpec[] }
  | { readonly ok: false; readonly message: string };

/** A task tells of saved work by replacing this file of its scratch directory. */
export const statusFile = '.muster-status';

const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function taskSpecs(command: StartCommand, world: SpecWorld): Specs {
  const has = (index: number): boolean => (world.devices[index]?.kind ?? missingKind) !== missingKind;
  const unknown = command.tasks.flatMap((task) => task.devices).find((index) => !has(index));
  if (unknown !== undefined)
    return { ok: false, message: `this node has no device ${unknown}: its inventory has changed` };
  return { ok: true, specs: command.tasks.map((task) => taskSpec(command, task, world)) };
}

function taskSpec(command: StartCommand, task: TaskStart, world: SpecWorld): TaskSpec {
  const { run, stop, timeLimitMs, outputLimitMib } = command;
  const key = taskKey(run, task.rank);
  const scratch = join(world.scratchRoot, key);
  return {
    run,
    rank: task.rank,
    command: task.command,
    env: {
      ...baseEnv(world, scratch),
      ...task.env,
      ...deviceEnv(task.devices, world),
      MUSTER_TASK_KEY: key,
      MUSTER_SCRATCH: scratch,
      MUSTER_STATUS_FILE: join(scratch, statusFile),
      ...(world.checkpoints === null ? {} : { MUSTER_CHECKPOINT_DIR: world.checkpoints }),
      MUSTER_SERVER_URL: world.serverUrl,
    },
    workdir: task.workdir,
    scratch,
    user: world.user && { name: world.user.name, uid: world.user.uid, gid: world.user.gid },
    cpuMilli: task.cpuMilli,
    memoryMib: task.memoryMib,
    outputLimitMib,
    stop,
    timeLimitMs,
    words: {
      memory: formatMib(task.memoryMib),
      timeLimit: timeLimitMs === null ? '' : formatDurationMs(timeLimitMs),
    },
  };
}

function baseEnv({ user, agentEnv }: SpecWorld, scratch: string): Record<string, string> {
  const shared = { PATH: agentEnv.PATH ?? defaultPath, LANG: agentEnv.LANG, TZ: agentEnv.TZ };
  // Root's own search path, home and temporary directory are of no use to another user.
  const own = user
    ? {
        PATH: defaultPath,
        HOME: user.home ?? scratch,
        USER: user.name,
        LOGNAME: user.name,
        SHELL: user.shell,
      }
    : {
        HOME: agentEnv.HOME ?? scratch,
        USER: agentEnv.USER,
        LOGNAME: agentEnv.LOGNAME,
        SHELL: agentEnv.SHELL,
        TMPDIR: agentEnv.TMPDIR,
      };
  const all: Record<string, string | undefined> = { ...shared, ...own };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Empty for a task without GPUs: it must not see those of others. */
function deviceEnv(indices: readonly number[], world: SpecWorld): Record<string, string> {
  const gpus = world.devices.filter(({ kind }) => kind === 'gpu');
  const visible = indices
    .flatMap((index) => world.devices[index] ?? [])
    .filter(({ kind }) => kind === 'gpu')
    .map((device) => (world.realUuids.has(device.uuid) ? device.uuid : String(gpus.indexOf(device))))
    .join(',');
  return { CUDA_VISIBLE_DEVICES: visible, NVIDIA_VISIBLE_DEVICES: visible };
}
