// One look at a cluster, for an operator who wants to know whether it is connected right: what it lists, and what it cannot do.
import {
  claimsNothing,
  type DriverCapabilities,
  type ListedNode,
  type Ownership,
  ownershipOf,
} from '@muster/drivers';
import { type Capability, type ClusterTestView, capabilityTexts, placeOfRuns } from '@muster/model';
import type { ClusterRow } from '@muster/store';
import type { Connect, DrivenConfig } from './clusters.ts';

/** Whose test it is, and the clusters that are connected already. */
export interface Looker {
  readonly installation: string;
  readonly server: string;
  readonly clusters: readonly Pick<ClusterRow, 'name' | 'config'>[];
}

export async function testCluster(
  config: DrivenConfig,
  who: Looker,
  connect: Connect,
): Promise<ClusterTestView> {
  const driver = connect(config, { ownership: ownershipFor(config, who), nodeName: () => null });
  const { kind } = config;
  const lacks = lacking(driver.capabilities);
  try {
    const { settled, nodes, reports } = await driver.look();
    const runs = new Set([...reports.values()].flat().map(({ run }) => run)).size;
    return { kind, answered: true, error: null, settled, nodes: nodes.map(nodeView), runs, lacks };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind, answered: false, error: message, settled: false, nodes: [], runs: 0, lacks };
  } finally {
    await driver.close();
  }
}

/** A cluster that is connected is known by the place of its runs; one that is not has no name yet. */
function ownershipFor(config: DrivenConfig, { installation, server, clusters }: Looker): Ownership {
  const connected = clusters.find((row) => placeOfRuns(row.config) === placeOfRuns(config));
  const owner = { installation, cluster: connected?.name ?? '', server };
  const names = clusters.map(({ name }) => name);
  return ownershipOf(owner, () => names, claimsNothing);
}

function lacking({ has, assigns }: DriverCapabilities): string[] {
  const all = Object.keys(capabilityTexts) as Capability[];
  const missing = all.filter((one) => !has.includes(one)).map((one) => capabilityTexts[one]);
  return assigns === 'count' ? [...missing, 'it chooses the devices of a task itself, by count'] : missing;
}

function nodeView({ name, closed, inventory }: ListedNode): ClusterTestView['nodes'][number] {
  const devices: Record<string, number> = {};
  for (const { model } of inventory.devices) devices[model] = (devices[model] ?? 0) + 1;
  const { cpuMilli, memoryMib, labels } = inventory;
  return { name, closed, cpuMilli, memoryMib, devices, labels };
}
