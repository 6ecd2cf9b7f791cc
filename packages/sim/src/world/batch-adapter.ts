// A batch system of a virtual world as a cluster of the control plane: what it lists is what is seen. A Slurm is asked anew by every look; of
// a Kubernetes what was seen is kept, and behind until it is caught up with.
import type { ClusterDriver, ClusterReport, ClusterSight } from '@muster/control';
import { createBatchDriver } from '@muster/drivers/sim';
import type { Inventory, NodeId } from '@muster/model';
import type { BatchCluster } from './batch-cluster.ts';
import type { VirtualProcess } from './process.ts';

/** What is kept is of so long ago at most. */
const behindMs = 3000;

export function batchClusterDriver(
  cluster: BatchCluster,
  inventory: Inventory,
  process: VirtualProcess,
  isKept: boolean,
): ClusterDriver {
  const client = cluster.client(process);
  const nodes = new Map(cluster.deps.nodes.map((node) => [node, inventory]));
  let kept: { readonly sight: ClusterSight; readonly atMs: number } | null = null;

  async function list(): Promise<ClusterSight> {
    const { boot, settled, reports } = await client.list();
    // An end is told without a start, as a system that forgets quickly does.
    const reportsOf = (node: NodeId): ClusterReport[] =>
      reports(node).map((report) => ({ ...report, began: report.state === 'running' }));
    const listed = new Map(cluster.deps.nodes.map((node) => [node, reportsOf(node)]));
    return { boot: `boot-${boot}`, settled, nodes, reports: (node) => listed.get(node) ?? [] };
  }

  async function listAndKeep(): Promise<ClusterSight> {
    const atMs = process.clock.monotonicMs();
    const sight = await list();
    if (kept === null || kept.atMs <= atMs) kept = { sight, atMs };
    return sight;
  }

  return {
    ...createBatchDriver(client),
    async look() {
      if (!isKept) return list();
      const isFresh = kept !== null && process.clock.monotonicMs() - kept.atMs < behindMs;
      return kept !== null && isFresh ? kept.sight : listAndKeep();
    },
    async catchUp() {
      if (isKept) await listAndKeep();
    },
    forget: (run, node) => cluster.forget(run, node),
  };
}
