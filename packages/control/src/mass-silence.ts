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
  /** Freezes whose cause is over. */
  readonly thaw: readonly string[];
  /** Clusters on which nothing expires now. */
  readonly frozen: ReadonlySet<string>;
  /** Clusters whose silence has been dealt with (an operator spoke or the bound passed): not frozen again until it ends. */
  readonly spoken: ReadonlySet<string>;
}

/** `before` are the clusters the last look froze or found frozen; one that has vanished since was thawed by somebody. */
export function decideFreeze(
  clusters: readonly ClusterSilence[],
  freezes: readonly Freeze[],
  before: { readonly frozen: ReadonlySet<string>; readonly spoken: ReadonlySet<string> },
  nowMs: number,
): FreezeDecision {
  const standing = new Map(freezes.map((freeze) => [freeze.cluster, freeze]));
  const silent = clusters.filter(massSilence);
  const names = new Set(silent.map((cluster) => cluster.cluster));
  const spoken = new Set<string>();
  const frozen = new Set<string>();
  const freeze: ClusterSilence[] = [];
  for (const cluster of silent) {
    const name = cluster.cluster;
    const stands = standing.get(name);
    if (stands && stands.untilMs > nowMs) frozen.add(name);
    else if (stands || before.spoken.has(name) || before.frozen.has(name)) spoken.add(name);
    else {
      freeze.push(cluster);
      frozen.add(name);
    }
  }
  const thaw = freezes.map(({ cluster }) => cluster).filter((cluster) => !names.has(cluster));
  return { freeze, thaw, frozen, spoken };
}
