// A node of Slurm as the engine sees any node. Features, partitions and switches become labels, so that a job can ask for them and
// a policy can name the levels of its topology by them: `switch-1`, then `switch-0`.
import type { Device, Inventory } from '@muster/model';
import type { SlurmNode } from './listing.ts';
import type { Taken } from './sight.ts';
import { slurmCapabilities, typesOf } from './submission.ts';

export interface InventorySettings {
  /** Ports that a plan may give to a rendezvous; Slurm does not manage any. */
  readonly ports: Inventory['ports'];
  /** What a device is, by Slurm's type of it; Slurm does not tell. */
  readonly device: (type: string) => { readonly model: string; readonly memoryMib: number };
}

/** What others hold of the node is not there for us. */
export function inventoryOf(
  node: SlurmNode,
  switches: ReadonlyMap<number, string>,
  { ports, device }: InventorySettings,
  taken: Taken | null = null,
  /** Places in the list of devices that count as those of others. */
  others: ReadonlySet<number> = new Set(),
): Inventory {
  const types = typesOf(node.gres);
  // Those at the end are left out; before others they keep the place of those, which are known by it.
  const count = 1 + types.findLastIndex((_, index) => !others.has(index));
  const devices: Device[] = types
    .slice(0, count)
    .map((type, index) =>
      others.has(index)
        ? { index, kind: 'taken', model: 'taken', memoryMib: 0, uuid: `${node.name}/${index}` }
        : { index, kind: 'gpu', ...device(type), uuid: `${node.name}/${index}` },
    );
  return {
    cpuMilli: Math.max(0, node.cpus - (taken?.cpus ?? 0)) * 1000,
    // Slurm gives cores whole.
    cpuStepMilli: 1000,
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
