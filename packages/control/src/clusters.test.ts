// Which clusters are spoken for, and what is written down of them, with a store and drivers that are played here. The same on a
// real Slurm: tests/slurm.
import type { Listing, ListingContext, ListingDriver, Ownership } from '@muster/drivers';
import { type ClusterConfig, freshId, type Inventory, type NodeId, type RunId } from '@muster/model';
import type { AdmitNode, ClusterRow, Store } from '@muster/store';
import { expect, it } from 'vitest';
import { startClusters } from './clusters.ts';
import { testCluster } from './test-cluster.ts';
import { virtualWorld } from './testing/virtual-world.ts';

const server = freshId('server', 1, new Uint8Array(9));
const config = {
  kind: 'slurm',
  pool: 'gpu',
  lostAfter: '15m',
  fencedCheckpoints: false,
  capacity: 'spot',
  region: 'north',
  directory: '/shared',
  projects: {},
  devices: {},
  ports: { first: 20_000, count: 10 },
} as const satisfies ClusterConfig;
const run = 'run_000000000000000001_1' as RunId;
const inventory: Inventory = {
  cpuMilli: 8000,
  memoryMib: 4000,
  devices: [{ index: 0, kind: 'gpu', model: 'H100', memoryMib: 0, uuid: 'n1/0' }],
  labels: { 'feature-ib': 'yes', 'not a label': 'x' },
  capabilities: ['signals'],
  address: '10.0.0.1',
  ports: config.ports,
};
const gang = (node: string, rank: number) =>
  ({ run, rank, node, began: true, state: 'ended', exit: { ok: true } }) as const;
const noNodes: Listing = { boot: 'one', settled: true, nodes: [], reports: new Map() };
const oneNode: Listing = { ...noNodes, nodes: [{ name: 'n1', inventory, closed: null }] };

function play(listing: Listing = oneNode) {
  const world = virtualWorld();
  const said: string[] = [];
  let contextOf: ListingContext | null = null;
  let made = 0;
  const nodes = new Map<string, NodeId>();
  const stage = {
    epoch: 7 as number | null,
    rows: [{ name: 'alpha', config }] as Partial<ClusterRow>[],
    listing: listing as Listing | Error,
    /** What may start elsewhere of a cluster that counts as lost; null while it does not. */
    lost: null as readonly RunId[] | null,
    /** Names that another node has. */
    taken: [] as string[],
    /** The look of a cluster that hangs ends with this. */
    hangs: null as Promise<Listing> | null,
    /** What the database answers instead of writing. */
    unwritten: false,
  };
  const committed = <T>(value: T) => ({ outcome: 'committed', sequence: 1, value });
  const store = {
    clusters: async () => stage.rows,
    clusterSums: async () => [
      { cluster: 'beta', runs: 9 },
      { cluster: 'alpha', runs: 3 },
    ],
    async admitNodes(_epoch: number, cluster: string, items: readonly AdmitNode[]) {
      if (stage.unwritten) return { outcome: 'unknown' };
      said.push(
        `admit ${cluster}: ${items.map(({ name, closed }) => (closed ? `${name} (${closed})` : name)).join()}`,
      );
      for (const { knownAs, node } of items) if (!nodes.has(knownAs)) nodes.set(knownAs, node);
      for (const name of stage.taken) nodes.delete(name);
      return committed({
        nodes: [...nodes].map(([knownAs, node]) => ({ node, knownAs })),
        refused: stage.taken,
      });
    },
    noteCluster: async (
      _epoch: number,
      cluster: string,
      sign: { kind: string; forMs?: number; why?: string },
    ) => {
      said.push(`${cluster}: ${[sign.kind, sign.forMs, sign.why].filter((x) => x !== undefined).join(' ')}`);
      return committed({ state: stage.lost && sign.kind === 'silence' ? 'lost' : 'connected' });
    },
    async failOver(_epoch: number, cluster: string) {
      said.push(`fail over ${cluster}`);
      return committed(stage.lost);
    },
    nodeSessions: async (ids: readonly NodeId[]) => new Map(ids.map((id) => [id, null])),
    async hello(hello: { inventory: Inventory; tasks: readonly { state: string }[] }) {
      const { cpuMilli, labels } = hello.inventory;
      said.push(
        `hello ${cpuMilli} ${JSON.stringify(labels)} ${hello.tasks.map(({ state }) => state).join()}`.trim(),
      );
      return committed({ beatMs: 10_000 });
    },
    renew: async () => committed({ live: [], beatMs: 10_000 }),
    observe: async () => committed({}),
  } as unknown as Store;
  const connect = (_config: ClusterConfig, context: ListingContext): ListingDriver => {
    contextOf = context;
    said.push('open');
    return {
      capabilities: { has: ['signals'], assigns: 'count' },
      async look() {
        if (stage.hangs) return stage.hangs;
        if (stage.listing instanceof Error) throw stage.listing;
        return stage.listing;
      },
      catchUp: async () => {},
      async submit(_target: unknown, { tasks }: { tasks: readonly { env: Record<string, string> }[] }) {
        said.push(`submit ${tasks.map(({ env }) => JSON.stringify(env)).join()}`);
        return { outcome: 'accepted' };
      },
      forget: async (forgotten: RunId) => void said.push(`forget ${forgotten}`),
      close: async () => void said.push('close'),
      output: async () => ({ offset: 0, data: new Uint8Array(), size: 0, end: true }),
    } as unknown as ListingDriver;
  };
  const freshNode = (): NodeId => freshId('node', 1, new Uint8Array(9).fill(++made));
  const onBug = (error: unknown): void => {
    throw error;
  };
  const publicUrl = (): string => 'https://leader.example';
  const more = {
    server,
    installation: 'ours',
    process: 'p',
    publicUrl,
    epoch: () => stage.epoch,
    freshNode,
    onReady: () => {},
    onBug,
  };
  const clusters = startClusters({ world, store, connect, ...more });
  const nodeOf = (name: string): NodeId => nodes.get(name) as NodeId;
  const pass = async (ms: number): Promise<string[]> => {
    await world.advance(ms);
    return said.splice(0);
  };
  return {
    stage,
    clusters,
    connect,
    pass,
    nodeOf,
    nodeName: (node: NodeId) => contextOf?.nodeName(node),
    ownership: () => contextOf?.ownership,
    world,
  };
}

const labels = '{"feature-ib":"yes","capacity":"spot","region":"north"}';

it('admits what a cluster lists, says hello for it with the labels of its configuration, and knows its names', async () => {
  const { clusters, pass, nodeOf, nodeName } = play();
  expect(await pass(10)).toEqual(['open', 'admit alpha: alpha-n1', 'alpha: answer', `hello 8000 ${labels}`]);
  expect(clusters.speaksFor(nodeOf('n1'))).toBe(true);
  expect(nodeName(nodeOf('n1'))).toBe('n1');
  expect(await clusters.output({ node: nodeOf('n1') } as never)).toMatchObject({ end: true });
  await expect(clusters.output({ node: 'node_x' as NodeId } as never)).rejects.toThrow(/no cluster/);
  // Nothing is new: neither admitted nor greeted again.
  expect(await pass(10_000)).toEqual([]);
});

it.each([
  ['owned', undefined, 'owned'],
  ['owned', 'on-demand', 'on-demand'],
  ['owned', 'spot', 'spot'],
  ['reserved', 'on-demand', 'reserved'],
  ['reserved', 'spot', 'spot'],
] as const)('a node of a cluster that is %s and is told as %s is %s', async (capacity, told, is) => {
  const labels = told === undefined ? {} : { capacity: told };
  const { stage, pass } = play({
    ...noNodes,
    nodes: [{ name: 'n1', inventory: { ...inventory, labels }, closed: null }],
  });
  await pass(10);
  stage.rows = [{ name: 'alpha', config: { ...config, capacity, region: 'south' } }];
  expect((await pass(2000)).at(-1)).toBe(`hello 8000 {"capacity":"${is}","region":"south"}`);
});

it('says hello again for a node that changed, and for one that is no longer listed, which has nothing then', async () => {
  const { stage, pass } = play();
  await pass(10);
  stage.listing = {
    ...oneNode,
    nodes: [{ name: 'n1', inventory: { ...inventory, cpuMilli: 4000 }, closed: null }],
  };
  expect(await pass(2000)).toEqual([`hello 4000 ${labels}`]);
  stage.listing = noNodes;
  expect(await pass(2000)).toEqual(['admit alpha: ', 'hello 0 {}']);
});

it('takes no work onto a node of which nonsense is told, and warns of a name that another node has', async () => {
  const { stage, pass, world } = play({
    ...noNodes,
    nodes: [{ name: 'n1', inventory: { ...inventory, cpuMilli: -1 }, closed: null }],
  });
  expect((await pass(10))[1]).toMatch(
    /^admit alpha: alpha-n1 \(what the cluster says of it cannot be: cpuMilli/,
  );
  stage.taken = ['n1'];
  await pass(40_000);
  expect(world.logged.join('\n')).toContain('node n1 of alpha is left out: alpha-n1 is another node');
});

it('forgets a run once the end of its tasks is told for every node of it', async () => {
  const { stage, pass } = play();
  await pass(10);
  const both = ['n1', 'n2'].map((name) => ({ name, inventory, closed: null }));
  stage.listing = {
    ...noNodes,
    nodes: both,
    reports: new Map([gang('n1', 0), gang('n2', 1)].map((report) => [report.node, [report]])),
  };
  const said = await pass(4000);
  expect(said.indexOf(`forget ${run}`)).toBeGreaterThan(
    said.findLastIndex((line) => line.startsWith('hello')),
  );
});

it('tells for how long a cluster has not answered, and why, and that it does again', async () => {
  const { stage, pass } = play();
  await pass(10);
  stage.listing = new Error('squeue: Unable to contact slurm controller\nmore');
  const silent = await pass(34_000);
  expect(silent).toEqual(
    [2000, 18_000, 32_000]
      .map((ms) => `alpha: silence ${ms} squeue: Unable to contact slurm controller`)
      .map((line) => expect.stringMatching(line.replace(/\d+/, '\\d+'))),
  );
  stage.listing = oneNode;
  expect(await pass(2000)).toContain('alpha: answer');
});

it('does not count as silence of a cluster that this server was stopped in the middle of a look', async () => {
  const { stage, pass } = play();
  await pass(10);
  let cutOff: (error: Error) => void = () => {};
  stage.hangs = new Promise((_, reject) => {
    cutOff = reject;
  });
  await pass(900_000);
  cutOff(new Error('socket hang up'));
  // As long as there was none before it began.
  const [first = ''] = await pass(0);
  expect(first).toMatch(/^alpha: silence \d{4} socket hang up$/);
  // The next one has begun after all that time.
  const [next = ''] = await pass(20_000);
  expect(next).toMatch(/^alpha: silence 9\d{5} socket hang up$/);
  stage.hangs = null;
  expect(await pass(4000)).toContain('alpha: answer');
});

it('does not count as silence of a cluster that the database does not write down what it lists', async () => {
  const { stage, pass, clusters, world } = play();
  await pass(10);
  stage.listing = noNodes;
  stage.unwritten = true;
  expect((await pass(60_000)).filter((line) => line.includes('silence'))).toEqual([]);
  expect(clusters.troubles().join()).toContain('the nodes of alpha could not be admitted');
  expect(world.logged.join('\n')).toContain('the nodes of alpha could not be admitted');
  stage.unwritten = false;
  expect(await pass(4000)).toContain('admit alpha: ');
  expect(clusters.troubles()).toEqual([]);
});

it('tells jobs where they find a server: as the configuration says, else at the leader', async () => {
  const { stage, clusters, pass, nodeOf } = play();
  const submitted = async (): Promise<string> => {
    await pass(2000);
    const target = { outbox: 1, epoch: 7, node: nodeOf('n1') };
    await clusters.open()[0]!.submit(target, { run, tasks: [{ env: { A: '1' } }] } as never);
    return (await pass(0)).find((line) => line.startsWith('submit ')) ?? '';
  };
  expect(await submitted()).toBe('submit {"A":"1","MUSTER_SERVER_URL":"https://leader.example"}');
  stage.rows = [{ name: 'alpha', config: { ...config, serverUrl: 'https://muster.example' } }];
  expect(await submitted()).toBe('submit {"A":"1","MUSTER_SERVER_URL":"https://muster.example"}');
});

it('lets go of what a lost cluster ran again and again while it is lost, and of nothing once it answers', async () => {
  const { stage, pass, world } = play();
  await pass(10);
  stage.lost = [run];
  stage.listing = new Error('cut off');
  expect((await pass(34_000)).filter((line) => line === 'fail over alpha')).toHaveLength(3);
  expect(world.logged.join('\n')).toContain('cluster alpha is lost: 1 runs there can no longer write');
  stage.listing = oneNode;
  expect(await pass(20_000)).not.toContain('fail over alpha');
});

it('opens what is added, closes what is removed or changed, and holds nothing while another server leads', async () => {
  const { stage, clusters, pass } = play();
  await pass(10);
  stage.rows = [
    { name: 'alpha', config: { ...config, region: 'south' } },
    { name: 'plain', config: { kind: 'agent', pool: 'p', capacity: 'owned' } },
  ];
  expect((await pass(2000)).slice(0, 2)).toEqual(['close', 'open']);
  expect(clusters.open()).toHaveLength(1);
  stage.epoch = null;
  expect(await pass(2000)).toEqual(['close']);
  expect(clusters.open()).toHaveLength(0);
  stage.epoch = 8;
  expect((await pass(2000))[0]).toBe('open');
  stage.rows = [];
  expect(await pass(2000)).toEqual(['close']);
});

it('tells a driver who it is and how many runs of its own cluster are not known to be over', async () => {
  const { pass, ownership } = play();
  await pass(3000);
  expect(ownership()).toMatchObject({ owner: { installation: 'ours', cluster: 'alpha' }, claims: true });
  expect(await ownership()?.runs()).toBe(3);
});

const looker = { installation: 'ours', server: 'https://here.example', clusters: [] };

it('a test speaks for the cluster that has this place already, takes none, and knows the names of the others', async () => {
  const { connect } = play();
  const seen: Ownership[] = [];
  const seeing: typeof connect = (one, context) => {
    seen.push(context.ownership);
    return connect(one, context);
  };
  const owner = { installation: 'ours', server: 'https://here.example' };
  const clusters = [
    { name: 'alpha', config },
    { name: 'beta', config: { ...config, directory: '/other' } },
  ];
  await testCluster({ ...config, region: 'south' }, { ...looker, clusters }, seeing);
  expect(seen[0]).toMatchObject({ owner: { cluster: 'alpha' }, claims: false });
  await testCluster({ ...config, directory: '/third' }, { ...looker, clusters }, seeing);
  expect(seen[1]?.isOwn({ ...owner, cluster: 'alpha' })).toBe(false);
  expect(seen[1]?.isOwn({ ...owner, cluster: 'removed' })).toBe(true);
});

it('a test of a cluster says what it found, what it cannot do, and why it did not answer', async () => {
  const { stage, connect } = play();
  expect(await testCluster(config, looker, connect)).toMatchObject({
    answered: true,
    nodes: [{ name: 'n1', closed: null, devices: { H100: 1 } }],
    lacks: expect.arrayContaining([
      'it runs no container images',
      'it chooses the devices of a task itself, by count',
    ]),
  });
  stage.listing = new Error('no such partition');
  expect(await testCluster(config, looker, connect)).toMatchObject({
    answered: false,
    error: 'no such partition',
    nodes: [],
  });
});

it('opens others while one that hangs is closing, and that one again only when it has closed', async () => {
  const { stage, pass, world } = play();
  const hanging = Promise.withResolvers<Listing>();
  stage.hangs = hanging.promise;
  expect(await pass(3000)).toEqual(['open']);
  stage.hangs = null;
  const changed = { ...config, region: 'south' };
  stage.rows = [
    { name: 'alpha', config: changed },
    { name: 'beta', config },
  ];
  const others = await pass(3000);
  expect(others).toContain('admit beta: beta-n1');
  expect(others.filter((word) => word === 'open')).toHaveLength(1);
  hanging.reject(new Error('gave up'));
  await world.advance(10);
  expect(await pass(3000)).toContain('open');
});
