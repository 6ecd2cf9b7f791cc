// What the agent and its supervisor say to each other over a unix socket, one JSON object a line. The supervisor outlives
// agents, so this is a protocol between releases: `supervisorVersion` counts incompatible changes, and an agent adopts a
// supervisor of its own version only. Types and one number: the supervisor imports nothing that is not `node:`.
import type { ErrorClass, Reason, RunId, SignalName, TaskExit } from '@muster/model';

export const supervisorVersion = 1;

/** One task as the supervisor runs it: everything is decided, nothing is looked up later. */
export interface TaskSpec {
  readonly run: RunId;
  readonly rank: number;
  readonly command: readonly string[];
  /** The whole environment of the task. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: the scratch directory. */
  readonly workdir: string | null;
  readonly scratch: string;
  /** Null: the supervisor's own user, which is not root. */
  readonly user: LocalUser | null;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly outputLimitMib: number;
  readonly stop: { readonly signal: SignalName; readonly graceMs: number };
  readonly timeLimitMs: number | null;
  /** Limits as people read them, made by the agent, which has the one grammar of units. */
  readonly words: { readonly memory: string; readonly timeLimit: string };
}

export interface LocalUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

export type TaskKey = string;
export const taskKey = (run: RunId, rank: number): TaskKey => `${run}.${rank}`;

/** How long a run may live: until `deadlineMs` of the machine's boot clock (clock.ts). */
export interface Lease {
  readonly deadlineMs: number | null;
  readonly stopAfterMs: number | null;
}

export interface StopRequest {
  readonly class: ErrorClass;
  readonly reason: Reason;
  /** Null: as the task's own spec says. */
  readonly how: { readonly signal: SignalName; readonly graceMs: number } | null;
  /** Signal to send first, and how long to let the program save its work; left out: stop at once. */
  readonly ask?: { readonly signal: SignalName; readonly waitMs: number } | null;
}

export interface TaskStatus {
  readonly run: RunId;
  readonly rank: number;
  readonly state: 'accepted' | 'running' | 'ended';
  readonly exit: TaskExit | null;
}

/** Requests with an id are answered once, and may be repeated to a new supervisor: all of them are idempotent. */
export type ToSupervisor =
  | { readonly t: 'prepare'; readonly id: number; readonly tasks: readonly TaskSpec[] }
  | { readonly t: 'stop'; readonly id: number; readonly run: RunId; readonly stop: StopRequest }
  | { readonly t: 'renew'; readonly runs: readonly ({ readonly run: RunId } & Lease)[] }
  /** The server has these ends; they need not be kept. */
  | { readonly t: 'ack'; readonly keys: readonly TaskKey[] }
  /** Answered when there is output beyond `from` or the task is not live, and at once without `wait`. */
  | {
      readonly t: 'look';
      readonly id: number;
      readonly key: TaskKey;
      readonly from: number;
      readonly wait: boolean;
    }
  | { readonly t: 'unlook'; readonly id: number }
  /** The agent leaves on purpose: exit as soon as no task lives. */
  | { readonly t: 'leave' };

export type FromSupervisor =
  | {
      readonly t: 'state';
      readonly version: number;
      readonly code: string;
      readonly pid: number;
      readonly enforced: readonly string[];
      readonly tasks: readonly TaskStatus[];
    }
  | { readonly t: 'answer'; readonly id: number; readonly error: string | null }
  | {
      readonly t: 'looked';
      readonly id: number;
      readonly size: number;
      readonly live: boolean;
      readonly known: boolean;
    }
  | { readonly t: 'accepted'; readonly run: RunId; readonly rank: number }
  | { readonly t: 'started'; readonly run: RunId; readonly rank: number; readonly pid: number }
  | { readonly t: 'ended'; readonly run: RunId; readonly rank: number; readonly exit: TaskExit };

export interface SupervisorConfig {
  /** The agent's private directory, 0700. */
  readonly dir: string;
  /** Names this node's control groups. */
  readonly node: string;
  /** The release whose code this is. */
  readonly code: string;
  readonly cgroups: boolean;
  /** How long to stay without an agent and without live tasks. */
  readonly lingerMs: number;
}

/** Written beside the socket, so that an agent knows whom it adopts. */
export interface SupervisorFile {
  readonly version: number;
  readonly code: string;
  readonly pid: number;
  readonly startTicks: number;
  readonly bootId: string;
}
