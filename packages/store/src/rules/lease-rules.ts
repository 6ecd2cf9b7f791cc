// When a node's lease is over, and how a node leaves: silent, lost or removed, nobody speaks for it until it says hello again.
import type { EventBody, NodeId, NodeState, NodeStateEvent, Reason, RunId } from '@muster/model';
import { stepNode } from '@muster/model';
import type { ExpireItem } from '../contract.ts';
import { tasksOn } from './node-rules.ts';
import type { NodeRecord, RunRecord } from './records.ts';
import { isOver } from './run-rules.ts';

/**
 * No renewal since the caller looked, and each run's stopAfter and margin have passed since the last. Where a cluster speaks for
 * the node nobody stops a run that is not renewed, so time proves nothing there.
 */
export function isDue(
  nowMs: number,
  node: NodeRecord,
  runs: ReadonlyMap<RunId, RunRecord>,
  item: ExpireItem,
): boolean {
  if (node.renewals !== item.renewals || node.renewedMs === null) return false;
  if (item.runs.length === 0 && node.state.state === 'ready') return false;
  if (item.runs.length > 0 && !node.leased) return false;
  const { renewedMs } = node;
  return item.runs.every((id) => {
    const run = runs.get(id);
    // A run that is over by now has nothing to expire; one that never stops by itself never expires.
    if (!run) return true;
    return run.stopAfterMs !== null && nowMs >= renewedMs + run.stopAfterMs + item.marginMs;
  });
}

export function holdsTasks(runs: readonly RunRecord[], node: NodeId): boolean {
  return runs.some((run) => tasksOn(run, node).some((task) => !isOver(task)));
}

export function leaseExpired({ name }: NodeRecord): Reason {
  return { code: 'lease-expired', message: `node ${name} stopped renewing its lease` };
}

export function declaredLost({ name }: NodeRecord, by: string): Reason {
  return { code: 'declared-lost', message: `${by} declared node ${name} lost` };
}

export type Leave = Exclude<NodeStateEvent, { kind: 'hello' }>;

/** Those that take the event, and the state each has then. */
export function leaving<N extends NodeRecord>(
  nodes: readonly N[],
  event: (node: N) => Leave,
): { readonly node: N; readonly next: NodeState }[] {
  return nodes.flatMap((node) => {
    const stepped = stepNode(node.state, event(node));
    return stepped.ok && stepped.next !== node.state ? [{ node, next: stepped.next }] : [];
  });
}

export function leftEvent({ id, name }: NodeRecord, state: NodeState, by: string): EventBody {
  switch (state.state) {
    case 'lost':
      return { kind: 'node.lost', node: id, name, reason: state.reason };
    case 'removed':
      return { kind: 'node.removed', node: id, name, by };
    default:
      return { kind: 'node.silent', node: id, name };
  }
}
