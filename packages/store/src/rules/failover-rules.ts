// What may start elsewhere although nobody knows whether it is over: runs in a lost cluster whose writes are refused from the next
// attempt on. Two words are needed for that, and neither is proof alone: the operator's, that the store of checkpoints refuses older
// attempts, and the job's, that it writes nowhere else. What is left of such a run is found by its key and stopped when the cluster
// is back.
import { fencedCode, hasFencedCheckpoints, hasNextAttempt, lostAfterMs, type Reason } from '@muster/model';
import type { ClusterRow } from '../contract.ts';
import { loseRun } from './node-rules.ts';
import type { Changes, NodeRecord, RunRecord } from './records.ts';
import { isOver } from './run-rules.ts';

export function mayFailOver({ config, state }: Pick<ClusterRow, 'config' | 'state'>): boolean {
  return state.state === 'lost' && hasFencedCheckpoints(config);
}

/** Its cluster is lost, so nobody will renew it: it need not be missed a second time, by its own beat. */
export function isUnheard({ config }: Pick<ClusterRow, 'config'>, node: NodeRecord, nowMs: number): boolean {
  const { state, renewedMs } = node;
  return state.state === 'ready' && renewedMs !== null && nowMs - renewedMs >= (lostAfterMs(config) ?? nowMs);
}

/** A run that is being stopped for good has no next attempt that would refuse it, so it waits for proof. */
export function isFenced({ job, state }: RunRecord): boolean {
  return job.fenced && hasNextAttempt(job.state, state, job.retry);
}

/** Its tasks on a silent node of the lost cluster; false when it has none there that is not over. */
export function fenceRun(changes: Changes, cluster: string, node: NodeRecord, run: RunRecord): boolean {
  if (!isFenced(run) || run.tasks.every((task) => task.node !== node.id || isOver(task))) return false;
  loseRun(changes, node, run, fencedReason(cluster, run.attempt));
  return true;
}

function fencedReason(cluster: string, attempt: number): Reason {
  const message = `cluster ${cluster} is lost; what attempt ${attempt} still writes is refused once the next one has begun`;
  return { code: fencedCode, message };
}
