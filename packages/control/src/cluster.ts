// Speaks for the nodes of a cluster that has no agents (Slurm, Kubernetes), on the server that leads: says hello for them once
// what the cluster lists is settled, renews while it answers, and reports what is new. A controller that was started anew, and a
// command of which nothing is known, make a new session: what the cluster holds is told again, and only then is an open row handed
// out again. So start-up, leader change and a lost answer are one path, as for an agent that connects.
import type { CommandAnswer, CommandTarget, Driver } from '@muster/drivers';
import type { Inventory, NodeId, RunId, ServerId, StartCommand, StopCommand } from '@muster/model';
import type { DispatchSession, NodeSession, Store } from '@muster/store';
import type { ClusterDriver, ClusterReport, ClusterSight } from './cluster-driver.ts';
import { NotWritten } from './cluster-driver.ts';
import { asTold, observations, type Told, toldOf, withoutSaved } from './cluster-news.ts';
import { Introductions, type Prepared } from './introductions.ts';
import { type Loop, startLoop } from './loop.ts';
import type { World } from './world.ts';

export interface ClusterDeps {
  readonly world: World;
  readonly store: Pick<Store, 'nodeSessions' | 'hello' | 'renew' | 'observe'>;
  readonly server: ServerId;
  /** Different in every process of every server: sessions are named after it. */
  readonly process: string;
  readonly driver: ClusterDriver;
  readonly epoch: () => number | null;
  readonly onReady: () => void;
  /** After every look: when it began, and null when the cluster answered, else what was met. */
  readonly onLook?: (beganMs: number, error: Error | null) => Promise<void>;
  readonly onBug: (error: unknown) => void;
}

/** A driver with sessions, as the hub of the agents is. */
export interface Cluster extends Driver {
  sessions(): readonly DispatchSession[];
  speaksFor(node: NodeId): boolean;
  /** There is something to see: looks soon, and once for all that comes until then. */
  news(): void;
  trouble(): string | null;
  /** Looks no more; running work goes on. */
  close(): Promise<void>;
}

interface Session extends NodeSession {
  readonly boot: string;
  readonly inventory: Inventory;
  /** What was told of each task that is still listed. */
  told: ReadonlyMap<string, Told>;
  /** The list that was told last: while it is the same, there is nothing new. */
  reports: readonly ClusterReport[];
  renewAtMs: number;
}

/** A start that the cluster took, and that no look has shown yet. */
interface Awaited {
  readonly session: string;
  readonly node: NodeId;
  readonly atMs: number;
}

const lookEveryMs = 2000;
/** Longer than a look may be behind. */
const awaitMs = 60_000;
/** From news to the look at it: what comes together is told together. */
const newsMs = 50;
/** Renewals, and news, that come together are committed together. */
const toldAtOnce = 256;
const hellosAtOnce = 400;
/** For what the store knows nothing of: it was started for an attempt that is over. */
const stranger = {
  reason: 'no longer known',
  class: 'infrastructure',
  signal: 'TERM',
  graceMs: 1000,
} as const satisfies Omit<StopCommand, 'run'>;

export function startCluster(deps: ClusterDeps): Cluster {
  const { world, store, server, driver, epoch } = deps;
  const sessions = new Map<NodeId, Session>();
  let counter = 0;
  /** By run and node; the oldest come first. */
  const awaited = new Map<string, Awaited>();
  /** Strangers, by run and node, that the cluster is being asked to stop. */
  const stopping = new Set<string>();
  /** Starts that were sent to a node and not answered yet. */
  const starts = new Map<NodeId, number>();
  const introductions = new Introductions({
    store,
    catchUp,
    underWay: (node) => starts.get(node) ?? 0,
    onPrepared: () => loop.wake(),
  });

  async function catchUp(nodes: readonly NodeId[]): Promise<void> {
    try {
      await driver.catchUp(nodes);
    } catch (error) {
      const about = { nodes: nodes.length, error: String(error) };
      world.log.warn(about, 'what a cluster has on its nodes could not be listed; it is tried again');
      throw error;
    }
  }

  async function submit(target: CommandTarget, command: StartCommand): Promise<CommandAnswer> {
    const { node } = target;
    const session = sessions.get(node)?.session;
    if (session === undefined || introductions.has(node))
      return known(node, Promise.resolve({ outcome: 'unknown' }));
    starts.set(node, (starts.get(node) ?? 0) + 1);
    const given = await known(node, driver.submit(target, command)).finally(() => {
      const left = (starts.get(node) ?? 1) - 1;
      if (left > 0) starts.set(node, left);
      else starts.delete(node);
    });
    if (given.outcome === 'accepted')
      awaited.set(`${command.run} ${node}`, { session, node, atMs: world.clock.monotonicMs() });
    return given;
  }

  /**
   * What a cluster took and never showed would be waited for as long as its node's session lasts. In a new one everything is told
   * anew: what is not told then is over.
   */
  function giveUpUnseen(): void {
    const untilMs = world.clock.monotonicMs() - awaitMs;
    for (const [key, { session, node, atMs }] of awaited) {
      if (atMs > untilMs) return;
      awaited.delete(key);
      if (sessions.get(node)?.session === session) sessions.delete(node);
    }
  }

  /** Nothing is known of a command: what the cluster holds is told anew before the row is handed out again. */
  async function known(node: NodeId, answer: Promise<CommandAnswer>): Promise<CommandAnswer> {
    const given = await answer;
    if (given.outcome === 'unknown') sessions.delete(node);
    return given;
  }

  const look = (): Promise<ClusterSight | Error> =>
    driver.look().catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));

  async function step(): Promise<number> {
    if (epoch() === null) {
      sessions.clear();
      introductions.clear();
      return lookEveryMs;
    }
    const prepared = introductions.prepared();
    const beganMs = world.clock.monotonicMs();
    const sight = await look();
    const written = !(sight instanceof NotWritten);
    await deps.onLook?.(beganMs, sight instanceof Error && written ? sight : null);
    if (!written) throw sight;
    if (sight instanceof Error) return lookEveryMs;
    giveUpUnseen();
    await renewDue(sight);
    const news = spokenFor(sight).filter(({ node, reports }) => reports !== sight.reports(node));
    await inGroups(news, toldAtOnce, sight, (session) => kept(session, tell(session, sight)));
    if (prepared !== null) await introduce(prepared, sight);
    const silent = [...sight.nodes.keys()].filter((node) => !speaksAs(node, sight));
    introductions.prepare(sight.settled ? silent : [], sight.boot);
    return lookEveryMs;
  }

  /** The node's session is of this life of the controller, and of the node as it is. */
  function speaksAs(node: NodeId, { boot, nodes }: ClusterSight): boolean {
    const session = sessions.get(node);
    return session?.boot === boot && session.inventory === nodes.get(node);
  }

  const spokenFor = (sight: ClusterSight): Session[] =>
    [...sessions.values()].filter(({ node }) => speaksAs(node, sight));

  /** Before and between whatever else there is to write: news of fifty thousand tasks may take longer than a node may be silent. */
  async function renewDue(sight: ClusterSight): Promise<void> {
    const nowMs = world.clock.monotonicMs();
    const due = spokenFor(sight).filter(({ renewAtMs }) => renewAtMs <= nowMs);
    for (const group of groupsOf(due, toldAtOnce))
      await Promise.all(group.map((session) => kept(session, renew(session, sight))));
  }

  async function inGroups<T>(
    items: readonly T[],
    most: number,
    sight: ClusterSight,
    work: (item: T) => Promise<void>,
  ): Promise<void> {
    for (const group of groupsOf(items, most)) {
      await Promise.all(group.map(work));
      await renewDue(sight);
    }
  }

  /** A session that is no longer its node's is given up. */
  async function kept(session: Session, told: Promise<'committed' | 'refused' | 'unknown'>): Promise<void> {
    if ((await told) === 'refused' && sessions.get(session.node) === session) sessions.delete(session.node);
  }

  async function introduce({ boot, replaces }: Prepared, sight: ClusterSight): Promise<void> {
    const isTimely = sight.settled && sight.boot === boot;
    let welcomed = 0;
    if (isTimely)
      await inGroups([...replaces], hellosAtOnce, sight, async ([node, session]) => {
        if (await hello(node, session, sight)) welcomed++;
      });
    introductions.done({ allRefused: isTimely && welcomed === 0 });
    if (welcomed > 0) deps.onReady();
  }

  async function hello(node: NodeId, replaces: string | null, sight: ClusterSight): Promise<boolean> {
    const inventory = sight.nodes.get(node);
    if (!inventory) return false;
    const { boot } = sight;
    const tasks = sight.reports(node);
    const name = `${server}.${deps.process}-${node}-${++counter}`;
    const made = { node, session: name, boot, inventory };
    // Pods keep their users apart; jobs of a batch system all run under the account of the server.
    const isolation = inventory.capabilities.includes('containers');
    const about = { bootId: boot, agentVersion: 'cluster', isolation, inventory };
    const own = { node, session: name };
    const answer = await store.hello({ ...own, server, replaces, ...about, tasks: tasks.map(asTold) });
    if (answer.outcome !== 'committed') return false;
    const renewAtMs = renewalAfter(answer.value.beatMs);
    const session: Session = { ...made, told: new Map(), reports: tasks, renewAtMs };
    note(session, tasks.some(({ saved }) => saved) ? tasks.map(withoutSaved) : tasks);
    sessions.set(node, session);
    return true;
  }

  async function tell(
    session: Session,
    { reports }: ClusterSight,
  ): Promise<'committed' | 'refused' | 'unknown'> {
    const { node } = session;
    const tasks = reports(node);
    const news = tasks.flatMap((task) => observations(session.told, task));
    if (news.length > 0) {
      const { outcome } = await store.observe({ node, session: session.session }, news);
      if (outcome !== 'committed') return outcome;
    }
    note(session, tasks);
    return 'committed';
  }

  /** That the node is heard of; and what runs there and may not is stopped. */
  async function renew(
    session: Session,
    { reports }: ClusterSight,
  ): Promise<'committed' | 'refused' | 'unknown'> {
    const { node } = session;
    const live = reports(node).filter(({ state }) => state !== 'ended');
    const keys = [...new Set(live.map(({ run }) => run))];
    const renewed = await store.renew({ node, session: session.session, keys });
    if (renewed.outcome !== 'committed') return renewed.outcome;
    session.renewAtMs = renewalAfter(renewed.value.beatMs);
    const known = new Set(renewed.value.live.map(({ run }) => run));
    for (const run of keys) if (!known.has(run)) stopStranger(node, run);
    return 'committed';
  }

  /** Within the beat, and at different times: ten thousand nodes that began together are not all due together. */
  function renewalAfter(beatMs: number): number {
    return world.clock.monotonicMs() + beatMs * (0.5 + world.random() / 2);
  }

  /** What is committed is not told again. */
  function note(session: Session, tasks: readonly ClusterReport[]): void {
    const { node } = session;
    session.reports = tasks;
    for (const { run } of tasks) awaited.delete(`${run} ${node}`);
    session.told = new Map(tasks.map((task) => [`${task.run}/${task.rank}`, toldOf(task)]));
    // A run may have several tasks on the node, and one of them may end long before the others.
    const live = new Set(tasks.filter(({ state }) => state !== 'ended').map(({ run }) => run));
    for (const run of new Set(tasks.map((task) => task.run))) if (!live.has(run)) driver.forget(run, node);
  }

  /** Nobody waits for it: it is asked again by the next renewal while the run is still there. */
  function stopStranger(node: NodeId, run: RunId): void {
    const key = `${run} ${node}`;
    if (stopping.has(key)) return;
    stopping.add(key);
    void driver
      .stop({ outbox: 0, epoch: epoch() ?? 0, node }, { run, ...stranger })
      .finally(() => stopping.delete(key));
  }

  const loop: Loop = startLoop(world, { name: 'cluster', step, onBug: deps.onBug });
  let endWait: (() => void) | null = null;

  function news(): void {
    endWait ??= world.timers.after(newsMs, () => {
      endWait = null;
      loop.wake();
    });
  }

  return {
    capabilities: driver.capabilities,
    submit,
    stop: (target, command) => known(target.node, driver.stop(target, command)),
    find: (node, run) => driver.find(node, run),
    output: (request) => driver.output(request),
    sessions: () =>
      [...sessions.values()]
        .filter(({ node }) => !introductions.has(node))
        .map(({ node, session }) => ({ node, session, fenced: false })),
    speaksFor: (node) => sessions.has(node),
    news,
    trouble: () => loop.trouble(),
    async close() {
      endWait?.();
      await loop.stop();
    },
  };
}

function groupsOf<T>(items: readonly T[], most: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / most) }, (_, i) =>
    items.slice(i * most, (i + 1) * most),
  );
}
