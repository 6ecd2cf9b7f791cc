// A cluster as people see it: what was configured, whether it answers, and what its nodes have together.
import type { ClusterView } from '@muster/model';
import type { ClusterRow, ClusterSums } from '@muster/store';
import { time } from './time-text.ts';

export interface SeenCluster {
  readonly name: string;
  /** Null for one that exists by its agents alone. */
  readonly row: ClusterRow | null;
  /** Null for one without a node. */
  readonly sums: ClusterSums | null;
  /** The address of the server that leads; null when nobody does. */
  readonly leaderUrl: string | null;
}

export function clusterView({ name, row, sums, leaderUrl }: SeenCluster): ClusterView {
  const { nodes = 0, ready = 0, open = 0, devices = 0, devicesUsed = 0, runs = 0, unproven = 0 } = sums ?? {};
  const state = row === null || row.config.kind === 'agent' ? null : row.state;
  return {
    name,
    kind: row?.config.kind ?? 'agent',
    config: row?.config ?? null,
    serverUrl: row && row.config.kind !== 'agent' ? (row.config.serverUrl ?? leaderUrl) : null,
    // Agents are heard or not one by one; their cluster has nobody else who could answer.
    state: state?.state ?? 'connected',
    stateSince: state ? time(state.sinceMs) : null,
    reason: state?.state === 'degraded' || state?.state === 'lost' ? state.reason : null,
    answeredAt: row && row.answeredMs !== null ? time(row.answeredMs) : null,
    drain: row?.drain ? { by: row.drain.by, reason: row.drain.reason, since: time(row.drain.sinceMs) } : null,
    nodes: { total: nodes, ready, open },
    devices: { total: devices, used: devicesUsed },
    runs,
    unproven,
    createdAt: row ? time(row.createdMs) : null,
    createdBy: row?.createdBy ?? null,
  };
}
