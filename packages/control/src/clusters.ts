// The clusters that an operator connected, on the server that leads: one driver and one speaker for each, opened when it is added
// and closed when it is removed, changed, or another server leads. Also tells the store whether each of them answers.
import {
  type ListingContext,
  type ListingDriver,
  type OutputAnswer,
  type OutputRequest,
  ownershipOf,
} from '@muster/drivers';
import {
  type ClusterConfig,
  canonicalJson,
  type NodeId,
  OperationalError,
  type ServerId,
} from '@muster/model';
import type { Store } from '@muster/store';
import { type Cluster, startCluster } from './cluster.ts';
import { clusterHealth } from './cluster-health.ts';
import { clusterNodes } from './cluster-nodes.ts';
import { type Loop, startLoop } from './loop.ts';
import type { World } from './world.ts';

export interface ClustersDeps {
  readonly world: World;
  readonly store: Pick<
    Store,
    | 'clusters'
    | 'clusterSums'
    | 'admitNodes'
    | 'noteCluster'
    | 'failOver'
    | 'nodeSessions'
    | 'hello'
    | 'renew'
    | 'observe'
  >;
  readonly server: ServerId;
  /** Who we are to clusters. */
  readonly installation: string;
  /** Different in every process of every server. */
  readonly process: string;
  readonly epoch: () => number | null;
  readonly freshNode: () => NodeId;
  readonly connect: Connect;
  /** The address of this server. */
  readonly publicUrl: () => string;
  readonly onReady: () => void;
  readonly onBug: (error: unknown) => void;
}

/** Nodes with agents speak for themselves; every other kind has a driver. */
export type DrivenConfig = Exclude<ClusterConfig, { readonly kind: 'agent' }>;
export type Connect = (config: DrivenConfig, context: ListingContext) => ListingDriver;

export interface Clusters {
  /** Those that are open now. */
  open(): readonly Cluster[];
  speaksFor(node: NodeId): boolean;
  output(request: OutputRequest): Promise<OutputAnswer>;
  /** Loops that go on failing, and with what. */
  troubles(): readonly string[];
  stop(): Promise<void>;
}

const sweepMs = 2000;

interface Opened {
  readonly config: string;
  readonly cluster: Cluster;
  close(): Promise<void>;
}

export function startClusters(deps: ClustersDeps): Clusters {
  const { world, store, epoch } = deps;
  const opened = new Map<string, Opened>();
  /** A cluster that hangs closes slowly; the others need not wait for it. */
  const closing = new Map<string, Promise<void>>();
  let opens = 0;
  let names: readonly string[] = [];

  async function step(): Promise<number> {
    const rows = epoch() === null ? [] : await store.clusters();
    names = rows.map(({ name }) => name);
    const wanted = new Map(rows.map(({ name, config }) => [name, { config, text: canonicalJson(config) }]));
    for (const [name, { config }] of opened) if (wanted.get(name)?.text !== config) shut(name);
    for (const [name, { config, text }] of wanted)
      if (!opened.has(name) && !closing.has(name)) open(name, config, text);
    return sweepMs;
  }

  function open(name: string, config: ClusterConfig, text: string): void {
    if (config.kind === 'agent') return;
    const connect = (context: ListingContext): ListingDriver => deps.connect(config, context);
    const serverUrl = (): string => config.serverUrl ?? deps.publicUrl();
    const onNews = (): void => opened.get(name)?.cluster.news();
    const owner = { installation: deps.installation, cluster: name, server: deps.publicUrl() };
    const ownership = ownershipOf(owner, () => names, { claims: true, runs: () => runsIn(name) });
    const nodes = clusterNodes({ ...deps, name, config, ownership, open: connect, onNews, serverUrl });
    const own = {
      driver: nodes,
      process: `${deps.process}-${++opens}`,
      onLook: clusterHealth({ ...deps, name }),
    };
    const cluster = startCluster({ ...deps, ...own });
    const close = async (): Promise<void> => {
      await cluster.close();
      await nodes.close();
    };
    opened.set(name, { config: text, cluster, close });
  }

  async function runsIn(name: string): Promise<number> {
    return (await store.clusterSums()).find(({ cluster }) => cluster === name)?.runs ?? 0;
  }

  function shut(name: string): void {
    const one = opened.get(name);
    if (!one) return;
    opened.delete(name);
    const closed = one.close().catch(deps.onBug);
    closing.set(
      name,
      closed.then(() => {
        closing.delete(name);
        // It may be wanted again.
        loop.wake();
      }),
    );
  }

  const loop: Loop = startLoop(world, { name: 'clusters', step, onBug: deps.onBug });
  const speaker = (node: NodeId): Cluster | undefined =>
    [...opened.values()].find(({ cluster }) => cluster.speaksFor(node))?.cluster;
  return {
    open: () => [...opened.values()].map(({ cluster }) => cluster),
    speaksFor: (node) => speaker(node) !== undefined,
    async output(request) {
      const cluster = speaker(request.node);
      if (!cluster)
        throw new OperationalError('node-unreachable', `no cluster of this server has node ${request.node}`);
      return cluster.output(request);
    },
    troubles: () =>
      [loop, ...[...opened.values()].map(({ cluster }) => cluster)]
        .map((one) => one.trouble())
        .filter((text) => text !== null),
    async stop() {
      await loop.stop();
      for (const name of [...opened.keys()]) shut(name);
      await Promise.all(closing.values());
    },
  };
}
