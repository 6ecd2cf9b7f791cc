// The mass-silence rule: when at least 3 and more than a fifth of a cluster's nodes are silent at once, the network or we
// are more likely broken than all of them. Nothing is rescheduled then until an operator speaks or, for leased agents,
// 5 minutes pass. Pure: the expire loop feeds it and carries out what it says.
import type { Freeze, Lease } from '@muster/store';

export interface ClusterSilence {
  readonly cluster: string;
  readonly silent: number;
  readonly nodes: number;
}

export const freezeMs = 300_000;
const silentNodesMin = 3;

export function massSilence({ silent, nodes }: ClusterSilence): boolean {
  return silent >= silentNodesMin && silent * 5 > nodes;
}

/** Nodes known to be lost or removed are old news and do not count. */
export function silenceByCluster(leases: readonly Lease[]): ClusterSilence[] {
  const clusters = new Map<string, { silent: number; nodes: number }>();
  for (const { cluster, state } of leases) {
    if (state !== 'ready' && state !== 'silent') continue;
    const counts = clusters.get(cluster) ?? { silent: 0, nodes: 0 };
    counts.nodes++;
    if (state === 'silent') counts.silent++;
    clusters.set(cluster, counts);
  }
  return [...clusters]
    .map(([cluster, counts]) => ({ cluster, ...counts }))
    .sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
}

export interface FreezeDecision {
  readonly freeze: readonly ClusterSilence[];
  /** Clusters whose silence is over. */
  readonly over: readonly string[];
  /** Clusters on which nothing expires now. */
  readonly frozen: ReadonlySet<string>;
}

/** A freeze that is no longer in force was dealt with, by an operator or by its bound: its cluster is not frozen again for the same silence. */
export function decideFreeze(
  clusters: readonly ClusterSilence[],
  freezes: readonly Freeze[],
  nowMs: number,
): FreezeDecision {
  const silent = clusters.filter(massSilence);
  const names = new Set(silent.map(({ cluster }) => cluster));
  const known = new Set(freezes.map(({ cluster }) => cluster));
  const freeze = silent.filter(({ cluster }) => !known.has(cluster));
  const standing = freezes.filter(({ cluster, untilMs }) => names.has(cluster) && untilMs > nowMs);
  return {
    freeze,
    over: freezes.map(({ cluster }) => cluster).filter((cluster) => !names.has(cluster)),
    frozen: new Set([...freeze, ...standing].map(({ cluster }) => cluster)),
  };
}
