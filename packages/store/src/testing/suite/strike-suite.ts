import { type EventBody, type Strike, strikeRule } from '@muster/model';
import { expect, test } from 'vitest';
import type { NodeRow, Store, Struck } from '../../contract.ts';
import { aPlan, aUnit, type JoinedNode, joinNode, newId, placement, submitted } from '../builders.ts';
import type { Harness } from './harness.ts';
import { dispatched } from './run-suite.ts';

const replay: Strike = { code: 'bad-counter', detail: 'message 2 after 2' };

async function strike(
  store: Store,
  { node }: Pick<JoinedNode, 'node'>,
  item = replay,
  rule = strikeRule,
): Promise<Struck> {
  const answer = await store.strike(node, item, rule);
  if (answer.outcome !== 'committed') throw new Error(`strike: ${JSON.stringify(answer)}`);
  return answer.value;
}

async function strikeOut(store: Store, node: JoinedNode): Promise<Struck['outcome']> {
  await strike(store, node);
  await strike(store, node);
  return (await strike(store, node)).outcome;
}

async function rowOf(store: Store, { node }: JoinedNode): Promise<NodeRow> {
  const row = await store.node(node);
  if (!row) throw new Error(`no node ${node}`);
  return row;
}

async function told(store: Store, after = 0): Promise<EventBody[]> {
  const bodies = (await store.eventsSince(after, 1000)).map((event) => event.body);
  return bodies.filter(({ kind }) => ['node.struck', 'node.drained', 'node.undrained'].includes(kind));
}

async function pair(store: Store): Promise<[JoinedNode, JoinedNode]> {
  return [await joinNode(store), await joinNode(store)];
}

async function pool(store: Store, size: number): Promise<JoinedNode[]> {
  const nodes: JoinedNode[] = [];
  while (nodes.length < size) nodes.push(await joinNode(store));
  return nodes;
}

export function strikeSuite(harness: Harness): void {
  test('a strike is counted with its reason and time, and a node that does not exist has none', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    expect((await rowOf(store, node)).strikes).toBeNull();
    const beforeMs = await store.nowMs();
    expect(await strike(store, node)).toMatchObject({ strikes: 1, outcome: 'counted' });
    const words = `key "\u0000\u{1f600}${'x'.repeat(500)}"`;
    await strike(store, node, { code: 'bad-message', detail: words });
    const { strikes, drain } = await rowOf(store, node);
    expect(strikes).toMatchObject({ count: 2, code: 'bad-message', spared: false });
    expect(strikes?.detail).toMatch(/^key "\?+x+…$/);
    expect(strikes?.lastMs).toBeGreaterThanOrEqual(beforeMs);
    expect(drain).toBeNull();
    expect(await told(store)).toMatchObject([
      { kind: 'node.struck', node: node.node, name: node.name, strikes: 1, outcome: 'counted', ...replay },
      { kind: 'node.struck', strikes: 2 },
    ]);
    const nobody = await store.strike(newId.node(), replay, strikeRule);
    expect(nobody).toEqual({ outcome: 'refused', refusal: 'not-found' });
  });

  test('three strikes keep new work off the node; what runs there goes on, and undrain ends it', async () => {
    const store = await harness.store();
    const [node] = await pair(store);
    const { epoch, run } = await dispatched(store, [node]);
    expect(await strikeOut(store, node)).toBe('quarantined');
    expect((await rowOf(store, node)).drain).toMatchObject({
      by: 'muster',
      reason: 'its agent sent 3 bad messages; the last (bad-counter): message 2 after 2',
      quarantine: true,
    });
    expect(await store.counts()).toMatchObject({ quarantined: 1, spared: 0 });
    expect(await store.renew({ ...node, keys: [run] })).toMatchObject({ value: { live: [{ run }] } });
    const unit = aUnit(await submitted(store), [placement(node.node)], { port: 2 });
    const place = () => store.commitPlan(epoch, aPlan([unit]));
    expect(await place()).toMatchObject({ value: { applied: [], dropped: [{ run: unit.run }] } });
    expect((await told(store)).slice(-2)).toMatchObject([
      { kind: 'node.struck', strikes: 3, outcome: 'quarantined' },
      { kind: 'node.drained', node: node.node, drain: { by: 'muster', quarantine: true } },
    ]);
    await store.drain(node.node, null, 'ada');
    expect(await rowOf(store, node)).toMatchObject({ drain: null, strikes: null });
    expect(await place()).toMatchObject({ value: { applied: [unit.run] } });
    expect(await strike(store, node)).toMatchObject({ strikes: 1, outcome: 'counted' });
  });

  test('what comes after the quarantine is counted and fills no log', async () => {
    const store = await harness.store();
    const [node] = await pair(store);
    await strikeOut(store, node);
    const { sequence } = await store.head();
    expect(await strike(store, node)).toMatchObject({ strikes: 4, outcome: 'counted' });
    expect(await told(store, sequence)).toEqual([]);
    expect((await rowOf(store, node)).strikes?.count).toBe(4);
  });

  test('strikes are forgotten a while after the last one', async () => {
    const store = await harness.store();
    const [node] = await pair(store);
    const forgetful = { ...strikeRule, memoryMs: 20 };
    await strike(store, node, replay, forgetful);
    await strike(store, node, replay, forgetful);
    await harness.pass(30);
    expect((await rowOf(store, node)).strikes).toBeNull();
    expect(await strike(store, node)).toMatchObject({ strikes: 1, outcome: 'counted' });
  });

  test('undrain forgets the strikes of a node that was never drained, and says so once', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    await strike(store, node);
    await store.drain(node.node, null, 'ada');
    await store.drain(node.node, null, 'ada');
    expect((await rowOf(store, node)).strikes).toBeNull();
    expect((await told(store)).map(({ kind }) => kind)).toEqual(['node.struck', 'node.undrained']);
  });

  test('an operator’s drain of a quarantined node does not end the quarantine', async () => {
    const store = await harness.store();
    const [node] = await pair(store);
    await strikeOut(store, node);
    await store.drain(node.node, { by: 'ada', reason: 'fan' }, 'ada');
    expect((await rowOf(store, node)).drain).toMatchObject({ by: 'ada', reason: 'fan', quarantine: true });
    await store.drain(node.node, null, 'ada');
    expect((await rowOf(store, node)).drain).toBeNull();
  });

  test('an operator’s own drain stays the operator’s', async () => {
    const store = await harness.store();
    const [node] = await pair(store);
    await store.drain(node.node, { by: 'ada', reason: 'fan' }, 'ada');
    expect(await strikeOut(store, node)).toBe('counted');
    const { drain, strikes } = await rowOf(store, node);
    expect(drain).toMatchObject({ by: 'ada', reason: 'fan' });
    expect(drain?.quarantine).toBeUndefined();
    expect(strikes).toMatchObject({ count: 3, spared: false });
  });

  test('the last node of a pool that takes work is spared, and that is told', async () => {
    const store = await harness.store();
    const [one, two] = await pair(store);
    expect(await strikeOut(store, one)).toBe('quarantined');
    expect(await strikeOut(store, two)).toBe('spared');
    expect(await rowOf(store, two)).toMatchObject({ drain: null, strikes: { count: 3, spared: true } });
    expect(await store.counts()).toMatchObject({ quarantined: 1, spared: 1 });
    expect((await told(store)).at(-1)).toMatchObject({ kind: 'node.struck', strikes: 3, outcome: 'spared' });
    const far = await joinNode(store, { cluster: 'far' });
    expect(await strikeOut(store, far)).toBe('spared');
    await store.drain(one.node, null, 'ada');
    expect(await strike(store, two)).toMatchObject({ strikes: 4, outcome: 'quarantined' });
    expect(await store.counts()).toMatchObject({ quarantined: 1, spared: 1 });
  });

  test('at most a tenth of a pool is quarantined, also when many are struck at once', async () => {
    const store = await harness.store();
    const nodes = await pool(store, 21);
    for (const node of nodes.slice(0, 8)) {
      await strike(store, node);
      await strike(store, node);
    }
    const outcomes = await Promise.all(
      nodes.slice(0, 8).map(async (node) => (await strike(store, node)).outcome),
    );
    expect(outcomes.filter((outcome) => outcome === 'quarantined')).toHaveLength(2);
    expect(outcomes.filter((outcome) => outcome === 'spared')).toHaveLength(6);
    expect(await store.counts()).toMatchObject({ quarantined: 2, spared: 6 });
  });

  test('a report about a task of another node is not taken, and told; the rest of it is', async () => {
    const store = await harness.store();
    const [one, two] = await pair(store);
    const { job, run } = await dispatched(store, [one, two]);
    const report = await store.observe(two, [
      { kind: 'started', run, rank: 0, pid: 1 },
      { kind: 'started', run, rank: 1, pid: 1 },
      { kind: 'started', run, rank: 7, pid: 1 },
    ]);
    expect(report).toMatchObject({ value: { foreign: { run, rank: 0 } } });
    const states = (await store.runs(job))[0]?.tasks.map((task) => task.state.state);
    expect(states).toEqual(['accepted', 'running']);
    const own = await store.observe(one, [{ kind: 'started', run, rank: 0, pid: 1 }]);
    expect(own).toMatchObject({ value: { foreign: null } });
  });
}
