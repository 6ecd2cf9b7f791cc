// What is read of Kubernetes' objects: the few fields that count, checked, and small, because a cluster may have very many pods.
// An object that is not as it should be is a reason to distrust the whole answer, so reading throws.
import { type ErrorClass, isRunId, type RunId } from '@muster/model';
import * as z from 'zod';
import { cpuMilliOf, memoryMibOf } from './quantity.ts';

/** Labels and annotations of what is ours. */
export const marks = {
  run: 'muster/run',
  /** The installation whose run it is (owner.ts). */
  installation: 'muster/installation',
  rank: 'muster/rank',
  /** How many tasks the run has, on all nodes. */
  tasks: 'muster/tasks',
  /** The node that was chosen, until it is bound there. */
  node: 'muster/node',
  /** Why it was stopped, as JSON. */
  stop: 'muster/stop',
  /** The signal that asks its program to save its work, and for how many seconds that is waited for. */
  ask: 'muster/ask',
  /** A pod that is never bound: its name says that this key begins nothing any more. */
  tombstone: 'muster/tombstone',
} as const;

/** Keeps a pod's object until its end is known to us, whoever deletes it. */
export const finalizer = 'muster/end-is-known';

const errorClasses = [
  'user',
  'out-of-memory',
  'infrastructure',
  'preemption',
  'timeout',
  'cancelled',
] as const satisfies readonly ErrorClass[];
export const stopFacts = z.object({ class: z.enum(errorClasses), code: z.string(), reason: z.string() });
export type StopFacts = z.infer<typeof stopFacts>;

export interface OurPod {
  readonly name: string;
  readonly uid: string;
  readonly run: RunId;
  readonly installation: string;
  readonly rank: number;
  readonly tasks: number;
  readonly tombstone: boolean;
  /** Where it is bound to, and where it was meant to be. */
  readonly node: string | null;
  readonly meant: string;
  /** From its signal to KILL, as it was made. */
  readonly graceS: number;
  readonly deleting: boolean;
  /** Who keeps the object when it is deleted: we, and perhaps others. */
  readonly finalizers: readonly string[];
  /** Something in the cluster lets it be bound to no node until these are taken off; they are put on only when a pod is made. */
  readonly gates: readonly string[];
  /** Somebody asked for its deletion before its task had ended, by the second. */
  readonly cutShort: boolean;
  readonly phase: Phase;
  /** Why the whole pod is as it is, where somebody said: Evicted, OutOfcpu, DeadlineExceeded. */
  readonly reason: string;
  readonly message: string;
  /** Kubernetes' own word for who ends it from outside: a drain, a taint, a more important pod. */
  readonly disruption: { readonly reason: string; readonly message: string } | null;
  readonly stop: StopFacts | null;
  /** Its program was asked to save its work, and has so long for it. */
  readonly askedWaitS: number | null;
  /** When its node took it, by the node's clock. */
  readonly takenMs: number | null;
  /** The node ends it so long after that. */
  readonly deadlineS: number | null;
  readonly container: ContainerState;
}

export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

export type ContainerState =
  | { readonly is: 'none' }
  | { readonly is: 'waiting'; readonly reason: string; readonly message: string }
  | { readonly is: 'running' }
  | {
      readonly is: 'terminated';
      readonly exitCode: number;
      readonly reason: string;
      readonly message: string;
      readonly began: boolean;
    };

const texts = z.record(z.string(), z.string());
const metadata = z.object({
  name: z.string(),
  uid: z.string(),
  deletionTimestamp: z.string().optional(),
  deletionGracePeriodSeconds: z.int().optional(),
  finalizers: z.array(z.string()).optional(),
  labels: texts.optional(),
  annotations: texts.optional(),
});
const said = { reason: z.string().optional(), message: z.string().optional() };
const containerState = z.object({
  waiting: z.object(said).optional(),
  running: z.object({}).optional(),
  terminated: z
    .object({ ...said, exitCode: z.int(), startedAt: z.string().nullish(), finishedAt: z.string().nullish() })
    .optional(),
});
const condition = z.object({ type: z.string(), status: z.string(), ...said });
/** Only our own marks are read, by name: pods are read several times in their life, and a record of texts is slow to check. */
const ourMetadata = metadata.extend({
  labels: z
    .object({
      [marks.run]: z.string().optional(),
      [marks.installation]: z.string().optional(),
      [marks.rank]: z.string().optional(),
      [marks.tombstone]: z.string().optional(),
    })
    .optional(),
  annotations: z
    .object({
      [marks.tasks]: z.string().optional(),
      [marks.node]: z.string().optional(),
      [marks.stop]: z.string().optional(),
      [marks.ask]: z.string().optional(),
    })
    .optional(),
});
const ourPod = z.object({
  metadata: ourMetadata,
  spec: z.object({
    nodeName: z.string().optional(),
    terminationGracePeriodSeconds: z.int().optional(),
    activeDeadlineSeconds: z.int().optional(),
    schedulingGates: z.array(z.object({ name: z.string() })).optional(),
  }),
  status: z.object({
    ...said,
    startTime: z.string().optional(),
    phase: z.enum(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']).optional(),
    conditions: z.array(condition).optional(),
    containerStatuses: z.array(z.object({ state: containerState.optional() })).optional(),
  }),
});

const none: readonly string[] = [];

/** Null for a pod that has our label and is none of a Muster's. */
export function readOurPod(object: unknown): OurPod | null {
  const { metadata: about, spec, status } = ourPod.parse(object);
  const run = about.labels?.[marks.run] ?? '';
  const installation = about.labels?.[marks.installation];
  const rank = wholeNumber(about.labels?.[marks.rank]);
  const tasks = wholeNumber(about.annotations?.[marks.tasks]);
  if (!isRunId(run) || installation === undefined || rank === null || tasks === null) return null;
  const disruption = status.conditions?.find(({ type }) => type === 'DisruptionTarget');
  const stop = about.annotations?.[marks.stop];
  return {
    name: about.name,
    uid: about.uid,
    run,
    installation,
    rank,
    tasks,
    tombstone: about.labels?.[marks.tombstone] !== undefined,
    node: spec.nodeName ?? null,
    meant: about.annotations?.[marks.node] ?? '',
    graceS: spec.terminationGracePeriodSeconds ?? 30,
    deleting: about.deletionTimestamp !== undefined,
    finalizers: about.finalizers ?? [],
    gates: spec.schedulingGates?.map(({ name }) => name) ?? none,
    cutShort: isCutShort(about, status.containerStatuses?.[0]?.state?.terminated?.finishedAt),
    phase: status.phase ?? 'Unknown',
    reason: status.reason ?? '',
    message: status.message ?? '',
    disruption:
      disruption?.status === 'True'
        ? { reason: disruption.reason ?? '', message: disruption.message ?? '' }
        : null,
    stop: stop === undefined ? null : readStop(stop),
    askedWaitS: wholeNumber(about.annotations?.[marks.ask]?.split(' ')[1]),
    takenMs: status.startTime === undefined ? null : Date.parse(status.startTime),
    deadlineS: spec.activeDeadlineSeconds ?? null,
    container: containerOf(status.containerStatuses?.[0]?.state),
  };
}

function isCutShort(
  { deletionTimestamp, deletionGracePeriodSeconds = 0 }: z.infer<typeof ourMetadata>,
  finishedAt: string | null | undefined,
): boolean {
  if (deletionTimestamp === undefined) return false;
  const askedMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return finishedAt == null || Date.parse(finishedAt) >= askedMs;
}

function readStop(text: string): StopFacts | null {
  try {
    return stopFacts.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function containerOf(state: z.infer<typeof containerState> | undefined): ContainerState {
  const { waiting, running, terminated } = state ?? {};
  if (terminated) {
    const { exitCode, reason = '', message = '', startedAt } = terminated;
    // The runtime names a start error so, and gives the beginning of time for its start.
    const began = startedAt != null && Date.parse(startedAt) > 0 && !notStarted.has(reason);
    return { is: 'terminated', exitCode, reason, message, began };
  }
  if (running) return { is: 'running' };
  if (waiting) return { is: 'waiting', reason: waiting.reason ?? '', message: waiting.message ?? '' };
  return { is: 'none' };
}

export const notStarted: ReadonlySet<string> = new Set(['StartError', 'ContainerCannotRun']);

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,7}$/.test(text) ? Number(text) : null;
}

/** What a pod that is not ours holds of its node. */
export interface OtherPod {
  readonly node: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** Devices by the name of their resource. */
  readonly devices: Readonly<Record<string, number>>;
}

const resources = z.object({ requests: texts.optional() });
const containers = z.array(
  z.object({ resources: resources.optional(), restartPolicy: z.string().optional() }),
);
const otherPod = z.object({
  spec: z.object({
    nodeName: z.string().optional(),
    containers,
    initContainers: containers.optional(),
    overhead: texts.optional(),
  }),
});

/** Null while it is on no node. */
export function readOtherPod(object: unknown): OtherPod | null {
  const { spec } = otherPod.parse(object);
  if (spec.nodeName === undefined) return null;
  const side = spec.initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always') ?? [];
  const all = [...spec.containers, ...side].map((one) => one.resources?.requests ?? {});
  const amounts = [...all, spec.overhead ?? {}];
  const sum = (name: string, of: typeof cpuMilliOf): number =>
    amounts.reduce((total, one) => total + (one[name] === undefined ? 0 : of(one[name], 'up')), 0);
  const devices: Record<string, number> = {};
  for (const one of amounts)
    for (const [name, text] of Object.entries(one))
      if (name in deviceKinds) devices[name] = (devices[name] ?? 0) + Number(text);
  return {
    node: spec.nodeName,
    cpuMilli: sum('cpu', cpuMilliOf),
    memoryMib: sum('memory', memoryMibOf),
    devices,
  };
}

/** Resources that are devices, and what we call them. */
export const deviceKinds: Readonly<Record<string, string>> = {
  'nvidia.com/gpu': 'gpu',
  'amd.com/gpu': 'gpu',
  'google.com/tpu': 'tpu',
};

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

export interface KubeNode {
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly devices: Readonly<Record<string, number>>;
  /** Its kubelet is heard of. */
  readonly ready: boolean;
  readonly cordoned: boolean;
  readonly taints: readonly Taint[];
}

const node = z.object({
  metadata,
  spec: z.object({
    unschedulable: z.boolean().optional(),
    taints: z
      .array(z.object({ key: z.string(), value: z.string().optional(), effect: z.string() }))
      .optional(),
  }),
  status: z.object({
    allocatable: texts.optional(),
    conditions: z.array(condition).optional(),
    addresses: z.array(z.object({ type: z.string(), address: z.string() })).optional(),
  }),
});

export function readNode(object: unknown): KubeNode {
  const { metadata: about, spec, status } = node.parse(object);
  const has = status.allocatable ?? {};
  const address = (type: string) => status.addresses?.find((one) => one.type === type)?.address;
  const devices = Object.keys(deviceKinds).flatMap((name) => {
    const count = Number(has[name] ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? [[name, count] as const] : [];
  });
  return {
    name: about.name,
    uid: about.uid,
    labels: about.labels ?? {},
    address: address('InternalIP') ?? address('Hostname') ?? about.name,
    cpuMilli: cpuMilliOf(has.cpu ?? '0', 'down'),
    memoryMib: memoryMibOf(has.memory ?? '0', 'down'),
    devices: Object.fromEntries(devices),
    ready: status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True',
    cordoned: spec.unschedulable === true,
    taints: (spec.taints ?? []).map(({ key, value = '', effect }) => ({ key, value, effect })),
  };
}
