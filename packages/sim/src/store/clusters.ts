// Clusters that an operator connected, and the nodes that they list.
import {
  type ClusterConfig,
  type ClusterSign,
  type ClusterState,
  type ConfigRefusal,
  canonicalJson,
  configRefusal,
  type Drain,
  type EventBody,
  type RunId,
} from '@muster/model';
import type { AdmitNode, Admitted, ClusterNotAdded, ClusterRow, ClusterSums, Outcome } from '@muster/store';
import {
  Changes,
  closedOf,
  drainAfterCluster,
  drainByCluster,
  drainedEvent,
  fenceRun,
  isPlaceTaken,
  isUnheard,
  mayFailOver,
  notAddedTo,
  notedCluster,
  silenceNode,
} from '@muster/store/rules';
import { applyChanges } from './apply.ts';
import type { MemoryDatabase, Tx } from './database.ts';
import { leaveNodes } from './liveness.ts';
import { loadNodes } from './load.ts';
import { freshNode, named } from './node-admin.ts';
import { byId, isNodeState, type StoredNode, type StoredRun, type Tables } from './tables.ts';

export function clusters({ tables }: MemoryDatabase): readonly ClusterRow[] {
  return [...tables.clusters.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function clusterSums({ tables }: MemoryDatabase): readonly ClusterSums[] {
  const names = new Set([...tables.nodes.values()].map(({ cluster }) => cluster));
  return [...names].sort().flatMap((cluster) => {
    const nodes = nodesOf(tables, cluster);
    if (nodes.length === 0) return [];
    const ready = nodes.filter((node) => isNodeState(node, 'ready'));
    const runsOn = (some: readonly StoredNode[]): number => {
      const ids = new Set(some.map(({ id }) => id));
      const holds = ({ tasks }: StoredRun): boolean =>
        tasks.some(({ node, state }) => ids.has(node) && state.state !== 'ended');
      return [...tables.liveRuns.values()].filter(holds).length;
    };
    return [
      {
        cluster,
        nodes: nodes.length,
        ready: ready.length,
        open: ready.filter(({ drain }) => drain === null).length,
        devices: nodes.reduce((sum, { devices }) => sum + devices, 0),
        devicesUsed: nodes.reduce(
          (sum, node) => sum + node.devicesUsed.filter((milli) => milli > 0).length,
          0,
        ),
        runs: runsOn(nodes),
        unproven: runsOn(nodes.filter((node) => isNodeState(node, 'silent'))),
      },
    ];
  });
}

function nodesOf(tables: Tables, cluster: string): StoredNode[] {
  const present = [...tables.nodes.values()].filter((node) => !isNodeState(node, 'removed'));
  return byId(present.filter((node) => node.cluster === cluster));
}

const spokenFor = (node: StoredNode): boolean => node.knownAs !== null;

export function addCluster(
  database: MemoryDatabase,
  name: string,
  config: ClusterConfig,
  by: string,
): Outcome<null, ClusterNotAdded> {
  return settled(database, (tx) => {
    const agents = nodesOf(tx.tables, name).some((node) => !spokenFor(node));
    if (config.kind !== 'agent' && agents) return 'has-agents';
    const refusal = notAddedTo(tx.tables.clusters.values(), name, config);
    if (refusal !== null) return refusal;
    const made = { createdMs: tx.nowMs, createdBy: by };
    const state: ClusterState = { state: 'new', sinceMs: tx.nowMs };
    tx.tables.clusters.set(name, { name, config, state, drain: null, answeredMs: null, ...made });
    append(tx, { kind: 'cluster.added', cluster: name, config, by });
    return { value: null };
  });
}

export function setCluster(
  database: MemoryDatabase,
  name: string,
  config: ClusterConfig,
  by: string,
): Outcome<null, 'not-found' | 'place-taken' | ConfigRefusal> {
  return settled(database, (tx) => {
    const cluster = tx.tables.clusters.get(name);
    if (!cluster) return 'not-found';
    if (canonicalJson(cluster.config) === canonicalJson(config)) return { value: null };
    const nodes = nodesOf(tx.tables, name);
    const held = { nodes: nodes.length, runs: nodes.reduce((sum, { runs }) => sum + runs, 0) };
    const refusal = configRefusal(cluster.config, config, held);
    if (refusal) return refusal;
    if (isPlaceTaken(tx.tables.clusters.values(), name, config)) return 'place-taken';
    tx.tables.clusters.set(name, { ...cluster, config });
    append(tx, { kind: 'cluster.changed', cluster: name, config, by });
    return { value: null };
  });
}

export function drainCluster(
  database: MemoryDatabase,
  name: string,
  wish: Pick<Drain, 'by' | 'reason'> | null,
  by: string,
): Outcome<null, 'not-found'> {
  return settled(database, (tx) => {
    const cluster = tx.tables.clusters.get(name);
    if (!cluster) return 'not-found';
    if (wish === null && cluster.drain === null) return { value: null };
    const drain: Drain | null = wish && { by: wish.by, reason: wish.reason, sinceMs: tx.nowMs };
    tx.tables.clusters.set(name, { ...cluster, drain });
    append(
      tx,
      drain
        ? { kind: 'cluster.drained', cluster: name, drain }
        : { kind: 'cluster.undrained', cluster: name, by },
    );
    drainNodes(tx, nodesOf(tx.tables, name), () => drainByCluster({ name, drain }, null, tx.nowMs), by);
    return { value: null };
  });
}

function drainNodes(
  tx: Tx,
  nodes: readonly StoredNode[],
  wish: (node: StoredNode) => Drain | null,
  by: string,
): void {
  for (const node of nodes) {
    const drain = drainAfterCluster(node, wish(node));
    if (drain === 'same') continue;
    node.drain = drain;
    // Of a node that has never spoken nobody has heard yet.
    if (node.generation > 0) append(tx, drainedEvent(node, drain, by));
  }
}

export function removeCluster(
  database: MemoryDatabase,
  name: string,
  by: string,
): Outcome<null, 'not-found' | 'in-use'> {
  return settled(database, (tx) => {
    if (!tx.tables.clusters.has(name)) return 'not-found';
    const nodes = nodesOf(tx.tables, name).filter(spokenFor);
    if (nodes.some(({ runs }) => runs > 0)) return 'in-use';
    leaveNodes(tx, nodes, () => ({ kind: 'remove', nowMs: tx.nowMs }), by);
    tx.tables.clusters.delete(name);
    append(tx, { kind: 'cluster.removed', cluster: name, by });
    return { value: null };
  });
}

export function admitNodes(
  database: MemoryDatabase,
  epoch: number,
  name: string,
  listed: readonly AdmitNode[],
): Outcome<Admitted, 'stale-epoch' | 'not-found'> {
  return settled(database, (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const cluster = tx.tables.clusters.get(name);
    if (!cluster) return 'not-found';
    const byName = new Map(listed.map((item) => [item.knownAs, item]));
    const drainOf = (knownAs: string): Drain | null =>
      drainByCluster(cluster, closedOf(byName, knownAs), tx.nowMs);
    const before = nodesOf(tx.tables, name).filter(spokenFor);
    drainNodes(tx, before, ({ knownAs }) => drainOf(knownAs ?? ''), cluster.name);
    const known = new Set(before.map(({ knownAs }) => knownAs));
    const refused: string[] = [];
    for (const item of listed.filter(({ knownAs }) => !known.has(knownAs))) {
      if (named(tx.tables, item.name)) refused.push(item.knownAs);
      else tx.tables.nodes.set(item.node, admitted(item, cluster, drainOf(item.knownAs), tx.nowMs));
    }
    const nodes = nodesOf(tx.tables, name).flatMap(({ id, knownAs }) =>
      knownAs === null ? [] : [{ node: id, knownAs }],
    );
    return { value: { nodes, refused } };
  });
}

function admitted(item: AdmitNode, cluster: ClusterRow, drain: Drain | null, nowMs: number): StoredNode {
  const { node, name, knownAs } = item;
  const place = { cluster: cluster.name, pool: cluster.config.pool };
  return { ...freshNode({ node, name, publicKey: '' }, place, nowMs), leased: false, knownAs, drain };
}

export function noteCluster(
  database: MemoryDatabase,
  epoch: number,
  name: string,
  sign: ClusterSign,
): Outcome<ClusterState, 'stale-epoch' | 'not-found'> {
  return settled(database, (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const cluster = tx.tables.clusters.get(name);
    if (!cluster) return 'not-found';
    const noted = notedCluster(cluster, sign, tx.nowMs);
    const state = noted?.state ?? cluster.state;
    const answeredMs = sign.kind === 'answer' ? tx.nowMs : cluster.answeredMs;
    tx.tables.clusters.set(name, { ...cluster, state, answeredMs });
    if (noted) append(tx, noted.event);
    return { value: state };
  });
}

/** The runs that may start elsewhere now. */
export function failOver(
  database: MemoryDatabase,
  epoch: number,
  name: string,
): Outcome<readonly RunId[], 'stale-epoch' | 'not-found'> {
  return settled(database, (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const cluster = tx.tables.clusters.get(name);
    if (!cluster) return 'not-found';
    if (!mayFailOver(cluster)) return { value: [] };
    const nodes = nodesOf(tx.tables, name).filter(spokenFor);
    const loaded = loadNodes(
      tx.tables,
      nodes.map(({ id }) => id),
    );
    const changes = new Changes(tx.nowMs);
    const unheard = nodes.filter((node) => isUnheard(cluster, node, tx.nowMs));
    leaveNodes(tx, unheard, () => ({ kind: 'silence', nowMs: tx.nowMs }));
    for (const node of unheard) silenceNode(changes, node, loaded.runsOn(node.id));
    const silent = nodes.filter((node) => isNodeState(node, 'silent'));
    const fenced = silent.flatMap((node) =>
      loaded.runsOn(node.id).filter((run) => fenceRun(changes, name, node, run)),
    );
    applyChanges(tx, changes);
    return { value: [...new Set(fenced.map(({ id }) => id))] };
  });
}

function append(tx: Tx, body: EventBody): void {
  tx.append([{ body, project: null }]);
}

function settled<T, Refusal extends string>(
  database: MemoryDatabase,
  body: (tx: Tx) => { readonly value: T } | Refusal,
): Outcome<T, Refusal> {
  const { value, sequence } = database.write(body);
  return typeof value === 'string'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value: value.value };
}
