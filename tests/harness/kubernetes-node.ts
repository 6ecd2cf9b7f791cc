// A node that runs real containers: Debian's containerd and a kubelet, in a network namespace of their own, with images made by
// hand. `nsenter --net` enters it, because `ip netns exec` hides the control groups. When it stops, everything that containers
// leave behind is taken away (packages/drivers/src/testing/container-leftovers.ts).

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import {
  cgroupRoot,
  cleanUp,
  componentPaths,
  controllers,
  type Daemon,
  type NodeNetwork,
  systemPath,
  type TestKubernetes,
} from '@muster/drivers/testing';
import { pauseImage, writeImages } from './oci-image.ts';
import { eventually } from './processes.ts';

const run = promisify(execFile);

export interface TestNode {
  readonly name: string;
  readonly kubelet: Daemon;
  readonly containerd: Daemon;
  readonly network: NodeNetwork;
}

export interface NodeOptions {
  /** The cluster's name server, for pods. */
  readonly dns?: string;
}

const nodesOf = new WeakMap<TestKubernetes, number>();

/** Starts one and waits until it is ready. */
export async function startNode(
  kubernetes: TestKubernetes,
  name: string,
  options: NodeOptions = {},
): Promise<TestNode> {
  const index = nodesOf.get(kubernetes) ?? 0;
  nodesOf.set(kubernetes, index + 1);
  const dir = join(kubernetes.dir, name);
  mkdirSync(dir);
  const network = kubernetes.network.addNode(index);
  kubernetes.onStop(() => cleanUp(kubernetes.dir));
  writeContainerd(dir, network);
  writeKubelet(dir, cgroupOf(kubernetes, name), network, options);
  const entered = (program: string, ...args: string[]): [string, ...string[]] =>
    [...network.enter, program, ...args] as unknown as [string, ...string[]];
  const containerd = kubernetes.daemon(
    `${name}-containerd`,
    ...entered('containerd', `--config=${dir}/containerd.toml`),
  );
  const kubelet = kubernetes.daemon(
    `${name}-kubelet`,
    ...entered(
      componentPaths.kubelet,
      `--config=${dir}/kubelet.json`,
      `--kubeconfig=${kubernetes.dir}/kubeconfig`,
      `--root-dir=${dir}/kubelet`,
      `--cert-dir=${dir}/pki`,
      `--hostname-override=${name}`,
      `--node-ip=${network.address}`,
    ),
  );
  containerd.start();
  const socket = join(dir, 'containerd.sock');
  const ctr = (...args: string[]): Promise<unknown> =>
    run('ctr', ['--address', socket, '--namespace', 'k8s.io', ...args], { env: { PATH: systemPath } });
  await eventually('containerd answers', 30_000, () => ctr('version'));
  for (const archive of writeImages(dir)) await ctr('images', 'import', '--snapshotter', 'native', archive);
  kubelet.start();
  await eventually(`${name} is ready (logs in ${kubernetes.dir})`, 60_000, async () => {
    const node = (await kubernetes.admin.call('GET', `/api/v1/nodes/${name}`)) as NodeObject;
    return node.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  });
  return { name, kubelet, containerd, network };
}

/** After both were killed: waits until its kubelet is heard of anew. */
export async function startNodeAgain(kubernetes: TestKubernetes, node: TestNode): Promise<void> {
  const { name, kubelet, containerd } = node;
  const renewed = async (): Promise<string> => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
    return ((await kubernetes.admin.call('GET', path)) as LeaseObject).spec.renewTime;
  };
  const before = await renewed();
  containerd.start();
  await eventually(`the kubelet of ${name} is heard of (logs in ${kubernetes.dir})`, 180_000, async () => {
    // One that does not find its containerd ready gives up.
    if (!kubelet.isRunning()) kubelet.start();
    return (await renewed()) !== before;
  });
}

interface LeaseObject {
  readonly spec: { readonly renewTime: string };
}

interface NodeObject {
  readonly status: { readonly conditions?: { readonly type: string; readonly status: string }[] };
}

const cgroupOf = ({ dir }: TestKubernetes, name: string): string => `${basename(dir)}-${name}`;

function writeContainerd(dir: string, { pods }: NodeNetwork): void {
  mkdirSync(join(dir, 'cni'));
  const network = {
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipam: {
          type: 'host-local',
          dataDir: `${dir}/addresses`,
          ranges: [[{ subnet: pods }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  };
  writeFileSync(join(dir, 'cni', 'pods.conflist'), JSON.stringify(network));
  const lines = [
    'version = 2',
    `root = "${dir}/containerd"`,
    `state = "${dir}/state"`,
    'disabled_plugins = ["io.containerd.internal.v1.opt"]',
    '[grpc]',
    `address = "${dir}/containerd.sock"`,
    '[plugins."io.containerd.grpc.v1.cri"]',
    `sandbox_image = "${pauseImage}"`,
    'restrict_oom_score_adj = true',
    'netns_mounts_under_state_dir = true',
    '[plugins."io.containerd.grpc.v1.cri".cni]',
    'bin_dir = "/usr/lib/cni"',
    `conf_dir = "${dir}/cni"`,
    '[plugins."io.containerd.grpc.v1.cri".containerd]',
    'snapshotter = "native"',
    '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]',
    'runtime_type = "io.containerd.runc.v2"',
  ];
  writeFileSync(join(dir, 'containerd.toml'), `${lines.join('\n')}\n`);
}

function writeKubelet(dir: string, cgroup: string, { address }: NodeNetwork, { dns }: NodeOptions): void {
  for (const controller of controllers())
    mkdirSync(join(cgroupRoot, controller, cgroup), { recursive: true });
  writeFileSync(join(dir, 'resolv.conf'), `nameserver ${dns ?? '127.0.0.1'}\n`);
  const settings = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: `unix://${dir}/containerd.sock`,
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    // Without control groups of pods (cgroupsPerQOS) it panics when a pod is removed while it is synchronised: it takes the missing
    // record of what it gave the container for a resize.
    featureGates: { InPlacePodVerticalScaling: false },
    failSwapOn: false,
    podLogsDir: `${dir}/logs`,
    staticPodPath: '',
    resolvConf: `${dir}/resolv.conf`,
    ...(dns === undefined ? {} : { clusterDNS: [dns], clusterDomain: 'cluster.local' }),
    nodeStatusUpdateFrequency: '2s',
    nodeLeaseDurationSeconds: 4,
    volumePluginDir: `${dir}/volume-plugins`,
    registerNode: true,
    // A machine's own disk may be fuller than it likes.
    evictionHard: { 'nodefs.available': '1%', 'imagefs.available': '1%', 'memory.available': '10Mi' },
    imageGCHighThresholdPercent: 100,
    shutdownGracePeriod: '0s',
  };
  writeFileSync(join(dir, 'kubelet.json'), JSON.stringify(settings));
}
