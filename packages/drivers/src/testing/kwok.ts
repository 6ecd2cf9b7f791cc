// Nodes without machines: kwok plays the kubelets of any number of nodes on a real API server, so that scale and speed can be
// tried on one machine. Its own stages (built with it) make nodes ready and pods running; two of ours end pods as a kubelet does.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { componentPaths } from './components.ts';
import type { Daemon } from './daemon.ts';
import { eventually } from './eventually.ts';
import type { TestKubernetes } from './kubernetes.ts';

export interface KwokOptions {
  /** What a real kubelet has; each node renews its lease four times in that time, and that is work for the API server. */
  readonly leaseSeconds?: number;
}

const stages = [
  'node/fast/node-initialize.yaml',
  'node/heartbeat-with-lease/node-heartbeat-with-lease.yaml',
  'pod/fast/pod-ready.yaml',
  'pod/fast/pod-delete.yaml',
];
const addAtOnce = 32;

export interface Kwok {
  readonly daemon: Daemon;
  readonly nodes: readonly string[];
}

/** `nodes`: how many it plays; they are there and ready when this resolves. */
export async function startKwok(
  kubernetes: TestKubernetes,
  nodes: number,
  { leaseSeconds = 40 }: KwokOptions = {},
): Promise<Kwok> {
  const { dir } = kubernetes;
  const own = join(dir, 'stages.yaml');
  writeFileSync(own, [settings, endedStage('true', succeeds), endedStage('stop', deadline)].join('---\n'));
  const kept = join(dirname(componentPaths.kwok), 'stage');
  const daemon = kubernetes.daemon(
    'kwok',
    componentPaths.kwok,
    `--kubeconfig=${dir}/kubeconfig`,
    '--manage-all-nodes=true',
    `--node-lease-duration-seconds=${leaseSeconds}`,
    '--cidr=10.0.0.1/8',
    '--node-ip=127.0.0.1',
    '--server-address=',
    ...[own, ...stages.map((name) => join(kept, name))].map((file) => `--config=${file}`),
  );
  daemon.start();
  const names = Array.from({ length: nodes }, (_, i) => `kwok-${i}`);
  await inLanes(names, addAtOnce, (name) => kubernetes.admin.call('POST', '/api/v1/nodes', nodeOf(name)));
  await eventually(`kwok plays ${nodes} nodes (logs in ${dir})`, 60_000 + nodes * 50, async () => {
    const last = names.at(-1);
    if (last === undefined) return true;
    const seen = (await kubernetes.admin.call('GET', `/api/v1/nodes/${last}`)) as NodeObject;
    return seen.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  });
  return { daemon, nodes: names };
}

interface NodeObject {
  readonly status: { readonly conditions?: { readonly type: string; readonly status: string }[] };
}

/** So many calls at a time. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  act: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
}

function nodeOf(name: string): object {
  const number = Number(name.split('-')[1]);
  const has = { cpu: '128', memory: '1Ti', pods: '200', 'nvidia.com/gpu': '8' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'topology.kubernetes.io/zone': `zone-${number % 4}`,
        'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3',
        'nvidia.com/gpu.memory': '81559',
      },
    },
    status: { allocatable: has, capacity: has, phase: 'Running' },
  };
}

/** Nodes come all at once. Pods at kwok's usual pace: with more at a time it plays some of them twice. */
const settings = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 4
  nodePlayStageParallelism: 32
  nodeLeaseParallelism: 8
`;

interface Ending {
  /** When a running pod ends so. */
  readonly key: string;
  readonly values: readonly string[] | null;
  readonly phase: string;
  readonly reason: string;
  readonly exitCode: number;
}

/** A task whose program is `true`. */
const succeeds: Ending = {
  key: '.spec.containers.[0].command.[0]',
  values: ['true'],
  phase: 'Succeeded',
  reason: '',
  exitCode: 0,
};
/** A deadline that has passed, which is how Muster has a kubelet end a pod. */
const deadline: Ending = {
  key: '.metadata.annotations["muster/stop"]',
  values: null,
  phase: 'Failed',
  reason: 'DeadlineExceeded',
  exitCode: 143,
};

function endedStage(name: string, { key, values, phase, reason, exitCode }: Ending): string {
  const is = values === null ? 'operator: Exists' : `operator: In\n      values: ${JSON.stringify(values)}`;
  return `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-ended-${name}
spec:
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchExpressions:
    - key: '.metadata.deletionTimestamp'
      operator: DoesNotExist
    - key: '.status.phase'
      operator: In
      values: ["Running"]
    - key: '${key}'
      ${is}
  next:
    statusTemplate: |
      {{ $now := Now }}
      containerStatuses:
      {{ range .spec.containers }}
      - image: {{ .image | Quote }}
        name: {{ .name | Quote }}
        ready: false
        restartCount: 0
        state:
          terminated:
            exitCode: ${exitCode}
            finishedAt: {{ $now | Quote }}
            reason: ${exitCode === 0 ? 'Completed' : 'Error'}
            startedAt: {{ $now | Quote }}
      {{ end }}
      phase: ${phase}
      ${reason === '' ? '' : `reason: ${reason}`}
`;
}
