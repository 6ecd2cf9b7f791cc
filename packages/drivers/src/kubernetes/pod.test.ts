import type { RunId, StartCommand } from '@muster/model';
import { describe, expect, it } from 'vitest';
import { closedOf, inventoryOf } from './inventory.ts';
import { type KubeNode, readNode, readOtherPod } from './objects.ts';
import { graceSecondsOf, type PodSettings, podOf } from './pod.ts';

const settings: PodSettings = {
  namespace: 'muster',
  defaultImage: 'default:1',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  runtimeClassName: null,
  tolerations: [],
  checkpoints: null,
};
const env = {
  MUSTER_MASTER_ADDR: '10.0.0.1',
  MASTER_ADDR: '10.0.0.1',
  PET_MASTER_ADDR: 'mine',
  JAX_COORDINATOR_ADDRESS: '10.0.0.1:29400',
  PRICE: '$(MASTER_ADDR) $$',
};
const task = {
  rank: 1,
  command: ['sh', '-c', 'echo $(date) $HOME'],
  env,
  workdir: null,
  devices: [0, 1],
  cpuMilli: 500,
  memoryMib: 64,
};
const command: StartCommand = {
  run: 'run_000000000000000001_1' as RunId,
  job: 'job',
  project: 'default',
  user: 'ann',
  stop: { signal: 'TERM', graceMs: 1500 },
  timeLimitMs: null,
  stopAfterMs: null,
  outputLimitMib: 1,
  image: null,
  nodes: 2,
  tasks: [task],
};
const made = (more: Partial<StartCommand> = {}, tasks = 2) => {
  const placed = { task, node: 'n1', devices: { 'nvidia.com/gpu': 2 } };
  return podOf(placed, { ...command, ...more }, tasks, settings, 'ours') as {
    metadata: object;
    spec: { containers: [{ env: { name: string; value: string }[] }] };
  };
};
const variables = (pod: ReturnType<typeof made>): Record<string, string> =>
  Object.fromEntries(pod.spec.containers[0].env.map(({ name, value }) => [name, value]));

describe('the pod of a task', () => {
  it('has a name that follows from key and rank, and the devices by count', () => {
    expect(made()).toMatchObject({
      metadata: { name: 'run-000000000000000001-1-1', namespace: 'muster' },
      spec: {
        terminationGracePeriodSeconds: 2,
        subdomain: 'run-000000000000000001-1',
        hostname: 'task-1',
        containers: [
          { image: 'default:1', resources: { limits: { 'nvidia.com/gpu': '2', memory: '64Mi' } } },
        ],
      },
    });
    expect(made({ image: 'own:2' })).toMatchObject({ spec: { containers: [{ image: 'own:2' }] } });
  });

  it('meets at the pod of rank 0, and what a user set to something else stays', () => {
    const master = 'task-0.run-000000000000000001-1.muster.svc';
    expect(variables(made())).toMatchObject({
      MASTER_ADDR: master,
      MUSTER_MASTER_ADDR: master,
      PET_MASTER_ADDR: 'mine',
      JAX_COORDINATOR_ADDRESS: `${master}:29400`,
    });
    expect(variables(made({}, 1)).MASTER_ADDR).toBe('localhost');
  });

  it('leaves nothing for Kubernetes to fill in', () => {
    expect(made()).toMatchObject({
      spec: { containers: [{ command: ['sh', '-c', 'echo $$(date) $$HOME'] }] },
    });
    expect(variables(made()).PRICE).toBe('$$(MASTER_ADDR) $$$$');
  });

  it("has a directory for its checkpoints that is its job's alone, where the cluster has a volume for them", () => {
    const placed = { task, node: 'n1', devices: {} };
    const member = { ...command, run: 'run_000000000000000001_17-2' as RunId };
    const pod = podOf(placed, member, 1, { ...settings, checkpoints: { claim: 'shared' } }, 'ours');
    expect(pod).toMatchObject({
      spec: {
        volumes: [{ name: 'checkpoints', persistentVolumeClaim: { claimName: 'shared' } }],
        containers: [
          { volumeMounts: [{ mountPath: '/muster/checkpoints', subPath: 'job_000000000000000001/17' }] },
        ],
      },
    });
    expect(variables(pod as ReturnType<typeof made>).MUSTER_CHECKPOINT_DIR).toBe('/muster/checkpoints');
  });

  it('leaves somebody behind who asks it, only where its job can be asked', () => {
    expect(made({ askSignal: 'USR1' })).toMatchObject({
      spec: {
        volumes: [{ name: 'about', downwardAPI: { items: [{ path: 'ask' }] } }],
        containers: [
          {
            command: [
              'sh',
              '-c',
              expect.stringContaining('exec "$$@"'),
              'muster',
              ...['sh', '-c', 'echo $$(date) $$HOME'],
            ],
            volumeMounts: [{ name: 'about', mountPath: '/muster/about', readOnly: true }],
          },
        ],
      },
    });
    expect(made({ askSignal: null }).spec).not.toHaveProperty('volumes');
  });

  it('has no field that is not on the list', () => {
    const { metadata, spec } = made({ stop: { signal: 'USR1', graceMs: 0 } });
    expect(Object.keys(metadata).sort()).toEqual([
      'annotations',
      'finalizers',
      'labels',
      'name',
      'namespace',
    ]);
    expect(Object.keys(spec).sort()).toEqual([
      'automountServiceAccountToken',
      'containers',
      'enableServiceLinks',
      'hostname',
      'imagePullSecrets',
      'restartPolicy',
      'schedulerName',
      'securityContext',
      'shareProcessNamespace',
      'subdomain',
      'terminationGracePeriodSeconds',
      'tolerations',
    ]);
    expect(Object.keys(spec.containers[0]).sort()).toEqual([
      'command',
      'env',
      'image',
      'imagePullPolicy',
      'lifecycle',
      'name',
      'resources',
      'securityContext',
    ]);
  });

  it('has a grace of a second at least', () => {
    expect([0, 1, 1000, 1001].map(graceSecondsOf)).toEqual([1, 1, 1, 2]);
  });
});

describe('a node', () => {
  const node = (labels: Record<string, string>, more: object = {}, allocatable: object = {}): KubeNode =>
    readNode({
      metadata: { name: 'n1', uid: 'u1', labels },
      spec: more,
      status: {
        allocatable: { cpu: '8', memory: '32Gi', ...allocatable },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
  const ports = { first: 1, count: 1 };

  it.each([
    [{ 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3' }, 'nvidia.com/gpu', 'gpu', 'H100'],
    [{ 'nvidia.com/gpu.product': 'NVIDIA-RTX-6000-Ada-Generation' }, 'nvidia.com/gpu', 'gpu', 'RTX-6000-Ada'],
    [{ 'cloud.google.com/gke-accelerator': 'nvidia-tesla-t4' }, 'nvidia.com/gpu', 'gpu', 'T4'],
    [{ 'cloud.google.com/gke-tpu-accelerator': 'tpu-v5-lite-podslice' }, 'google.com/tpu', 'tpu', 'v5e'],
    [{}, 'nvidia.com/gpu', 'gpu', 'unknown'],
  ])('with the labels %j has devices of the model they tell', (labels, resource, kind, model) => {
    const { devices } = inventoryOf(node(labels, {}, { [resource]: '2' }), { ports });
    expect(devices.map((one) => [one.index, one.kind, one.model])).toEqual([
      [0, kind, model],
      [1, kind, model],
    ]);
  });

  it.each([
    [{ 'eks.amazonaws.com/capacityType': 'SPOT' }, { capacity: 'spot' }],
    [{ 'eks.amazonaws.com/capacityType': 'ON_DEMAND' }, { capacity: 'on-demand' }],
    [{ 'karpenter.sh/capacity-type': 'reserved' }, { capacity: 'reserved' }],
    [{ 'cloud.google.com/gke-spot': 'true' }, { capacity: 'spot' }],
    [{ 'cloud.google.com/gke-preemptible': 'true' }, { capacity: 'spot' }],
    [{ 'kubernetes.azure.com/scalesetpriority': 'spot' }, { capacity: 'spot' }],
    [{ 'kubernetes.azure.com/scalesetpriority': 'regular' }, { capacity: 'on-demand' }],
    [
      {
        'node.kubernetes.io/instance-type': 'p5.48xlarge',
        'topology.kubernetes.io/region': 'us-east-1',
        'topology.kubernetes.io/zone': 'us-east-1a',
      },
      { 'instance-type': 'p5.48xlarge', region: 'us-east-1', zone: 'us-east-1a' },
    ],
    // What an operator called so stands, but nobody but the cloud and the configuration says how a node is paid for.
    [{ region: 'here', 'topology.kubernetes.io/region': 'x', capacity: 'plenty' }, { region: 'here' }],
  ])('with the labels %j is priced by %j', (labels, priced) => {
    const told = inventoryOf(node(labels), { ports }).labels;
    const { capacity: _, ...own } = labels as Record<string, string>;
    expect(told).toEqual({ ...own, ...priced });
  });

  it('has what others do not hold', () => {
    const other = readOtherPod({
      spec: {
        nodeName: 'n1',
        containers: [{ resources: { requests: { cpu: '1', memory: '1Gi', 'nvidia.com/gpu': '3' } } }],
        initContainers: [{ restartPolicy: 'Always', resources: { requests: { cpu: '500m' } } }, {}],
      },
    });
    const inventory = inventoryOf(node({}, {}, { 'nvidia.com/gpu': '4' }), {
      ports,
      taken: other ?? undefined,
    });
    expect(inventory).toMatchObject({ cpuMilli: 6500, memoryMib: 31 * 1024 });
    expect(inventory.devices).toHaveLength(1);
  });

  it('is closed when it is cordoned or has a taint that is not tolerated', () => {
    const tainted = node({}, { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] });
    expect(closedOf(node({}), [])).toBeNull();
    expect(closedOf(node({}, { unschedulable: true }), [])).toMatch('cordoned');
    expect(closedOf(tainted, [])).toMatch('the taint gpu=yes:NoSchedule');
    expect(closedOf(tainted, [{ key: 'gpu' }])).toBeNull();
    expect(closedOf(tainted, [{ key: 'gpu', value: 'no' }])).not.toBeNull();
  });
});
