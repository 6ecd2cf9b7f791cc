// Between a driver that knows its cluster's names and the loop that knows our nodes (cluster.ts): what the cluster lists becomes
// nodes of ours, and each node is told of what is on it. Nodes that are no longer listed are spoken for as well, because what ran
// there still has an end to be told.
import type { ListedNode, ListedReport, ListingContext, ListingDriver, Ownership } from '@muster/drivers';
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
  type RunId,
  type StartCommand,
} from '@muster/model';
import type { Store } from '@muster/store';
import { type ClusterDriver, type ClusterSight, NotWritten } from './cluster-driver.ts';
import { RunPlaces } from './run-places.ts';
import type { World } from './world.ts';

export interface ClusterNodesDeps {
  readonly world: World;
  readonly store: Pick<Store, 'admitNodes'>;
  readonly name: string;
  readonly config: ClusterConfig;
  readonly ownership: Ownership;
  readonly epoch: () => number | null;
  readonly freshNode: () => NodeId;
  readonly open: (context: ListingContext) => ListingDriver;
  readonly onNews: () => void;
  /** Where its jobs find a server. */
  readonly serverUrl: () => string;
}

/** However little changes: an operator may have undrained a node that its cluster keeps work off. */
const admitEveryMs = 30_000;
const none: readonly ListedReport[] = [];

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
  let inventories: ReadonlyMap<NodeId, Inventory> = new Map();
  let admitted = { nodes: [] as readonly ListedNode[], atMs: Number.NEGATIVE_INFINITY };
  /** A node that a cluster lists, as it is fit for us. */
  const fitted = new WeakMap<ListedNode, ListedNode>();
  const places = new RunPlaces();
  /** Nodes of a run on which its end is committed. */
  const told = new Map<RunId, Set<string>>();
  const { ownership, onNews } = deps;
  const driver = deps.open({ ownership, nodeName: (node) => names.get(node) ?? null, onNews });

  async function look(): Promise<ClusterSight> {
    const listing = await driver.look();
    await admit(listing.nodes.map(fit)).catch(notWritten);
    places.see(listing.reports);
    for (const run of told.keys()) if (!places.has(run)) told.delete(run);
    return {
      boot: listing.boot,
      settled: listing.settled,
      nodes: inventories,
      reports: (node) => listing.reports.get(names.get(node) ?? '') ?? none,
    };
  }

  function notWritten(cause: unknown): never {
    throw new NotWritten('unavailable', `the nodes of ${cluster} could not be admitted`, { cause });
  }

  /** What cannot be believed of a node is not taken: it stays, and takes no work. */
  function fit(node: ListedNode): ListedNode {
    const before = fitted.get(node);
    if (before) return before;
    const now = fitNode(node, deps.config);
    fitted.set(node, now);
    return now;
  }

  async function admit(nodes: readonly ListedNode[]): Promise<void> {
    const nowMs = world.clock.monotonicMs();
    const same = sameNodes(nodes, admitted.nodes);
    if (same === 'all' && nowMs - admitted.atMs < admitEveryMs) return;
    if (same === 'none' || nowMs - admitted.atMs >= admitEveryMs) {
      await admitNodes(nodes);
      admitted = { nodes, atMs: nowMs };
    } else admitted = { nodes, atMs: admitted.atMs };
    const listed = new Map(nodes.map((node) => [node.name, node]));
    known = new Map(
      [...known].map(([name, before]) => [name, knownAs(before, listed.get(name) ?? null)] as const),
    );
    inventories = new Map([...known.values()].map(({ id, inventory }) => [id, inventory]));
  }

  async function admitNodes(nodes: readonly ListedNode[]): Promise<void> {
    const items = nodes.map(({ name, closed }) => ({
      node: deps.freshNode(),
      name: nodeNameIn(cluster, name),
      knownAs: name,
      closed,
    }));
    const answer = await store.admitNodes(deps.epoch() ?? 0, cluster, items);
    if (answer.outcome !== 'committed') throw new Error(answer.outcome);
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
    if (!places.of(run).every((name) => ended.has(name))) return;
    // What is not forgotten now is told again at the next look, and forgotten then.
    driver.forget(run).catch((error: unknown) => {
      world.log.warn({ cluster, run, error: String(error) }, 'could not forget a run');
    });
  }

  return {
    ...driver,
    submit: (target, command) => driver.submit(target, withServer(command, deps.serverUrl())),
    look,
    catchUp: (nodes) => driver.catchUp(nodes.flatMap((node) => names.get(node) ?? [])),
    forget,
    close: () => driver.close(),
  };
}

/** What an agent tells its tasks, of itself: with the token of their run they report there. */
function withServer(command: StartCommand, url: string): StartCommand {
  const tasks = command.tasks.map((task) => ({ ...task, env: { ...task.env, MUSTER_SERVER_URL: url } }));
  return { ...command, tasks };
}

function fitNode(node: ListedNode, { capacity, region }: ClusterConfig): ListedNode {
  const own = Object.entries(node.inventory.labels).filter(
    ([key, value]) => isLabelKey(key) && isLabelValue(value),
  );
  const told = Object.fromEntries(own);
  const paid = { capacity: capacityOf(capacity, told.capacity) };
  const labels = { ...told, ...paid, ...(region === undefined ? {} : { region }) };
  const inventory = { ...node.inventory, labels };
  const checked = inventorySchema.safeParse(inventory);
  if (checked.success) return { ...node, inventory };
  const [issue] = checked.error.issues;
  const closed = `what the cluster says of it cannot be: ${issue?.path.join('.')}: ${issue?.message}`;
  return { ...node, inventory: { ...noInventory, labels }, closed };
}

/**
 * What the operator says of a cluster holds for its nodes, but a spot machine is one whatever is said of the others; and of a cluster of
 * which nothing was said, what each node tells.
 */
function capacityOf(said: ClusterConfig['capacity'], told: string | undefined): string {
  return told !== undefined && (told === 'spot' || said === 'owned') ? told : said;
}

/** All of it; or their names and whether they are closed, which is what is written down; or neither. */
function sameNodes(a: readonly ListedNode[], b: readonly ListedNode[]): 'all' | 'names' | 'none' {
  if (a.length !== b.length) return 'none';
  let same: 'all' | 'names' = 'all';
  for (const [i, one] of a.entries()) {
    const other = b[i];
    if (one === other) continue;
    if (one.name !== other?.name || one.closed !== other.closed) return 'none';
    same = 'names';
  }
  return same;
}

function knownAs(before: Known, listed: ListedNode | null): Known {
  if (before.listed?.inventory === listed?.inventory) return before;
  const inventory = listed?.inventory ?? noInventory;
  const same = canonicalJson(before.inventory) === canonicalJson(inventory);
  return { id: before.id, listed, inventory: same ? before.inventory : inventory };
}
