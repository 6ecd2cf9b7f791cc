// From one task of a start command to one pod, and the service by which the pods of a gang find each other. Every field is made
// here, from a short list; nothing of a job is passed through. What users write (command, variables, working directory) stands
// where Kubernetes takes data, with its own `$(NAME)` made harmless.
import {
  checkpointFolder,
  type RunId,
  type SignalName,
  type StartCommand,
  type TaskStart,
} from '@muster/model';
import { askable, askMount, askVolume } from './asking.ts';
import { finalizer, marks, type OurPod } from './objects.ts';

/** What the operator of the cluster says of its pods; never a job. */
export interface PodSettings {
  readonly namespace: string;
  /** For jobs that name no image. */
  readonly defaultImage: string | null;
  readonly imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  readonly imagePullSecrets: readonly string[];
  readonly runtimeClassName: string | null;
  readonly tolerations: readonly Toleration[];
  /** What jobs keep their checkpoints on, each in a directory of its own: a claim of the namespace, or a path of the nodes. */
  readonly checkpoints: { readonly claim: string } | { readonly path: string } | null;
}

export interface Toleration {
  readonly key: string;
  /** Any value where there is none. */
  readonly value?: string | undefined;
  /** Any effect where there is none. */
  readonly effect?: string | undefined;
}

export interface PlacedTask {
  readonly task: TaskStart;
  /** Kubernetes' name of the node. */
  readonly node: string;
  /** How many of which resource, for its devices. */
  readonly devices: Readonly<Record<string, number>>;
}

/** A scheduler of this name does not exist: nobody but us binds our pods. */
export const schedulerName = 'muster';

/** Kubernetes takes no underscore in a name; a run's id has one where we put a hyphen. */
export const serviceName = (run: RunId): string => run.replaceAll('_', '-');
export const podName = (run: RunId, rank: number): string => `${serviceName(run)}-${rank}`;
const hostName = (rank: number): string => `task-${rank}`;

/** The labels of what is made for a run. */
const labelsOf = (run: RunId, installation: string): Record<string, string> => ({
  [marks.run]: run,
  [marks.installation]: installation,
});

export function podOf(
  { task, node, devices }: PlacedTask,
  command: StartCommand,
  tasks: number,
  settings: PodSettings,
  installation: string,
): object {
  const { run, stop, timeLimitMs } = command;
  const image = command.image ?? settings.defaultImage;
  const graceS = graceSecondsOf(stop.graceMs);
  const limits = { ...countsOf(devices), memory: `${Math.max(1, task.memoryMib)}Mi` };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(run, task.rank),
      namespace: settings.namespace,
      labels: { ...labelsOf(run, installation), [marks.rank]: String(task.rank) },
      annotations: { [marks.tasks]: String(tasks), [marks.node]: node },
      finalizers: [finalizer],
    },
    spec: {
      schedulerName,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: graceS,
      ...(timeLimitMs === null ? {} : { activeDeadlineSeconds: Math.max(1, Math.ceil(timeLimitMs / 1000)) }),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // The task is not process 1, which would not be ended by a signal that it does not handle.
      shareProcessNamespace: stop.signal === 'TERM',
      ...(tasks > 1 ? { hostname: hostName(task.rank), subdomain: serviceName(run) } : {}),
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      tolerations: settings.tolerations.map(tolerationOf),
      imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })),
      ...(settings.runtimeClassName === null ? {} : { runtimeClassName: settings.runtimeClassName }),
      ...volumesOf(command, settings),
      containers: [
        {
          name: 'task',
          image,
          imagePullPolicy: settings.imagePullPolicy,
          command: (command.askSignal ? askable(task.command) : task.command).map(literal),
          ...(task.workdir === null ? {} : { workingDir: task.workdir }),
          env: Object.entries({
            ...rendezvous(task.env, run, tasks, settings.namespace),
            ...(settings.checkpoints === null ? {} : { MUSTER_CHECKPOINT_DIR: checkpointDirectory }),
          }).map(([name, value]) => ({ name, value: literal(value) })),
          ...mountsOf(command, settings),
          resources: { requests: { ...limits, cpu: `${task.cpuMilli}m` }, limits },
          securityContext: { allowPrivilegeEscalation: false, privileged: false },
          ...(stop.signal === 'TERM' ? {} : { lifecycle: { preStop: signalHook(stop.signal) } }),
        },
      ],
    },
  };
}

/** Holds the key's name, so that a start which comes later is refused. It is never bound, so its image is never pulled. */
export function tombstoneOf(run: RunId, stop: string, namespace: string, installation: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(run, 0),
      namespace,
      labels: { ...labelsOf(run, installation), [marks.rank]: '0', [marks.tombstone]: 'yes' },
      annotations: { [marks.tasks]: '0', [marks.stop]: stop },
    },
    spec: {
      schedulerName,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'none',
          image: 'none',
          securityContext: { allowPrivilegeEscalation: false, privileged: false },
        },
      ],
    },
  };
}

/** Names for the pods of a gang, from before they are ready. It goes when the pod of rank 0 goes. */
export function serviceOf(
  { run, installation, name, uid }: Pick<OurPod, 'run' | 'installation' | 'name' | 'uid'>,
  namespace: string,
): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: serviceName(run),
      namespace,
      labels: labelsOf(run, installation),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
    },
    spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: labelsOf(run, installation) },
  };
}

/** Whole seconds, and one at least: none would delete the object while the process still runs. */
export function graceSecondsOf(graceMs: number): number {
  return Math.max(1, Math.ceil(graceMs / 1000));
}

const addressVariables = ['MASTER_ADDR', 'PET_MASTER_ADDR', 'MUSTER_MASTER_ADDR', 'SLURM_LAUNCH_NODE_IPADDR'];
const addressAndPort = 'JAX_COORDINATOR_ADDRESS';

/** The plan names the node of rank 0; tasks in pods meet at the pod of rank 0. What a user set to something else stays. */
function rendezvous(
  env: Readonly<Record<string, string>>,
  run: RunId,
  tasks: number,
  namespace: string,
): Record<string, string> {
  const planned = env.MUSTER_MASTER_ADDR;
  const changed: Record<string, string> = { ...env };
  if (planned === undefined) return changed;
  const master = tasks > 1 ? `${hostName(0)}.${serviceName(run)}.${namespace}.svc` : 'localhost';
  for (const name of addressVariables) if (env[name] === planned) changed[name] = master;
  const coordinator = env[addressAndPort];
  if (coordinator?.startsWith(`${planned}:`))
    changed[addressAndPort] = `${master}${coordinator.slice(planned.length)}`;
  return changed;
}

const checkpointDirectory = '/muster/checkpoints';

function volumesOf({ askSignal }: StartCommand, { checkpoints }: PodSettings): object {
  const volumes: object[] = askSignal ? [askVolume] : [];
  if (checkpoints !== null) {
    const source =
      'claim' in checkpoints
        ? { persistentVolumeClaim: { claimName: checkpoints.claim } }
        : { hostPath: { path: checkpoints.path, type: 'Directory' } };
    volumes.push({ name: 'checkpoints', ...source });
  }
  return volumes.length === 0 ? {} : { volumes };
}

function mountsOf({ run, askSignal }: StartCommand, { checkpoints }: PodSettings): object {
  const volumeMounts: object[] = askSignal ? [askMount] : [];
  if (checkpoints !== null) {
    const subPath = checkpointFolder(run);
    volumeMounts.push({ name: 'checkpoints', mountPath: checkpointDirectory, subPath });
  }
  return volumeMounts.length === 0 ? {} : { volumeMounts };
}

/** Kubernetes reads $(NAME) in commands and variables, and $$ as one $. */
function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}

/** Kubernetes sends TERM; another signal is sent by a hook, which then waits, so that TERM does not follow at once. */
function signalHook(signal: SignalName): object {
  const script = `kill -s ${signal} 1; while kill -0 1 2> /dev/null; do sleep 0.1; done`;
  return { exec: { command: ['sh', '-c', script] } };
}

function countsOf(devices: Readonly<Record<string, number>>): Record<string, string> {
  return Object.fromEntries(Object.entries(devices).map(([name, count]) => [name, String(count)]));
}

function tolerationOf({ key, value, effect }: Toleration): object {
  return {
    key,
    ...(value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value }),
    ...(effect === undefined ? {} : { effect }),
  };
}
