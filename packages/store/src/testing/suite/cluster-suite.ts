import type { ClusterConfig, ConfigOf } from '@muster/model';
import { expect, test } from 'vitest';
import type { AdmitNode, Store } from '../../contract.ts';
import {
  aPlan,
  aSpec,
  aUnit,
  failed,
  joinNode,
  lead,
  newId,
  ok,
  placement,
  sayHello,
  submitted,
} from '../builders.ts';
import type { Harness } from './harness.ts';
import { dispatched } from './run-suite.ts';

const slurm: ConfigOf<'slurm'> = {
  kind: 'slurm',
  pool: 'gpu',
  lostAfter: '15m',
  fencedCheckpoints: false,
  capacity: 'owned',
  directory: '/shared/muster',
  projects: {},
  devices: {},
  ports: { first: 20_000, count: 100 },
};

const elsewhere = { ...slurm, directory: '/shared/elsewhere' };

const listed = (knownAs: string, closed: string | null = null): AdmitNode => {
  return { node: newId.node(), name: `alpha-${knownAs}`, knownAs, closed };
};

const connected = (store: Store, ...nodes: AdmitNode[]): Promise<number> =>
  connectedAs(store, slurm, ...nodes);

async function connectedAs(store: Store, config: ClusterConfig, ...nodes: AdmitNode[]): Promise<number> {
  await store.addCluster('alpha', config, 'ada');
  const epoch = await lead(store);
  await store.admitNodes(epoch, 'alpha', nodes);
  return epoch;
}

const told = async (store: Store) =>
  (await store.eventsSince(0, 1000))
    .map(({ body }) => body)
    .filter(({ kind }) => !kind.startsWith('leader.'));
const kinds = async (store: Store) => (await told(store)).map(({ kind }) => kind);
const drainOf = async (store: Store, name: string) => (await store.node(name))?.drain ?? null;

export function clusterSuite(harness: Harness): void {
  test('a cluster is added once, listed by name, and removed', async () => {
    const store = await harness.store();
    expect(await store.addCluster('beta', elsewhere, 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.addCluster('alpha', slurm, 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.addCluster('alpha', slurm, 'bob')).toEqual({ outcome: 'refused', refusal: 'exists' });
    const rows = await store.clusters();
    expect(rows.map(({ name }) => name)).toEqual(['alpha', 'beta']);
    expect(rows[0]).toMatchObject({ config: slurm, state: { state: 'new' }, drain: null, createdBy: 'ada' });
    expect(await store.removeCluster('beta', 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.removeCluster('beta', 'ada')).toEqual({ outcome: 'refused', refusal: 'not-found' });
    expect(await kinds(store)).toEqual(['cluster.added', 'cluster.added', 'cluster.removed']);
  });

  test('two clusters keep no runs in one place, also when they are added at once', async () => {
    const store = await harness.store();
    const added = await Promise.all(['alpha', 'beta'].map((name) => store.addCluster(name, slurm, 'ada')));
    expect(added.map(({ outcome }) => outcome).toSorted()).toEqual(['committed', 'refused']);
    expect(added.find(({ outcome }) => outcome === 'refused')).toMatchObject({ refusal: 'place-taken' });
    expect(await store.addCluster('gamma', elsewhere, 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.setCluster('gamma', slurm, 'ada')).toEqual({
      outcome: 'refused',
      refusal: 'place-taken',
    });
    const [first] = await store.clusters();
    await store.removeCluster(first?.name ?? '', 'ada');
    expect(await store.addCluster('delta', slurm, 'ada')).toMatchObject({ outcome: 'committed' });
  });

  test('no driver speaks for nodes that have agents', async () => {
    const store = await harness.store();
    await joinNode(store, { cluster: 'alpha' });
    expect(await store.addCluster('alpha', slurm, 'ada')).toEqual({
      outcome: 'refused',
      refusal: 'has-agents',
    });
    const config: ClusterConfig = { kind: 'agent', pool: 'gpu', capacity: 'spot' };
    expect(await store.addCluster('alpha', config, 'ada')).toMatchObject({ outcome: 'committed' });
  });

  test('what a cluster lists becomes nodes, once, and a name that another node has is refused', async () => {
    const store = await harness.store();
    const other = await joinNode(store, { cluster: 'main', name: 'alpha-n2' });
    const epoch = await connected(store, listed('n1'));
    const admit = () => store.admitNodes(epoch, 'alpha', [listed('n1'), listed('n2')]);
    const first = await admit();
    expect(first).toMatchObject({ value: { nodes: [{ knownAs: 'n1' }], refused: ['n2'] } });
    expect(await admit()).toMatchObject({ value: first.outcome === 'committed' ? first.value : null });
    expect(await store.node('alpha-n1')).toMatchObject({ cluster: 'alpha', pool: 'gpu', generation: 0 });
    expect((await store.node('alpha-n2'))?.id).toBe(other.node);
    expect(await store.admitNodes(epoch - 1, 'alpha', [])).toMatchObject({ refusal: 'stale-epoch' });
    expect(await store.admitNodes(epoch, 'beta', [])).toMatchObject({ refusal: 'not-found' });
  });

  test('a node that takes no work in its cluster, or is no longer listed, is drained until that is over', async () => {
    const store = await harness.store();
    const epoch = await connected(store, listed('n1'), listed('n2', 'down: no answer'));
    await sayHello(store, (await store.node('alpha-n1'))!.id);
    expect(await drainOf(store, 'alpha-n1')).toBeNull();
    const closed = { by: 'cluster alpha', reason: 'down: no answer', cluster: true };
    expect(await drainOf(store, 'alpha-n2')).toMatchObject(closed);
    await store.admitNodes(epoch, 'alpha', [listed('n2')]);
    expect(await drainOf(store, 'alpha-n1')).toMatchObject({ reason: 'the cluster no longer lists it' });
    expect(await drainOf(store, 'alpha-n2')).toBeNull();
    await store.admitNodes(epoch, 'alpha', [listed('n1'), listed('n2')]);
    expect(await drainOf(store, 'alpha-n1')).toBeNull();
    expect((await kinds(store)).slice(-3)).toEqual(['node.joined', 'node.drained', 'node.undrained']);
  });

  test('what an operator said of a node stands before its cluster', async () => {
    const store = await harness.store();
    const epoch = await connected(store, listed('n1'));
    const { id } = (await store.node('alpha-n1'))!;
    await store.drain(id, { by: 'ada', reason: 'fan' }, 'ada');
    await store.admitNodes(epoch, 'alpha', [listed('n1', 'down')]);
    await store.drainCluster('alpha', { by: 'ada', reason: 'power' }, 'ada');
    await store.drainCluster('alpha', null, 'ada');
    await store.admitNodes(epoch, 'alpha', [listed('n1')]);
    expect(await drainOf(store, 'alpha-n1')).toMatchObject({ by: 'ada', reason: 'fan' });
  });

  test('a drained cluster takes no work on any node, those that come later too', async () => {
    const store = await harness.store();
    const epoch = await connected(store, listed('n1'));
    const drain = { by: 'ada', reason: 'power' };
    expect(await store.drainCluster('beta', drain, 'ada')).toMatchObject({ refusal: 'not-found' });
    await store.drainCluster('alpha', drain, 'ada');
    await store.admitNodes(epoch, 'alpha', [listed('n1'), listed('n2')]);
    for (const name of ['alpha-n1', 'alpha-n2'])
      expect(await drainOf(store, name)).toMatchObject({ by: 'ada', reason: 'cluster alpha: power' });
    expect((await store.clusters())[0]).toMatchObject({ drain });
    await store.drainCluster('alpha', null, 'ada');
    await store.drainCluster('alpha', null, 'ada');
    for (const name of ['alpha-n1', 'alpha-n2']) expect(await drainOf(store, name)).toBeNull();
    const ends = (await kinds(store)).filter((kind) => kind.startsWith('cluster.'));
    expect(ends).toEqual(['cluster.added', 'cluster.drained', 'cluster.undrained']);
  });

  test('a machine that enrols in a drained cluster takes no work', async () => {
    const store = await harness.store();
    await store.addCluster('alpha', { kind: 'agent', pool: 'gpu', capacity: 'owned' }, 'ada');
    const before = await joinNode(store, { cluster: 'alpha' });
    await store.drainCluster('alpha', { by: 'ada', reason: 'power' }, 'ada');
    const after = await joinNode(store, { cluster: 'alpha' });
    for (const { name } of [before, after])
      expect(await drainOf(store, name)).toMatchObject({ reason: 'cluster alpha: power' });
  });

  test('time proves nothing where a cluster speaks for a node; an operator’s word does', async () => {
    const store = await harness.store();
    await connected(store, listed('n1'));
    const node = await sayHello(store, (await store.node('alpha-n1'))!.id);
    const { epoch, job, run } = await dispatched(store, [node], aSpec({ stopAfterMs: 20 }));
    const sums = { cluster: 'alpha', nodes: 1, devices: 8, devicesUsed: 0, runs: 1 };
    expect(await store.clusterSums()).toEqual([{ ...sums, ready: 1, open: 1, unproven: 0 }]);
    expect(await store.leases()).toEqual([]);
    await store.silence(node);
    expect(await store.clusterSums()).toEqual([{ ...sums, ready: 0, open: 0, unproven: 1 }]);
    await harness.pass(30);
    const [lease] = await store.leases();
    expect(lease).toMatchObject({ node: node.node, leased: false, runs: [{ run }] });
    const item = { node: node.node, renewals: lease?.renewals ?? 0, runs: [run], marginMs: 0 };
    expect(await store.expire(epoch, [item])).toMatchObject({ value: [] });
    expect((await store.runs(job))[0]?.state.state).toBe('unknown');
    await store.declareLost(node.node, 'ada');
    expect((await store.job(job))?.state).toMatchObject({ state: 'queued', attempt: 2 });
  });

  const fencing: ConfigOf<'slurm'> = { ...slurm, lostAfter: '10s', fencedCheckpoints: true };
  const silent = { kind: 'silence', forMs: 10_000, why: 'cut off' } as const;

  /** A run in a cluster that is silent, and its job. */
  async function unheard(config: ClusterConfig, spec: Parameters<typeof aSpec>[0]) {
    const store = await harness.store();
    await connectedAs(store, config, listed('n1'));
    const node = await sayHello(store, (await store.node('alpha-n1'))!.id);
    const { epoch, job, run } = await dispatched(store, [node], aSpec(spec));
    await store.silence(node);
    return { store, epoch, node, job, run };
  }

  test('a configuration changes under its runs, but not which cluster it is', async () => {
    const store = await harness.store();
    await connected(store, listed('n1'));
    const set = (config: ClusterConfig) => store.setCluster('alpha', config, 'bob');
    expect(await store.setCluster('beta', slurm, 'bob')).toMatchObject({ refusal: 'not-found' });
    // The same again is no change.
    expect(await set(slurm)).toMatchObject({ outcome: 'committed' });
    expect(await set({ kind: 'agent', pool: 'gpu', capacity: 'owned' })).toMatchObject({
      refusal: 'other-kind',
    });
    expect(await set({ ...slurm, pool: 'other' })).toMatchObject({ refusal: 'has-nodes' });
    const moved = { ...slurm, directory: '/elsewhere' };
    expect(await set(moved)).toMatchObject({ outcome: 'committed' });
    const node = await sayHello(store, (await store.node('alpha-n1'))!.id);
    const { job } = await dispatched(store, [node]);
    expect(await set(slurm)).toMatchObject({ refusal: 'in-use' });
    const south = { ...moved, region: 'south', lostAfter: '5m' };
    expect(await set(south)).toMatchObject({ outcome: 'committed' });
    expect((await store.clusters())[0]).toMatchObject({ config: south, createdBy: 'ada' });
    expect((await store.job(job))?.state).toMatchObject({ state: 'starting', attempt: 1 });
    const changes = (await told(store)).filter(({ kind }) => kind === 'cluster.changed');
    expect(changes).toMatchObject([{ config: moved, by: 'bob' }, { config: south }]);
  });

  test('what can no longer write starts elsewhere once its cluster is lost, and costs no retry', async () => {
    const retry = { user: 0, outOfMemory: 0, infrastructure: 0 };
    const { store, epoch, node, job, run } = await unheard(fencing, { fenced: true, retry });
    // Not before it counts as lost.
    expect(await store.failOver(epoch, 'alpha')).toMatchObject({ value: [] });
    await store.noteCluster(epoch, 'alpha', silent);
    expect(await store.failOver(epoch - 1, 'alpha')).toMatchObject({ refusal: 'stale-epoch' });
    expect(await store.failOver(epoch, 'beta')).toMatchObject({ refusal: 'not-found' });
    expect(await store.failOver(epoch, 'alpha')).toMatchObject({ value: [run] });
    expect((await store.job(job))?.state).toMatchObject({ state: 'queued', attempt: 2 });
    expect((await store.runs(job))[0]?.state).toMatchObject({
      state: 'ended',
      result: { outcome: 'failed', class: 'infrastructure', reason: { code: 'fenced' } },
    });
    // The node is no more proven gone than before, and what is left there is not among what may live when it is back.
    expect((await store.node('alpha-n1'))?.state.state).toBe('silent');
    expect(await store.failOver(epoch, 'alpha')).toMatchObject({ value: [] });
    const back = await sayHello(store, node.node, {
      tasks: [{ run, rank: 0, state: 'running', exit: null }],
    });
    expect(await store.renew({ ...back, keys: [run] })).toMatchObject({ value: { live: [] } });
  });

  test('what may write elsewhere, is being cancelled, or lies where nobody fences waits for proof', async () => {
    const kept = async (config: ClusterConfig, spec: Parameters<typeof aSpec>[0], cancel = false) => {
      const { store, epoch, job } = await unheard(config, spec);
      if (cancel) await store.cancel(job, 'ada');
      await store.noteCluster(epoch, 'alpha', { ...silent, forMs: 900_000 });
      expect((await store.clusters())[0]?.state.state).toBe('lost');
      expect(await store.failOver(epoch, 'alpha')).toMatchObject({ value: [] });
      expect((await store.runs(job))[0]?.state.state).toBe('unknown');
    };
    await kept(fencing, {});
    await kept(slurm, { fenced: true });
    await kept(fencing, { fenced: true }, true);
  });

  test('a cluster that answers again keeps its runs', async () => {
    const { store, epoch, node, job, run } = await unheard(fencing, { fenced: true });
    await store.noteCluster(epoch, 'alpha', silent);
    await store.noteCluster(epoch, 'alpha', { kind: 'answer' });
    expect(await store.failOver(epoch, 'alpha')).toMatchObject({ value: [] });
    await store.noteCluster(epoch, 'alpha', silent);
    // Heard of again before anybody let go of it.
    await sayHello(store, node.node, { tasks: [{ run, rank: 0, state: 'running', exit: null }] });
    expect(await store.failOver(epoch, 'alpha')).toMatchObject({ value: [] });
    expect((await store.job(job))?.state).toMatchObject({ attempt: 1 });
  });

  test('a gang over two nodes goes whole, when the second is silent too', async () => {
    const store = await harness.store();
    await connectedAs(store, fencing, listed('n1'), listed('n2'));
    const nodes = [];
    for (const name of ['alpha-n1', 'alpha-n2'])
      nodes.push(await sayHello(store, (await store.node(name))!.id));
    const { epoch, job, run } = await dispatched(store, nodes, aSpec({ fenced: true, tasks: 2 }));
    await store.noteCluster(epoch, 'alpha', silent);
    await store.silence(nodes[0]!);
    expect(await store.failOver(epoch, 'alpha')).toMatchObject({ value: [run] });
    expect((await store.runs(job))[0]?.state.state).not.toBe('ended');
    await store.silence(nodes[1]!);
    expect(await store.failOver(epoch, 'alpha')).toMatchObject({ value: [run] });
    expect((await store.job(job))?.state).toMatchObject({ state: 'queued', attempt: 2 });
  });

  test('a gang that failed for good waits for proof of the rest of it, and one with a retry left goes on', async () => {
    const lost = async (user: number) => {
      const store = await harness.store();
      await connectedAs(store, fencing, listed('n1'), listed('n2'));
      const nodes = [];
      for (const name of ['alpha-n1', 'alpha-n2'])
        nodes.push(await sayHello(store, (await store.node(name))!.id));
      const retry = { user, outOfMemory: 0, infrastructure: 0 };
      const { epoch, job, run } = await dispatched(store, nodes, aSpec({ fenced: true, tasks: 2, retry }));
      await store.observe(nodes[0]!, [{ kind: 'ended', run, rank: 0, exit: failed() }]);
      for (const node of nodes) await store.silence(node);
      await store.noteCluster(epoch, 'alpha', silent);
      const answer = await store.failOver(epoch, 'alpha');
      return { answer, run, job: await store.job(job), runs: await store.runs(job) };
    };
    // No next attempt would refuse what its other task still writes.
    const over = await lost(0);
    expect(over).toMatchObject({ answer: { value: [] }, job: { state: { attempt: 1 } } });
    expect(over.runs[0]?.state.state).toBe('unknown');
    const again = await lost(1);
    expect(again.answer).toMatchObject({ value: [again.run] });
    expect(again.job?.state).toMatchObject({ state: 'queued', attempt: 2, failures: { user: 1 } });
  });

  test('a cluster with work is not removed; without, its nodes go with it, and come back as new ones', async () => {
    const store = await harness.store();
    const epoch = await connected(store, listed('n1'));
    const { id } = (await store.node('alpha-n1'))!;
    const node = await sayHello(store, id);
    const unit = aUnit(await submitted(store), [placement(id)]);
    await store.commitPlan(epoch, aPlan([unit]));
    expect(await store.removeCluster('alpha', 'ada')).toEqual({ outcome: 'refused', refusal: 'in-use' });
    await store.takeOutbox([node], 10);
    await store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: ok }]);
    expect(await store.removeCluster('alpha', 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.node('alpha-n1')).toBeNull();
    await connected(store, listed('n1'));
    expect((await store.node('alpha-n1'))?.id).not.toBe(id);
  });

  test('a cluster is connected when it answers, degraded and lost when it does not, and says why', async () => {
    const store = await harness.store();
    const epoch = await connected(store);
    const note = (forMs: number | null) =>
      store.noteCluster(
        epoch,
        'alpha',
        forMs === null ? { kind: 'answer' } : { kind: 'silence', forMs, why: `quiet for ${forMs} ms` },
      );
    const state = async () => (await store.clusters())[0]?.state;
    await note(30_000);
    expect(await state()).toMatchObject({ state: 'new' });
    await note(null);
    await note(null);
    const { answeredMs } = (await store.clusters())[0]!;
    expect(answeredMs).toBeGreaterThan(0);
    await note(59_999);
    expect(await state()).toMatchObject({ state: 'connected' });
    await note(60_000);
    await note(61_000);
    expect(await state()).toMatchObject({ state: 'degraded', reason: 'quiet for 60000 ms' });
    await note(900_000);
    await note(60_000);
    expect(await state()).toMatchObject({ state: 'lost', reason: 'quiet for 900000 ms' });
    expect((await store.clusters())[0]?.answeredMs).toBe(answeredMs);
    await note(null);
    const changes = (await kinds(store)).filter((kind) => kind.startsWith('cluster.')).slice(1);
    expect(changes).toEqual(['cluster.connected', 'cluster.degraded', 'cluster.lost', 'cluster.connected']);
    expect(await store.noteCluster(epoch - 1, 'alpha', { kind: 'answer' })).toMatchObject({
      refusal: 'stale-epoch',
    });
    expect(await store.noteCluster(epoch, 'beta', { kind: 'answer' })).toMatchObject({
      refusal: 'not-found',
    });
  });
}
