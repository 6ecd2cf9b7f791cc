// A batch system of a virtual world as a cluster of the control plane: what it lists is what is seen.
import type { ClusterDriver, ClusterSight } from '@muster/control';
import { createBatchDriver } from '@muster/drivers/sim';
import type { Inventory } from '@muster/model';
import type { BatchCluster } from './batch-cluster.ts';
import type { VirtualProcess } from './process.ts';

export function batchClusterDriver(
  cluster: BatchCluster,
  inventory: Inventory,
  process: VirtualProcess,
): ClusterDriver {
  const client = cluster.client(process);
  const nodes = new Map(cluster.deps.nodes.map((node) => [node, inventory]));
  return {
    ...createBatchDriver(client),
    async look(): Promise<ClusterSight> {
      const { boot, settled, reports } = await client.list();
      return {
        boot: `boot-${boot}`,
        settled,
        nodes,
        // An end is told without a start, as a system that forgets quickly does.
        reports: (node) => reports(node).map((report) => ({ ...report, began: report.state === 'running' })),
      };
    },
    // Every look asks anew.
    catchUp: async () => {},
    forget: (run, node) => cluster.forget(run, node),
  };
}
