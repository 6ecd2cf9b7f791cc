// What a cloud says of its nodes, under the names that prices, constraints and the topology of Muster know: instance type, region, zone, and
// how the node is paid for. Each cloud has a label of its own for spot machines.
import type { capacityKinds } from '@muster/model';

type Labels = Readonly<Record<string, string>>;
type Capacity = (typeof capacityKinds)[number];

/** By label and value. */
const capacities: readonly (readonly [label: string, value: string, capacity: Capacity])[] = [
  ['eks.amazonaws.com/capacityType', 'SPOT', 'spot'],
  ['eks.amazonaws.com/capacityType', 'ON_DEMAND', 'on-demand'],
  ['eks.amazonaws.com/capacityType', 'CAPACITY_BLOCK', 'reserved'],
  ['cloud.google.com/gke-spot', 'true', 'spot'],
  ['cloud.google.com/gke-preemptible', 'true', 'spot'],
  ['kubernetes.azure.com/scalesetpriority', 'spot', 'spot'],
  ['kubernetes.azure.com/scalesetpriority', 'regular', 'on-demand'],
  ['karpenter.sh/capacity-type', 'spot', 'spot'],
  ['karpenter.sh/capacity-type', 'on-demand', 'on-demand'],
  ['karpenter.sh/capacity-type', 'reserved', 'reserved'],
];

const renamed: readonly (readonly [label: string, name: string])[] = [
  ['node.kubernetes.io/instance-type', 'instance-type'],
  ['topology.kubernetes.io/region', 'region'],
  ['topology.kubernetes.io/zone', 'zone'],
];

/** Those of them that its labels tell. A label that an operator gave the node under one of our own names stands, but for `capacity`. */
export function cloudLabels(labels: Labels): Record<string, string> {
  const told: Record<string, string> = {};
  for (const [label, name] of renamed) {
    const value = labels[name] ?? labels[label];
    if (value !== undefined) told[name] = value;
  }
  const capacity = capacities.find(([label, value]) => labels[label] === value)?.[2];
  if (capacity !== undefined) told.capacity = capacity;
  return told;
}
