// A node of Slurm as the engine sees any node. Features, partitions and switches become labels, so that a job can ask for them and
// a policy can name the levels of its topology by them: `switch-1`, then `switch-0`.
import type { Device, Inventory } from '@muster/model';
import type { SlurmNode } from './listing.ts';
import { deviceGres } from './submission.ts';

export interface InventorySettings {
  /** Ports that a plan may give to a rendezvous; Slurm does not manage any. */
  readonly ports: Inventory['ports'];
  /** Memory of one device by Slurm's type of it; Slurm does not tell. */
  readonly deviceMemoryMib: (type: string) => number;
}

export function inventoryOf(
  node: SlurmNode,
  switches: ReadonlyMap<number, string>,
  { ports, deviceMemoryMib }: InventorySettings,
): Inventory {
  const devices: Device[] = [];
  for (const { name, type, count } of deviceGres(node.gres))
    for (let i = 0; i < count; i++) {
      const index = devices.length;
      const model = type === '' ? 'unknown' : type;
      devices.push({
        index,
        kind: name,
        model,
        memoryMib: deviceMemoryMib(type),
        uuid: `${node.name}/${index}`,
      });
    }
  return {
    cpuMilli: node.cpus * 1000,
    memoryMib: node.memoryMib,
    devices,
    labels: Object.fromEntries([
      ...node.features.map((feature) => [`feature-${feature}`, 'yes']),
      ...node.partitions.map((partition) => [`partition-${partition}`, 'yes']),
      ...[...switches].map(([level, name]) => [`switch-${level}`, name]),
    ]),
    capabilities: ['signals'],
    address: node.address,
    ports,
  };
}
