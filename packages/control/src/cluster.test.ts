// What a server says for the node of a cluster, and when, to a store that is played here. Faults of real stores and clusters
// are the simulation's: virtual worlds run this loop.
import type { CommandAnswer } from '@muster/drivers';
import { freshId, type Inventory, type NodeId, type RunId } from '@muster/model';
import type { Seen, Store } from '@muster/store';
import { expect, it } from 'vitest';
import { byNode } from './by-node.ts';
import { startCluster } from './cluster.ts';
import type { ClusterDriver, ClusterReport } from './cluster-driver.ts';
import { observations } from './cluster-news.ts';
import { virtualWorld } from './testing/virtual-world.ts';

const node = freshId('node', 1, new Uint8Array(9));
const other = freshId('node', 1, new Uint8Array(9).fill(1));
const server = freshId('server', 1, new Uint8Array(9));
const run = 'run_000000000000000001_1' as RunId;
const inventory = { capabilities: ['signals'] as readonly string[] } as Inventory;
const report = (state: ClusterReport['state'], more: Partial<ClusterReport> = {}): ClusterReport => {
  return { run, rank: 0, state, exit: state === 'ended' ? { ok: true } : null, began: true, ...more };
};

const none: readonly ClusterReport[] = [];

interface Told {
  readonly session: string;
  readonly tasks: readonly ClusterReport[];
  readonly isolation: boolean;
}

function play() {
  const world = virtualWorld();
  const said: string[] = [];
  const stage = {
    epoch: 7 as number | null,
    boot: 'first',
    settled: true,
    answers: true,
    reports: [] as ClusterReport[],
    live: [run] as readonly RunId[],
    renewals: 0,
    isolation: null as boolean | null,
    inventory,
    looks: 0,
    answer: { outcome: 'accepted' } as CommandAnswer,
    nodes: [node] as readonly NodeId[],
    /** Of which nodes what is kept was brought up to now, and until when that takes. */
    caughtUp: [] as NodeId[][],
    catchUp: Promise.resolve(),
    /** A look that has seen the cluster, and does not come back before. */
    looked: Promise.resolve(),
    /** Nobody takes a hello. */
    refuses: false,
  };
  const committed = <T>(value: T) => ({ outcome: 'committed', sequence: 1, value });
  const store = {
    nodeSessions: async (nodes: readonly NodeId[]) => new Map(nodes.map((one) => [one, null])),
    async hello({ session, tasks, isolation }: Told) {
      stage.isolation = isolation;
      const held = tasks.map(({ state, halt }) => `${state}${halt ? ` ${halt.message}` : ''}`);
      said.push(`hello ${session.split('-').at(-1)}: ${held.join()}`);
      return stage.refuses ? { outcome: 'refused', refusal: 'replaced' } : committed({ beatMs: 4000 });
    },
    renew: async ({ keys }: { keys: readonly RunId[] }) => {
      stage.renewals++;
      const live = keys.filter((key) => stage.live.includes(key)).map((key) => ({ run: key }));
      return committed({ live, beatMs: 4000 });
    },
    async observe(_session: object, items: readonly Seen[]) {
      const words = items.map((item) => (item.kind === 'halt' ? `halt ${item.halt?.message}` : item.kind));
      said.push(words.join());
      return committed({});
    },
  } as unknown as Store;
  const command = async (word: string): Promise<CommandAnswer> => {
    said.push(word);
    return stage.answer;
  };
  const driver = {
    async look() {
      stage.looks++;
      if (!stage.answers) throw new Error('the controller does not answer');
      const { boot, settled, reports, nodes } = stage;
      await stage.looked;
      const inventories = new Map(nodes.map((one) => [one, stage.inventory]));
      return { boot, settled, nodes: inventories, reports: (of: NodeId) => (of === node ? reports : none) };
    },
    async catchUp(nodes: readonly NodeId[]) {
      stage.caughtUp.push([...nodes]);
      await stage.catchUp;
    },
    forget: () => void said.push('forget'),
    submit: () => command('submit'),
    stop: () => command('stop'),
  } as unknown as ClusterDriver;
  const deps = { world, store, server, process: 'p', driver, epoch: () => stage.epoch, onReady: () => {} };
  const onBug = (error: unknown): void => {
    throw error;
  };
  const cluster = startCluster({ ...deps, onBug });
  return { stage, cluster, said, world, look: () => world.advance(2000) };
}

it('tells what is new once, a start that was missed with its end, and forgets what is committed', async () => {
  const { stage, said, look } = play();
  await look();
  stage.reports = [report('accepted', { began: false })];
  await look();
  stage.reports = [report('running')];
  await look();
  await look();
  stage.reports = [report('ended'), report('running', { rank: 1 })];
  await look();
  // Not before the last of its tasks here has ended: what is forgotten is never looked at again.
  expect(said).toEqual(['hello 1: ', 'started', 'ended,started']);
  stage.reports = [report('ended'), report('ended', { rank: 1 })];
  await look();
  expect(said.slice(3)).toEqual(['ended', 'forget']);
});

it.each([
  [['signals'], false],
  [['signals', 'containers'], true],
] as const)('says of a node that can do %j whether it keeps users apart: %j', async (capabilities, apart) => {
  const { stage, look } = play();
  stage.inventory = { ...inventory, capabilities };
  await look();
  expect(stage.isolation).toBe(apart);
});

it('speaks only while its server leads, and only for a cluster that is settled', async () => {
  const { stage, cluster, said, look } = play();
  stage.settled = false;
  await look();
  expect([said, cluster.speaksFor(node)]).toEqual([[], false]);
  stage.settled = true;
  await look();
  expect([said, cluster.speaksFor(node)]).toEqual([['hello 1: '], true]);
  stage.epoch = null;
  await look();
  expect(cluster.sessions()).toEqual([]);
});

it('says hello again when the controller lives anew, and keeps its session while it is silent', async () => {
  const { stage, cluster, said, look } = play();
  await look();
  stage.answers = false;
  await look();
  expect(cluster.speaksFor(node)).toBe(true);
  Object.assign(stage, { answers: true, boot: 'second', reports: [report('running')] });
  await look();
  expect(said).toEqual(['hello 1: ', 'hello 2: running']);
});

it('gives up the session of a command that was not answered, because the cluster has to be looked at first', async () => {
  const { stage, cluster, look } = play();
  await look();
  stage.answer = { outcome: 'unknown' };
  await cluster.submit({ outbox: 1, epoch: 7, node }, {} as never);
  expect(cluster.speaksFor(node)).toBe(false);
  await look();
  expect(cluster.speaksFor(node)).toBe(true);
});

it('says no hello while a start is on its way to the node, and starts nothing there until it has', async () => {
  const { stage, cluster, said, look } = play();
  await look();
  const target = { outbox: 1, epoch: 7, node };
  const late = Promise.withResolvers<CommandAnswer>();
  stage.answer = late.promise as never;
  const first = cluster.submit(target, { run } as never);
  // Another start on the node was not answered: it has to be looked at, and the first one is still on its way.
  stage.answer = { outcome: 'unknown' };
  await cluster.submit({ ...target, outbox: 2 }, { run: 'run_000000000000000002_1' } as never);
  await look();
  await look();
  expect(said).toEqual(['hello 1: ', 'submit', 'submit']);
  expect(stage.caughtUp).toHaveLength(1);
  expect(await cluster.submit({ ...target, outbox: 3 }, {} as never)).toEqual({ outcome: 'unknown' });
  late.resolve({ outcome: 'accepted' });
  expect(await first).toEqual({ outcome: 'accepted' });
  stage.reports = [report('running')];
  await look();
  expect(said.slice(3)).toEqual(['hello 2: running']);
  stage.answer = { outcome: 'accepted' };
  expect(await cluster.submit(target, { run } as never)).toEqual({ outcome: 'accepted' });
});

it('tells in a hello what a look shows that began after the cluster was caught up with, and speaks for the others meanwhile', async () => {
  const { stage, cluster, said, look } = play();
  stage.nodes = [node, other];
  await look();
  expect(said).toEqual(['hello 1: ', 'hello 2: ']);
  stage.caughtUp = [];
  const list = Promise.withResolvers<void>();
  stage.catchUp = list.promise;
  stage.answer = { outcome: 'unknown' };
  await cluster.submit({ outbox: 1, epoch: 7, node: other }, {} as never);
  stage.reports = [report('running')];
  for (let i = 0; i < 6; i++) await look();
  expect(stage.caughtUp).toEqual([[other]]);
  expect(said).toEqual(['hello 1: ', 'hello 2: ', 'submit', 'started']);
  expect(stage.renewals).toBeGreaterThan(1);
  expect(cluster.sessions().map((session) => session.node)).toEqual([node]);
  list.resolve();
  await look();
  expect(said.slice(4)).toEqual(['hello 3: ']);
  expect(cluster.speaksFor(other)).toBe(true);
});

it('tells no hello by a look that was under way when the cluster was caught up with', async () => {
  const { stage, said, look } = play();
  await look();
  const list = Promise.withResolvers<void>();
  Object.assign(stage, { boot: 'second', catchUp: list.promise });
  await look();
  const seen = Promise.withResolvers<void>();
  stage.looked = seen.promise;
  await look();
  // What it saw was before.
  list.resolve();
  stage.reports = [report('running')];
  await look();
  stage.looked = Promise.resolve();
  seen.resolve();
  await look();
  expect(said).toEqual(['hello 1: ', 'hello 2: running']);
});

it('prepares a hello anew when the controller lives anew meanwhile, and when this server leads again', async () => {
  const { stage, said, look } = play();
  const list = Promise.withResolvers<void>();
  stage.catchUp = list.promise;
  await look();
  stage.boot = 'second';
  stage.catchUp = Promise.resolve();
  list.resolve();
  await look();
  expect(stage.caughtUp).toHaveLength(2);
  expect(said).toEqual(['hello 1: ']);
  const late = Promise.withResolvers<void>();
  Object.assign(stage, { boot: 'third', catchUp: late.promise });
  await look();
  stage.epoch = null;
  await look();
  // Prepared for a leader that is no more; another one has sent since.
  late.resolve();
  Object.assign(stage, { epoch: 9, catchUp: new Promise(() => {}) });
  await look();
  await look();
  expect(stage.caughtUp).toHaveLength(4);
  expect(said).toEqual(['hello 1: ']);
});

it('looks no more often than else while its hellos are refused', async () => {
  const { stage, said, world } = play();
  stage.refuses = true;
  await world.advance(20_000);
  expect(said.length).toBeGreaterThan(3);
  expect(stage.looks).toBeLessThan(30);
});

it('tries again when the cluster does not answer while it is caught up with', async () => {
  const { stage, said, look } = play();
  stage.catchUp = Promise.reject(new Error('the API server does not answer'));
  stage.catchUp.catch(() => {});
  await look();
  await look();
  expect(said).toEqual([]);
  expect(stage.caughtUp.length).toBeGreaterThan(1);
  stage.catchUp = Promise.resolve();
  await look();
  expect(said).toEqual(['hello 1: ']);
});

it('stops what may not live', async () => {
  const { stage, said, look } = play();
  await look();
  stage.reports = [report('running')];
  stage.live = [];
  await look();
  await look();
  expect(said.toSorted()).toEqual(['hello 1: ', 'started', 'stop']);
});

it('renews by the beat, however often it looks, and asks for nothing while nothing is new', async () => {
  const { stage, said, world, cluster, look } = play();
  await look();
  for (let i = 0; i < 20; i++) {
    cluster.news();
    cluster.news();
    await world.advance(100);
  }
  expect(stage.looks).toBeGreaterThan(15);
  expect(stage.renewals).toBeLessThanOrEqual(1);
  await world.advance(20_000);
  expect(stage.renewals).toBeGreaterThanOrEqual(4);
  expect(stage.renewals).toBeLessThanOrEqual(10);
  expect(said).toEqual(['hello 1: ']);
});

it('looks soon after news', async () => {
  const { stage, said, world, cluster, look } = play();
  await look();
  stage.reports = [report('running')];
  cluster.news();
  await world.advance(100);
  expect(said).toEqual(['hello 1: ', 'started']);
});

it('gets the commands of its own nodes, and the agents those of theirs', async () => {
  const { cluster, said, look } = play();
  await look();
  const agents = {
    sessions: () => [{ node: other, session: 'a', fenced: true }],
    submit: async () => ({ outcome: 'refused', detail: 'agent' }) as const,
    stop: async () => ({ outcome: 'accepted' }) as const,
  };
  const driver = byNode(agents, () => [cluster]);
  expect(driver.sessions().map(({ node: of, fenced }) => [of, fenced])).toEqual([
    [other, true],
    [node, false],
  ]);
  const target = { outbox: 1, epoch: 7 };
  expect(await driver.submit({ ...target, node: other }, {} as never)).toMatchObject({ detail: 'agent' });
  expect(await driver.submit({ ...target, node }, {} as never)).toEqual({ outcome: 'accepted' });
  expect(said.at(-1)).toBe('submit');
});

it('tells each word of saved work once, before an end that came with it', () => {
  const saved = { word: 'a', agoMs: 5, step: 3, path: null };
  const told = (state: ClusterReport['state'], word: string | null) =>
    new Map([[`${run}/0`, { state, word, halt: null }]]);
  const kinds = (before: Parameters<typeof observations>[0], task: ClusterReport) =>
    observations(before, task).map(({ kind }) => kind);
  expect(kinds(new Map(), report('running', { saved }))).toEqual(['started', 'checkpoint']);
  expect(kinds(told('running', 'a'), report('running', { saved }))).toEqual([]);
  expect(
    observations(told('running', 'a'), report('ended', { saved: { ...saved, word: 'b' } })),
  ).toMatchObject([{ kind: 'checkpoint', step: 3, agoMs: 5 }, { kind: 'ended' }]);
  expect(kinds(told('ended', null), report('ended', { saved }))).toEqual([]);
});

it('tells what an outside hand did to a run when it changes, also before it began, and at a hello', async () => {
  const { stage, said, world } = play();
  const held = { code: 'held', message: 'held there' };
  const delayed = { code: 'delayed', message: 'delayed there' };
  const seen = (halt?: typeof held) => report('accepted', { began: false, ...(halt ? { halt } : {}) });
  stage.reports = [seen(held)];
  await world.advance(2000);
  expect(said).toEqual(['hello 1: accepted held there']);
  const observed = async (next: ClusterReport): Promise<string> => {
    const before = said.length;
    stage.reports = [next];
    await world.advance(2000);
    return said.slice(before).join();
  };
  expect(await observed(seen(held))).toBe('');
  expect(await observed(seen(delayed))).toBe('halt delayed there');
  expect(await observed(seen())).toBe('halt undefined');
  expect(await observed(seen())).toBe('');
  expect(await observed(report('running', { halt: held }))).toBe('halt held there,started');
});

it('tells everything anew when the cluster took a start and never shows it, and only then', async () => {
  const { stage, cluster, said, world } = play();
  await world.advance(2000);
  const target = { outbox: 1, epoch: 7, node };
  await cluster.submit(target, { run } as never);
  stage.reports = [report('accepted', { began: false })];
  await world.advance(2000);
  // It was shown, and is over and forgotten since.
  stage.reports = [];
  await world.advance(100_000);
  expect(said).toEqual(['hello 1: ', 'submit']);
  await cluster.submit(target, { run } as never);
  await world.advance(50_000);
  expect(said).toEqual(['hello 1: ', 'submit', 'submit']);
  await world.advance(20_000);
  expect(said.at(-1)).toBe('hello 2: ');
  await world.advance(100_000);
  expect(said).toHaveLength(4);
});
