// The protocol between an agent and any server: JSON messages over one WebSocket that the agent dials.
//
// 1. The server sends `challenge`; the agent answers `hello`, signing the nonce with the key it enrolled. The hello
//    tells everything the agent knows: its boot, its inventory, and every task it holds or whose end was not yet
//    acknowledged. The server reconciles its rows with that (what the agent does not know does not run there) and
//    answers `welcome`. Start-up, reconnect and server change are all this same path.
// 2. Beats: the agent sends `beat` with the keys it holds; the server commits the renewal and answers `renewed` with the keys
//    that may live and for how long, counted by the agent from when it SENT the beat. Keys the beat named and the answer
//    does not are stopped.
// 3. `start` and `stop` are outbox rows. The agent answers `done` once it has durably taken the command (or refuses it), and the
//    row is closed. A start is carried out only after a `renewed` that lists its key, for a beat sent after the start
//    arrived: a delayed start command is harmless. A command with an epoch below the highest seen is refused.
// 4. `report` carries observations, numbered; the agent keeps each until `reported` acknowledges its number.
// 5. `read` asks for output bytes; `bytes` answers.
//
// Both sides number their messages from 1 on each connection (`n`); a gap or a repeat closes the connection. What a correct
// agent never sends is a strike against its node (strikes.ts); a `refused` with the code `removed` ends the agent. Versions:
// `protocol` is the highest both speak; a server takes agents of the neighbouring release.
import * as z from 'zod';
import { type Checkpoint, checkpointPath, checkpointStep } from './checkpoint.ts';
import { type NodeId, type RunId, runPattern, type ServerId } from './ids.ts';
import type { Inventory } from './inventory.ts';
import type { SignalName } from './job-spec.ts';
import type { TaskExit } from './outcome.ts';

export const protocolVersion = 1;
export const maxMessageBytes = 4 * 1024 * 1024;
/** Longest sentence a message carries. */
export const maxReasonChars = 2000;
/** Longest piece of output one `bytes` message carries. */
export const maxReadBytes = 256 * 1024;

/** What one node may have; an inventory with more is refused. */
export const maxNodeDevices = 4096;
export const maxNodePorts = 60_000;

/** Everything the node needs to run one task; built by the server when the run is planned. */
export interface TaskStart {
  readonly rank: number;
  readonly command: readonly string[];
  /** The whole environment from Muster and the user, aliases included; the agent adds only device and path variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string | null;
  readonly devices: readonly number[];
  readonly cpuMilli: number;
  readonly memoryMib: number;
}

export interface StartCommand {
  readonly run: RunId;
  readonly job: string;
  readonly project: string;
  /** Who submitted; the agent maps it to a local user. */
  readonly user: string;
  readonly stop: { readonly signal: SignalName; readonly graceMs: number };
  /** The signal by which the program may be asked to save its work; null or left out when it is never asked. */
  readonly askSignal?: SignalName | null;
  readonly timeLimitMs: number | null;
  readonly stopAfterMs: number | null;
  readonly outputLimitMib: number;
  /** The container image that the job names, for where there are containers; null where it names none. */
  readonly image: string | null;
  /** How many nodes the run is on: where a run is one job of the cluster, its commands are gathered first. */
  readonly nodes: number;
  /** This node's tasks of the run. */
  readonly tasks: readonly TaskStart[];
}

export interface StopCommand {
  readonly run: RunId;
  readonly reason: string;
  /** The class the stopped tasks' exits report. */
  readonly class: 'cancelled' | 'preemption' | 'infrastructure' | 'timeout';
  readonly signal: SignalName;
  readonly graceMs: number;
  /**
   * Send this signal first and wait so long for the program to save its work; then stop it as above. Another stop
   * without it says that the wait is over: a newer checkpoint has come.
   */
  readonly ask?: { readonly signal: SignalName; readonly waitMs: number } | null;
}

/** What an agent holds of one task, as told in hello. */
export interface TaskReport {
  readonly run: RunId;
  readonly rank: number;
  readonly state: 'accepted' | 'running' | 'ended';
  readonly exit: TaskExit | null;
}

/** What an agent saw happen. */
export type Observation =
  | { readonly kind: 'started'; readonly run: RunId; readonly rank: number; readonly pid: number }
  | { readonly kind: 'ended'; readonly run: RunId; readonly rank: number; readonly exit: TaskExit }
  /** The task told that its work is saved, so long ago. */
  | ({
      readonly kind: 'checkpoint';
      readonly run: RunId;
      readonly rank: number;
      readonly agoMs: number;
    } & Checkpoint);

export type AgentMessage =
  | {
      readonly type: 'hello';
      readonly n: number;
      readonly protocol: number;
      readonly node: NodeId;
      /** Ed25519 signature of `muster-agent-hello:<nonce>:<node>`, base64. */
      readonly signature: string;
      readonly bootId: string;
      readonly agentVersion: string;
      readonly isolation: boolean;
      readonly inventory: Inventory;
      readonly epoch: number;
      readonly tasks: readonly TaskReport[];
    }
  | { readonly type: 'beat'; readonly n: number; readonly beat: number; readonly keys: readonly RunId[] }
  | {
      readonly type: 'report';
      readonly n: number;
      readonly report: number;
      readonly items: readonly Observation[];
    }
  | {
      readonly type: 'done';
      readonly n: number;
      readonly outbox: number;
      readonly outcome: 'accepted' | 'stale-epoch' | 'refused';
      readonly detail: string | null;
    }
  | {
      readonly type: 'bytes';
      readonly n: number;
      readonly read: number;
      readonly offset: number;
      readonly data: string;
      readonly end: boolean;
      readonly size: number;
      readonly error: string | null;
    }
  | { readonly type: 'bye'; readonly n: number; readonly reason: string };

export type ServerMessage =
  | {
      readonly type: 'challenge';
      readonly n: number;
      readonly protocol: number;
      readonly server: ServerId;
      readonly nonce: string;
    }
  | {
      readonly type: 'welcome';
      readonly n: number;
      readonly epoch: number;
      readonly beatMs: number;
      readonly nodeName: string;
    }
  | {
      readonly type: 'renewed';
      readonly n: number;
      readonly beat: number;
      readonly live: readonly { readonly run: RunId; readonly stopAfterMs: number | null }[];
      readonly beatMs: number;
    }
  | {
      readonly type: 'start';
      readonly n: number;
      readonly outbox: number;
      readonly epoch: number;
      readonly command: StartCommand;
    }
  | {
      readonly type: 'stop';
      readonly n: number;
      readonly outbox: number;
      readonly epoch: number;
      readonly command: StopCommand;
    }
  | { readonly type: 'reported'; readonly n: number; readonly report: number }
  /** Output of a task from `offset`; with `waitMs`, answers when there is something to tell or the wait is over. */
  | {
      readonly type: 'read';
      readonly n: number;
      readonly read: number;
      readonly run: RunId;
      readonly rank: number;
      readonly offset: number;
      readonly max: number;
      readonly waitMs: number;
    }
  | { readonly type: 'refused'; readonly n: number; readonly code: string; readonly message: string };

export function helloText(nonce: string, node: NodeId): string {
  return `muster-agent-hello:${nonce}:${node}`;
}

const runText = z.string().regex(runPattern);
const nat = z.int().min(0);
/** The database takes neither a NUL nor half of a character. */
const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !value.includes('\0') && value.isWellFormed(), 'must be text');
const shortText = text(maxReasonChars);
const exit = z.union([
  z.strictObject({ ok: z.literal(true) }),
  z.strictObject({
    ok: z.literal(false),
    class: z.enum(['user', 'out-of-memory', 'infrastructure', 'preemption', 'timeout', 'cancelled']),
    code: z.int().min(0).max(255).nullable(),
    signal: text(20).nullable(),
    reason: z.strictObject({ code: text(64), message: shortText }),
  }),
]);

export const inventorySchema = z.strictObject({
  cpuMilli: nat,
  cpuStepMilli: z.int().min(1).max(1000).optional(),
  memoryMib: nat,
  devices: z
    .array(
      z.strictObject({
        index: nat,
        kind: text(63),
        model: text(63),
        memoryMib: nat,
        interconnect: text(63).optional(),
        generation: nat.optional(),
        uuid: text(200),
      }),
    )
    .max(maxNodeDevices)
    .refine(
      (devices) => devices.every((device, i) => device.index === i),
      'device indices must be dense from 0',
    ),
  labels: z.record(text(127), text(63)),
  capabilities: z.array(
    z.enum([
      'containers',
      'fractions',
      'signals',
      'unlike-groups',
      'uneven-nodes',
      'ask-checkpoint',
      'output-limit',
    ]),
  ),
  address: text(255),
  ports: z.strictObject({ first: z.int().min(1).max(65_535), count: z.int().min(0).max(maxNodePorts) }),
});

/** Agents are authenticated but not trusted to be well: every message is checked before it is believed. */
export const agentMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hello'),
    n: nat,
    protocol: nat,
    node: z.string().max(64),
    signature: z.string().max(200),
    bootId: text(64),
    agentVersion: text(64),
    isolation: z.boolean(),
    inventory: inventorySchema,
    epoch: nat,
    tasks: z
      .array(
        z.strictObject({
          run: runText,
          rank: nat,
          state: z.enum(['accepted', 'running', 'ended']),
          exit: exit.nullable(),
        }),
      )
      .max(100_000),
  }),
  z.strictObject({ type: z.literal('beat'), n: nat, beat: nat, keys: z.array(runText).max(100_000) }),
  z.strictObject({
    type: z.literal('report'),
    n: nat,
    report: nat,
    items: z
      .array(
        z.discriminatedUnion('kind', [
          z.strictObject({ kind: z.literal('started'), run: runText, rank: nat, pid: nat }),
          z.strictObject({ kind: z.literal('ended'), run: runText, rank: nat, exit }),
          z.strictObject({
            kind: z.literal('checkpoint'),
            run: runText,
            rank: nat,
            agoMs: nat,
            step: checkpointStep.nullable(),
            path: checkpointPath.nullable(),
          }),
        ]),
      )
      .max(10_000),
  }),
  z.strictObject({
    type: z.literal('done'),
    n: nat,
    outbox: nat,
    outcome: z.enum(['accepted', 'stale-epoch', 'refused']),
    detail: shortText.nullable(),
  }),
  z.strictObject({
    type: z.literal('bytes'),
    n: nat,
    read: nat,
    offset: nat,
    data: z.string().max(maxReadBytes * 2),
    end: z.boolean(),
    size: nat,
    error: shortText.nullable(),
  }),
  z.strictObject({ type: z.literal('bye'), n: nat, reason: shortText }),
]);
