// Between a driver that knows its cluster's names and the loop that knows our nodes (cluster.ts): what the cluster lists becomes
// nodes of ours, and each node is told of what is on it. Nodes that are no longer listed are spoken for as well, because what ran
// there still has an end to be told.
import type { ListedNode, ListingContext, ListingDriver } from '@muster/drivers';
import {
  type ClusterConfig,
  canonicalJson,
  type Inventory,
  inventorySchema,
  isLabelKey,
  isLabelValue,
  type NodeId,
  nodeNameIn,
  noInventory,
  OperationalError,
  type RunId,
} from '@muster/model';
import type { Store } from '@muster/store';
import type { ClusterDriver, ClusterSight } from './cluster.ts';
import type { World } from './world.ts';

export interface ClusterNodesDeps {
  readonly world: World;
  readonly store: Pick<Store, 'admitNodes'>;
  readonly name: string;
  readonly config: ClusterConfig;
  readonly epoch: () => number | null;
  readonly freshNode: () => NodeId;
  readonly open: (context: ListingContext) => ListingDriver;
}

/** However little changes: an operator may have undrained a node that its cluster keeps work off. */
const admitEveryMs = 30_000;

interface Known {
  readonly id: NodeId;
  readonly listed: ListedNode | null;
  /** The same object while nothing in it changed. */
  readonly inventory: Inventory;
}

export function clusterNodes(deps: ClusterNodesDeps): ClusterDriver & { close(): Promise<void> } {
  const { world, store, name: cluster } = deps;
  const names = new Map<NodeId, string>();
  let known = new Map<string, Known>();
  let admitted = { text: '', atMs: Number.NEGATIVE_INFINITY };
  /** The nodes of each run that is reported, and of those the ones on which its end is committed. */
  let nodesOf = new Map<RunId, Set<string>>();
  const told = new Map<RunId, Set<string>>();
  const driver = deps.open({ nodeName: (node) => names.get(node) ?? null });

  async function look(fresh?: boolean): Promise<ClusterSight> {
    const listing = await driver.look(fresh);
    await admit(listing.nodes.map(fit));
    const reports = Map.groupBy(listing.reports, ({ node }) => node);
    nodesOf = new Map();
    for (const { run, node } of listing.reports) nodesOf.set(run, (nodesOf.get(run) ?? new Set()).add(node));
    for (const run of told.keys()) if (!nodesOf.has(run)) told.delete(run);
    return {
      boot: listing.boot,
      settled: listing.settled,
      nodes: new Map([...known.values()].map(({ id, inventory }) => [id, inventory])),
      reports: (node) => reports.get(names.get(node) ?? '') ?? [],
    };
  }

  /** What cannot be believed of a node is not taken: it stays, and takes no work. */
  function fit(node: ListedNode): ListedNode {
    const { capacity, region } = deps.config;
    const own = Object.entries(node.inventory.labels).filter(
      ([key, value]) => isLabelKey(key) && isLabelValue(value),
    );
    const labels = { ...Object.fromEntries(own), capacity, ...(region === undefined ? {} : { region }) };
    const inventory = { ...node.inventory, labels };
    const checked = inventorySchema.safeParse(inventory);
    if (checked.success) return { ...node, inventory };
    const [issue] = checked.error.issues;
    const closed = `what the cluster says of it cannot be: ${issue?.path.join('.')}: ${issue?.message}`;
    return { ...node, inventory: { ...noInventory, labels }, closed };
  }

  async function admit(nodes: readonly ListedNode[]): Promise<void> {
    const text = canonicalJson(nodes.map(({ name, closed }) => [name, closed]));
    const nowMs = world.clock.monotonicMs();
    if (text !== admitted.text || nowMs - admitted.atMs >= admitEveryMs) {
      await admitNodes(nodes);
      admitted = { text, atMs: nowMs };
    }
    const listed = new Map(nodes.map((node) => [node.name, node]));
    known = new Map(
      [...known].map(([name, before]) => [name, knownAs(before, listed.get(name) ?? null)] as const),
    );
  }

  async function admitNodes(nodes: readonly ListedNode[]): Promise<void> {
    const items = nodes.map(({ name, closed }) => ({
      node: deps.freshNode(),
      name: nodeNameIn(cluster, name),
      knownAs: name,
      closed,
    }));
    const answer = await store.admitNodes(deps.epoch() ?? 0, cluster, items);
    if (answer.outcome !== 'committed')
      throw new OperationalError('unavailable', `the nodes of ${cluster} could not be admitted`);
    for (const name of answer.value.refused)
      world.log.warn(
        { cluster },
        `node ${name} of ${cluster} is left out: ${nodeNameIn(cluster, name)} is another node`,
      );
    known = new Map(
      answer.value.nodes.map(({ node, knownAs: name }) => {
        const before = known.get(name);
        names.set(node, name);
        return [
          name,
          before?.id === node ? before : { id: node, listed: null, inventory: noInventory },
        ] as const;
      }),
    );
  }

  function forget(run: RunId, node: NodeId): void {
    const ended = (told.get(run) ?? new Set()).add(names.get(node) ?? '');
    told.set(run, ended);
    if (![...(nodesOf.get(run) ?? [])].every((name) => ended.has(name))) return;
    // What is not forgotten now is told again at the next look, and forgotten then.
    driver.forget(run).catch((error: unknown) => {
      world.log.warn({ cluster, run, error: String(error) }, 'could not forget a run');
    });
  }

  return { ...driver, look, forget, close: () => driver.close() };
}

function knownAs(before: Known, listed: ListedNode | null): Known {
  if (before.listed?.inventory === listed?.inventory) return before;
  const inventory = listed?.inventory ?? noInventory;
  const same = canonicalJson(before.inventory) === canonicalJson(inventory);
  return { id: before.id, listed, inventory: same ? before.inventory : inventory };
}
