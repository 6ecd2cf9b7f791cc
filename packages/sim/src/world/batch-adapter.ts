// Speaks for the nodes of a batch system, on the server that leads: says hello for them once the system's listing is settled,
// renews while it answers, and reports what it lists. A controller that was started anew, and a submit of which nothing is known,
// make a new session: what the cluster holds is told again, and only then is an open row handed out again.
import { startLoop, type World } from '@muster/control';
import type { Driver } from '@muster/drivers';
import { createBatchDriver } from '@muster/drivers/sim';
import type { Inventory, NodeId, Observation, RunId, ServerId, TaskReport } from '@muster/model';
import type { DispatchSession, NodeSession, Store } from '@muster/store';
import type { BatchCluster, BatchListing } from './batch-cluster.ts';
import type { VirtualProcess } from './process.ts';

export interface BatchAdapterDeps {
  readonly world: World;
  readonly process: VirtualProcess;
  readonly store: Store;
  readonly server: ServerId;
  /** Of the server's process: another one's sessions have other names. */
  readonly pid: number;
  readonly cluster: BatchCluster;
  readonly inventory: Inventory;
  readonly epoch: () => number | null;
  readonly onReady: () => void;
  readonly onBug: (error: unknown) => void;
}

export interface BatchAdapter {
  readonly driver: Driver & { sessions(): readonly DispatchSession[] };
}

interface Session extends NodeSession {
  readonly boot: number;
  /** What was told of each task. */
  readonly told: Map<string, TaskReport['state']>;
}

const lookEveryMs = 2000;

export function startBatchAdapter(deps: BatchAdapterDeps): BatchAdapter {
  const { world, store, server, pid, cluster, epoch } = deps;
  const sessions = new Map<NodeId, Session>();
  const client = cluster.client(deps.process);
  const driver = createBatchDriver(client);
  let counter = 0;

  /** Nothing is known of a command: what the cluster holds is told anew before the row is handed out again. */
  async function known(node: NodeId, answer: ReturnType<Driver['submit']>): ReturnType<Driver['submit']> {
    const given = await answer;
    if (given.outcome === 'unknown') sessions.delete(node);
    return given;
  }

  async function step(): Promise<number> {
    const listing = epoch() === null ? null : await client.list().catch(() => null);
    if (!listing) {
      if (epoch() === null) sessions.clear();
      return lookEveryMs;
    }
    for (const node of cluster.deps.nodes) await speakFor(node, listing);
    return lookEveryMs;
  }

  async function speakFor(node: NodeId, listing: BatchListing): Promise<void> {
    const session = sessions.get(node);
    if (session && session.boot === listing.boot) {
      if (!(await tell(session, listing))) sessions.delete(node);
    } else if (listing.settled) await hello(node, listing);
  }

  async function hello(node: NodeId, listing: BatchListing): Promise<void> {
    const known = await store.nodeKey(node);
    if (!known) return;
    // Looked at again: what was submitted meanwhile must not be missing in what is told.
    const again = await client.list().catch(() => null);
    if (!again?.settled || again.boot !== listing.boot) return;
    const { boot, reports } = again;
    const tasks = reports(node);
    const name = `${server}.batch-${pid}-${node}-${++counter}`;
    const session: Session = { node, session: name, boot, told: new Map() };
    const about = {
      bootId: `boot-${boot}`,
      agentVersion: 'batch',
      isolation: true,
      inventory: deps.inventory,
    };
    const answer = await store.hello({ ...session, server, replaces: known.session, ...about, tasks });
    if (answer.outcome !== 'committed') return;
    for (const task of tasks) session.told.set(`${task.run}/${task.rank}`, task.state);
    for (const { run, state } of tasks) if (state === 'ended') cluster.forget(run, node);
    sessions.set(node, session);
    deps.onReady();
  }

  /** False when the session is no longer the node's. */
  async function tell(session: Session, { reports }: BatchListing): Promise<boolean> {
    const { node } = session;
    const tasks = reports(node);
    const keys = [...new Set(tasks.filter(({ state }) => state !== 'ended').map(({ run }) => run))];
    const renewed = await store.renew({ node, session: session.session, keys });
    if (renewed.outcome !== 'committed') return renewed.outcome === 'unknown';
    await cancelStrangers(node, keys, new Set(renewed.value.live.map(({ run }) => run)));
    const news = tasks.flatMap((task) => observations(session, task));
    if (news.length === 0) return true;
    const observed = await store.observe({ node, session: session.session }, news);
    if (observed.outcome !== 'committed') return observed.outcome === 'unknown';
    for (const task of tasks) session.told.set(`${task.run}/${task.rank}`, task.state);
    for (const { run, state } of tasks) if (state === 'ended') cluster.forget(run, node);
    return true;
  }

  async function cancelStrangers(
    node: NodeId,
    keys: readonly RunId[],
    live: ReadonlySet<RunId>,
  ): Promise<void> {
    const stop = {
      reason: 'no longer known',
      class: 'infrastructure',
      signal: 'TERM',
      graceMs: 1000,
    } as const;
    for (const run of keys)
      if (!live.has(run)) await client.cancel(node, { run, ...stop }, epoch() ?? 0).catch(() => {});
  }

  startLoop(world, { name: 'batch', step, onBug: deps.onBug });
  return {
    driver: {
      ...driver,
      submit: (target, command) => known(target.node, driver.submit(target, command)),
      stop: (target, command) => known(target.node, driver.stop(target, command)),
      sessions: () => [...sessions.values()].map(({ node, session }) => ({ node, session, fenced: false })),
    },
  };
}

function observations(session: Session, { run, rank, state, exit }: TaskReport): Observation[] {
  const told = session.told.get(`${run}/${rank}`);
  if (told === state || state === 'accepted') return [];
  if (state === 'running') return [{ kind: 'started', run, rank, pid: 1 }];
  return exit ? [{ kind: 'ended', run, rank, exit }] : [];
}
