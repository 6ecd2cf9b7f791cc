// A node of Slurm as the engine sees any node. Features, partitions and switches become labels, so that a job can ask for them and
// a policy can name the levels of its topology by them: `switch-1`, then `switch-0`.
import type { Device, Inventory } from '@muster/model';
import type { SlurmNode } from './listing.ts';
import type { Taken } from './sight.ts';
import { deviceGres, slurmCapabilities } from './submission.ts';

export interface InventorySettings {
  /** Ports that a plan may give to a rendezvous; Slurm does not manage any. */
  readonly ports: Inventory['ports'];
  /** What a device is, by Slurm's type of it; Slurm does not tell. */
  readonly device: (type: string) => { readonly model: string; readonly memoryMib: number };
}

/**
 * What others hold of the node is not there for us; Slurm chooses which devices are left. Of devices of several types none is left
 * out: a plan names devices by their place in the list, which would mean another type then.
 */
export function inventoryOf(
  node: SlurmNode,
  switches: ReadonlyMap<number, string>,
  { ports, device }: InventorySettings,
  taken: Taken | null = null,
): Inventory {
  const devices: Device[] = [];
  const types = deviceGres(node.gres);
  for (const { name, type, count } of types) {
    const others = types.length === 1 ? (taken?.devices.get(type) ?? 0) : 0;
    for (let i = 0; i < count - others; i++) {
      const index = devices.length;
      devices.push({ index, kind: name, ...device(type), uuid: `${node.name}/${index}` });
    }
  }
  return {
    cpuMilli: Math.max(0, node.cpus - (taken?.cpus ?? 0)) * 1000,
    memoryMib: Math.max(0, node.memoryMib - (taken?.memoryMib ?? 0)),
    devices,
    labels: Object.fromEntries([
      ...node.features.map((feature) => [`feature-${feature}`, 'yes']),
      ...node.partitions.map((partition) => [`partition-${partition}`, 'yes']),
      ...[...switches].map(([level, name]) => [`switch-${level}`, name]),
    ]),
    capabilities: slurmCapabilities,
    address: node.address,
    ports,
  };
}
