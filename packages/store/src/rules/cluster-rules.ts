// What becomes of the nodes of a cluster that was connected: which are new, and which take no work. A drain that comes from the
// cluster ends when the cluster says so; what an operator said of one node stands before it.
import {
  type ClusterConfig,
  type ClusterSign,
  type ClusterState,
  type Drain,
  type EventBody,
  lostAfterMs,
  placeOfRuns,
  stepCluster,
} from '@muster/model';
import type { AdmitNode, ClusterRow } from '../contract.ts';
import type { NodeRecord } from './records.ts';

/** Why a cluster is not added to these; null when it is. */
export function notAddedTo(
  rows: Iterable<Pick<ClusterRow, 'name' | 'config'>>,
  name: string,
  config: ClusterConfig,
): 'exists' | 'place-taken' | null {
  const all = [...rows];
  if (all.some((row) => row.name === name)) return 'exists';
  return isPlaceTaken(all, name, config) ? 'place-taken' : null;
}

/** Whether another cluster keeps its runs where this one would. */
export function isPlaceTaken(
  rows: Iterable<Pick<ClusterRow, 'name' | 'config'>>,
  name: string,
  config: ClusterConfig,
): boolean {
  const place = placeOfRuns(config);
  return place !== null && [...rows].some((row) => row.name !== name && placeOfRuns(row.config) === place);
}

const unlisted = 'the cluster no longer lists it';

/** The drain that a node shall have by its cluster's word; null when it may take work. */
export function drainByCluster(
  { name, drain }: Pick<ClusterRow, 'name' | 'drain'>,
  closed: string | null,
  nowMs: number,
): Drain | null {
  if (drain)
    return { by: drain.by, reason: `cluster ${name}: ${drain.reason}`, sinceMs: nowMs, cluster: true };
  return closed === null ? null : { by: `cluster ${name}`, reason: closed, sinceMs: nowMs, cluster: true };
}

/** Why a node of the cluster takes no work there, as the listing has it. */
export function closedOf(listed: ReadonlyMap<string, AdmitNode>, knownAs: string): string | null {
  const item = listed.get(knownAs);
  return item ? item.closed : unlisted;
}

/** `same` when nothing changes: the drain says so already, or an operator's stands. */
export function drainAfterCluster(
  { drain }: Pick<NodeRecord, 'drain'>,
  wish: Drain | null,
): Drain | null | 'same' {
  if (drain && !drain.cluster) return 'same';
  if (!drain || !wish) return drain === wish ? 'same' : wish;
  return drain.by === wish.by && drain.reason === wish.reason ? 'same' : wish;
}

/** The state it has then, and what is told of it; null when nothing changed. */
export function notedCluster(
  { name, state, config }: Pick<ClusterRow, 'name' | 'state' | 'config'>,
  sign: ClusterSign,
  nowMs: number,
): { readonly state: ClusterState; readonly event: EventBody } | null {
  const next = stepCluster(state, sign, lostAfterMs(config) ?? Number.POSITIVE_INFINITY, nowMs);
  if (next === state) return null;
  if (next.state === 'degraded' || next.state === 'lost')
    return { state: next, event: { kind: `cluster.${next.state}`, cluster: name, reason: next.reason } };
  return { state: next, event: { kind: 'cluster.connected', cluster: name } };
}
