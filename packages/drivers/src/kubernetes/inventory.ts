// A node of Kubernetes as the engine sees any node. Its labels are kept under their own names, so that a job can ask for them and a
// policy can name the levels of its topology by them (topology.kubernetes.io/zone). Devices have a model where a label tells it.
import { type Device, type Inventory, isLabelKey, isLabelValue } from '@muster/model';
import { cloudLabels } from './cloud-labels.ts';
import { deviceKinds, type KubeNode, type Taint } from './objects.ts';
import type { Toleration } from './pod.ts';
import type { Taken } from './taken.ts';

export interface KubeInventorySettings {
  readonly ports: Inventory['ports'];
  /** What pods that are not ours hold of it: it is not there for us. */
  readonly taken?: Taken | undefined;
}

/** Devices in the order in which a plan counts them, each with its resource. */
export function deviceResources({ devices }: Pick<KubeNode, 'devices'>): string[] {
  return Object.keys(deviceKinds).flatMap((name) => Array<string>(devices[name] ?? 0).fill(name));
}

/** Those of them that are free for us. Where a node has devices of two resources, an index would come to mean another one. */
function freeDevices(node: KubeNode, taken: Taken | undefined): string[] {
  const all = deviceResources(node);
  const [only] = all;
  if (only === undefined || new Set(all).size > 1) return all;
  return all.slice(0, Math.max(0, all.length - (taken?.devices[only] ?? 0)));
}

export function inventoryOf(node: KubeNode, { ports, taken }: KubeInventorySettings): Inventory {
  const memoryMib = Number(node.labels['nvidia.com/gpu.memory'] ?? 0) || 0;
  const devices: Device[] = freeDevices(node, taken).map((resource, index) => ({
    index,
    kind: deviceKinds[resource] ?? 'gpu',
    model: modelOf(resource, node.labels),
    memoryMib: resource === 'nvidia.com/gpu' ? memoryMib : 0,
    uuid: `${node.uid}/${index}`,
  }));
  const { capacity: _, ...own } = node.labels;
  const all = Object.entries({ ...own, ...cloudLabels(node.labels) });
  const labels = all.filter(([key, value]) => isLabelKey(key) && isLabelValue(value));
  return {
    cpuMilli: Math.max(0, node.cpuMilli - (taken?.cpuMilli ?? 0)),
    memoryMib: Math.max(0, node.memoryMib - (taken?.memoryMib ?? 0)),
    devices,
    labels: Object.fromEntries(labels),
    capabilities: ['containers', 'signals', 'unlike-groups', 'uneven-nodes'],
    address: node.address,
    ports,
  };
}

/** Why the cluster's own scheduler would put no pod with these tolerations on it; null when it would. */
export function closedOf(
  { ready, cordoned, taints }: KubeNode,
  tolerations: readonly Toleration[],
): string | null {
  if (!ready) return 'Kubernetes does not hear of its kubelet, or it is not ready';
  if (cordoned) return 'it is cordoned in Kubernetes';
  const kept = taints.find((taint) => !isTolerated(taint, tolerations));
  return kept ? `it has the taint ${kept.key}${kept.value && `=${kept.value}`}:${kept.effect}` : null;
}

function isTolerated({ key, value, effect }: Taint, tolerations: readonly Toleration[]): boolean {
  if (effect === 'PreferNoSchedule') return true;
  return tolerations.some(
    (one) =>
      one.key === key &&
      (one.value === undefined || one.value === value) &&
      (one.effect === undefined || one.effect === effect),
  );
}

/** By NVIDIA's own label first, then by Google's: "NVIDIA-H100-80GB-HBM3", "nvidia-h100-80gb", "tpu-v5-lite-podslice". */
function modelOf(resource: string, labels: Readonly<Record<string, string>>): string {
  if (resource === 'google.com/tpu') return tpuModel(labels['cloud.google.com/gke-tpu-accelerator'] ?? '');
  const product =
    labels['nvidia.com/gpu.product'] ??
    labels['amd.com/gpu.product-name'] ??
    labels['cloud.google.com/gke-accelerator'] ??
    '';
  const words = product
    .split(/[-_ ]/)
    .filter((word) => !/^(nvidia|amd|tesla|geforce|instinct|radeon|)$/i.test(word));
  const [first = 'unknown', second] = words;
  // "RTX-6000-Ada": a series has its number in the next word.
  const series = /^(rtx|gtx|quadro)$/i.test(first) && second !== undefined;
  return series
    ? `${first.toUpperCase()}-${second}${/^ada$/i.test(words[2] ?? '') ? '-Ada' : ''}`
    : known(first);
}

const known = (word: string): string => (word === 'unknown' ? word : word.toUpperCase());

const tpuModels: Readonly<Record<string, string>> = {
  'tpu-v4-podslice': 'v4',
  'tpu-v5-lite-podslice': 'v5e',
  'tpu-v5-lite-device': 'v5e',
  'tpu-v5p-slice': 'v5p',
  'tpu-v6e-slice': 'v6e',
};

function tpuModel(accelerator: string): string {
  return tpuModels[accelerator] ?? 'unknown';
}
