import type { NodeId, TaskReport } from '@muster/model';
import { expect, test } from 'vitest';
import type { Store } from '../../contract.ts';
import {
  anInventory,
  aPlan,
  aSpec,
  aUnit,
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

const kinds = async (store: Store) => (await store.eventsSince(0, 1000)).map((event) => event.body.kind);
const clusterKinds = async (store: Store) =>
  (await kinds(store)).filter((kind) => kind.startsWith('cluster.'));
const fast = aSpec({ stopAfterMs: 20 });

async function leaseOf(store: Store, node: NodeId) {
  const lease = (await store.leases()).find((one) => one.node === node);
  if (!lease) throw new Error(`no lease of ${node}`);
  return lease;
}

export function nodeSuite(harness: Harness): void {
  test('an enrolment token is used up, and runs out', async () => {
    const store = await harness.store();
    const now = await store.nowMs();
    const token = { cluster: 'main', pool: 'gpu', by: 'ada', uses: 1 };
    await store.createEnrolment({ id: 'e1', hash: 'h1', expiresMs: now + 60_000, ...token });
    await store.createEnrolment({ id: 'e2', hash: 'h2', expiresMs: now - 1, ...token });
    const ask = (hash: string, name = 'n1') =>
      store.enrol({ hash, node: newId.node(), name, publicKey: 'k' });
    const first = await ask('h1');
    expect(first).toMatchObject({ outcome: 'committed' });
    for (const hash of ['h1', 'h2', 'h3'])
      expect(await ask(hash)).toEqual({ outcome: 'refused', refusal: 'bad-token' });
  });

  test('the same name in the same cluster is the same node with a new key; in another it is taken', async () => {
    const store = await harness.store();
    const expiresMs = (await store.nowMs()) + 60_000;
    const more = { pool: 'gpu', by: 'ada', uses: 3, expiresMs };
    await store.createEnrolment({ id: 'e1', hash: 'h1', cluster: 'main', ...more });
    await store.createEnrolment({ id: 'e2', hash: 'h2', cluster: 'other', ...more });
    const ask = (hash: string, publicKey: string) =>
      store.enrol({ hash, node: newId.node(), name: 'n1', publicKey });
    const first = await ask('h1', 'old');
    const again = await ask('h1', 'new');
    if (first.outcome !== 'committed' || again.outcome !== 'committed') throw new Error('not enrolled');
    expect(again.value.node).toBe(first.value.node);
    expect(await store.nodeKey(first.value.node)).toEqual({ key: 'new', session: null });
    expect(await ask('h2', 'k')).toEqual({ outcome: 'refused', refusal: 'name-in-use' });
    expect(await store.nodeKey(newId.node())).toBeNull();
  });

  test('a node that has work is not given to another key, and the token is not used up', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job, run } = await dispatched(store, [node]);
    const expiresMs = (await store.nowMs()) + 60_000;
    const { cluster } = (await store.node(node.node))!;
    await store.createEnrolment({ id: 'e9', hash: 'h9', cluster, pool: 'p', by: 'ada', uses: 1, expiresMs });
    const ask = () => store.enrol({ hash: 'h9', node: newId.node(), name: node.name, publicKey: 'k' });
    expect(await ask()).toEqual({ outcome: 'refused', refusal: 'has-work' });
    expect(await store.renew({ ...node, keys: [run] })).toMatchObject({ value: { live: [{ run }] } });
    await store.observe(node, [{ kind: 'ended', run, rank: 0, exit: ok }]);
    expect((await store.job(job))?.state.state).toBe('ended');
    expect(await ask()).toMatchObject({ outcome: 'committed', value: { node: node.node } });
  });

  test('a machine that has enrolled and never spoken is drained already when it joins', async () => {
    const store = await harness.store();
    const expiresMs = (await store.nowMs()) + 60_000;
    await store.createEnrolment({
      id: 'e',
      hash: 'h',
      cluster: 'main',
      pool: 'gpu',
      by: 'ada',
      uses: 1,
      expiresMs,
    });
    const enrolled = await store.enrol({ hash: 'h', node: newId.node(), name: 'n1', publicKey: 'k' });
    if (enrolled.outcome !== 'committed') throw new Error('not enrolled');
    const { node } = enrolled.value;
    expect(await store.drain(node, { by: 'ada', reason: 'fan' }, 'ada')).toMatchObject({
      outcome: 'committed',
    });
    expect((await store.loadEngine()).nodes).toEqual([]);
    await sayHello(store, node);
    const joined = (await store.eventsSince(0, 10)).at(-1);
    expect(joined?.body).toMatchObject({ kind: 'node.joined', drain: { by: 'ada', reason: 'fan' } });
    expect((await store.loadEngine()).nodes).toMatchObject([{ drain: { reason: 'fan' } }]);
  });

  test('a node joins once, changes when its inventory does, and returns when it was silent', async () => {
    const store = await harness.store();
    const { node, name } = await joinNode(store);
    await sayHello(store, node);
    expect(await kinds(store)).toEqual(['node.joined']);
    const silent = await sayHello(store, node, { inventory: anInventory({ address: '10.0.0.9' }) });
    expect(await kinds(store)).toEqual(['node.joined', 'node.changed']);
    expect(await store.node(name)).toMatchObject({ generation: 2, inventory: { address: '10.0.0.9' } });
    await store.silence(silent);
    await store.silence(silent);
    await sayHello(store, node, { inventory: anInventory({ address: '10.0.0.9' }) });
    expect(await kinds(store)).toEqual(['node.joined', 'node.changed', 'node.silent', 'node.ready']);
    expect(
      await store.hello({
        ...silent,
        node: newId.node(),
        server: newId.server(),
        bootId: 'b',
        agentVersion: '1',
        isolation: false,
        tasks: [],
      }),
    ).toEqual({
      outcome: 'refused',
      refusal: 'not-found',
    });
  });

  test('a node that shrank keeps what is sold and sells no more', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const joined = await joinNode(store);
    const { node } = joined;
    const unit = aUnit(await submitted(store), [placement(node, { devices: [7], cpuMilli: 60_000 })]);
    await store.commitPlan(epoch, aPlan([unit]));
    await store.takeOutbox([joined], 1);
    const small = anInventory({ gpus: 2, cpuMilli: 2000, memoryMib: 600 });
    const again = await sayHello(store, node, {
      inventory: small,
      tasks: [{ run: unit.run, rank: 0, state: 'running', exit: null }],
    });
    expect(await store.node(node)).toMatchObject({ generation: 2, cpuMilliUsed: 60_000 });
    const more = aUnit(await submitted(store), [placement(node)], { port: 2, nodeGenerations: [[node, 2]] });
    expect(await store.commitPlan(epoch, aPlan([more]))).toMatchObject({
      value: { dropped: [{ refusal: 'no-capacity' }] },
    });
    await store.observe(again, [{ kind: 'ended', run: unit.run, rank: 0, exit: ok }]);
    expect(await store.node(node)).toMatchObject({ cpuMilliUsed: 0, devicesUsed: [0, 0] });
    expect(await store.commitPlan(epoch, aPlan([more]))).toMatchObject({ value: { dropped: [] } });
    const third = aUnit(await submitted(store), [placement(node, { cpuMilli: 1001 })], {
      port: 3,
      nodeGenerations: [[node, 2]],
    });
    expect(await store.commitPlan(epoch, aPlan([third]))).toMatchObject({
      value: { dropped: [{ refusal: 'no-capacity' }] },
    });
  });

  test('hello applies what the agent holds and ends what it does not', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const spec = aSpec();
    const held = await dispatched(store, [node], spec);
    await store.cancel((await dispatched(store, [node], spec)).job, 'ada').catch(() => {});
    const again = await sayHello(store, node.node, {
      tasks: [{ run: held.run, rank: 0, state: 'running', exit: null }],
    });
    expect((await store.job(held.job))?.state.state).toBe('running');
    const third = await sayHello(store, node.node, { tasks: [] });
    expect(again.session).not.toBe(third.session);
    expect((await store.job(held.job))?.state).toMatchObject({ state: 'queued', attempt: 2 });
    expect((await store.runs(held.job))[0]?.state).toMatchObject({
      result: { reason: { code: 'lost-by-agent' } },
    });
  });

  test('hellos that come together are each answered for themselves, also two of one node', async () => {
    const store = await harness.store();
    const [first, second] = [await joinNode(store), await joinNode(store)];
    const held = await dispatched(store, [second]);
    const message = (
      node: NodeId,
      replaces: string | null,
      more: { tasks?: readonly TaskReport[] } = {},
    ) => ({
      node,
      session: newId.text(),
      server: newId.server(),
      replaces,
      bootId: 'b',
      agentVersion: '1',
      isolation: false,
      inventory: first.inventory,
      tasks: [],
      ...more,
    });
    const tasks = [{ run: held.run, rank: 0, state: 'running', exit: null }] as const;
    const known = [
      message(first.node, first.session),
      message(second.node, second.session, { tasks }),
      // What the first hello of its node has made: by then the session that it names is gone.
      message(first.node, first.session),
      message(newId.node(), null),
    ];
    const answers = await Promise.all(known.map((hello) => store.hello(hello)));
    expect(answers.map((answer) => (answer.outcome === 'refused' ? answer.refusal : answer.outcome))).toEqual(
      ['committed', 'committed', 'replaced', 'not-found'],
    );
    expect(await store.nodeSessions([first.node, second.node, newId.node()])).toEqual(
      new Map([
        [first.node, known[0]?.session],
        [second.node, known[1]?.session],
      ]),
    );
    expect((await store.job(held.job))?.state.state).toBe('running');
  });

  test('a hello that is overtaken by one of a newer connection changes nothing', async () => {
    const store = await harness.store();
    const old = await joinNode(store);
    const seen = await store.nodeKey(old.node);
    expect(seen?.session).toBe(old.session);
    const newer = await sayHello(store, old.node);
    const { job, run } = await dispatched(store, [newer]);
    await store.observe(newer, [{ kind: 'started', run, rank: 0, pid: 1 }]);
    const late = {
      node: old.node,
      session: newId.text(),
      server: newId.server(),
      replaces: old.session,
      bootId: 'b',
      agentVersion: '1',
      isolation: false,
      inventory: old.inventory,
      tasks: [],
    };
    expect(await store.hello(late)).toEqual({ outcome: 'refused', refusal: 'replaced' });
    expect((await store.job(job))?.state.state).toBe('running');
    expect(await store.renew({ ...newer, keys: [run] })).toMatchObject({ value: { live: [{ run }] } });
    expect(await store.hello({ ...late, replaces: newer.session })).toMatchObject({ outcome: 'committed' });
  });

  test('hello with an end that was not yet acknowledged ends the task', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job, run } = await dispatched(store, [node]);
    await sayHello(store, node.node, { tasks: [{ run, rank: 0, state: 'ended', exit: ok }] });
    expect((await store.job(job))?.state).toMatchObject({ state: 'ended', result: { outcome: 'succeeded' } });
  });

  test('hello leaves a task alone whose start is still to be delivered', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const node = await joinNode(store);
    const unit = aUnit(await submitted(store), [placement(node.node)]);
    await store.commitPlan(epoch, aPlan([unit]));
    await store.takeOutbox([node], 10);
    const again = await sayHello(store, node.node);
    expect((await store.job(unit.job))?.state.state).toBe('starting');
    expect(await store.takeOutbox([again], 10)).toMatchObject([
      { kind: 'start', command: { run: unit.run } },
    ]);
    // The answer to the first delivery was lost, and the agent has it after all.
    await sayHello(store, node.node, { tasks: [{ run: unit.run, rank: 0, state: 'accepted', exit: null }] });
    expect((await store.counts()).outboxOpen).toBe(0);
    expect((await store.runs(unit.job))[0]?.tasks[0]?.state.state).toBe('accepted');
  });

  test('a renewal names what may live, and only for the session of today', async () => {
    const store = await harness.store();
    const [node, other] = [await joinNode(store), await joinNode(store)];
    const { run, job } = await dispatched(store, [node], aSpec({ stopAfterMs: 25_000 }));
    const foreign = await dispatched(store, [other]);
    const renewed = await store.renew({ ...node, keys: [run, foreign.run] });
    expect(renewed).toMatchObject({
      outcome: 'committed',
      value: { live: [{ run, stopAfterMs: 25_000 }], beatMs: 5000 },
    });
    expect(await store.renew({ ...node, session: 'old', keys: [] })).toEqual({
      outcome: 'refused',
      refusal: 'stale-session',
    });
    await store.observe(node, [{ kind: 'ended', run, rank: 0, exit: ok }]);
    expect(await store.renew({ ...node, keys: [run] })).toMatchObject({
      value: { live: [], beatMs: 10_000 },
    });
    expect((await store.job(job))?.state.state).toBe('ended');
  });

  test('what an outside hand does to a run is told and logged once, and changes nothing of what it is', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job, run } = await dispatched(store, [node]);
    const halt = { code: 'held', message: 'held there by ann' };
    const tell = (told: typeof halt | null) =>
      store.observe(node, [{ kind: 'halt', run, rank: 0, halt: told }]);
    const shown = async () => [(await store.job(job))?.halt, (await store.runs(job))[0]?.halt];
    expect(await shown()).toEqual([null, null]);
    await tell(halt);
    await tell(halt);
    expect(await shown()).toEqual([halt, halt]);
    expect((await store.job(job))?.state.state).toBe('starting');
    // As a new leader tells it, and an agent or a cluster that lists it free.
    const held = { run, rank: 0, state: 'accepted' as const, exit: null };
    await sayHello(store, node.node, { tasks: [{ ...held, halt }] });
    expect(await shown()).toEqual([halt, halt]);
    await sayHello(store, node.node, { tasks: [held] });
    expect(await shown()).toEqual([null, null]);
    expect((await kinds(store)).filter((kind) => /halted/.test(kind))).toEqual([
      'run.halted',
      'run.unhalted',
    ]);
  });

  test('silence makes runs unknown and keeps their capacity; the return makes them known again', async () => {
    const store = await harness.store();
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const { job, run } = await dispatched(store, [one, two]);
    await store.observe(one, [{ kind: 'started', run, rank: 0, pid: 1 }]);
    await store.silence(one);
    await store.silence(two);
    const state = async () => (await store.runs(job))[0]?.state.state;
    expect(await state()).toBe('unknown');
    expect((await store.job(job))?.unheardSinceMs).toBeGreaterThan(0);
    expect(await store.node(one.node)).toMatchObject({ state: { state: 'silent' }, cpuMilliUsed: 1000 });
    expect(await store.renew({ ...one, keys: [run] })).toMatchObject({ refusal: 'stale-session' });
    const running = (rank: number) => [{ run, rank, state: 'running' as const, exit: null }];
    await sayHello(store, one.node, { tasks: running(0) });
    expect(await state()).toBe('unknown');
    await sayHello(store, two.node, { tasks: running(1) });
    expect(await state()).toBe('running');
    expect(await store.job(job)).toMatchObject({ state: { state: 'running' }, unheardSinceMs: null });
    expect((await kinds(store)).slice(-4)).toEqual(['node.ready', 'node.ready', 'run.seen', 'run.running']);
  });

  test('a start that was never sent does not wait for a silent node: its run goes elsewhere and is charged nothing', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const node = await joinNode(store);
    const job = await submitted(store);
    await store.commitPlan(epoch, aPlan([aUnit(job, [placement(node.node)])]));
    await store.silence(node);
    const row = await store.job(job);
    expect(row?.state).toMatchObject({
      state: 'queued',
      attempt: 2,
      failures: { user: 0, outOfMemory: 0, infrastructure: 0 },
    });
    expect(await store.node(node.node)).toMatchObject({ cpuMilliUsed: 0 });
    expect((await store.counts()).outboxOpen).toBe(0);
  });

  test('an old session cannot silence a node', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    await sayHello(store, node.node);
    await store.silence(node);
    expect(await store.node(node.node)).toMatchObject({ state: { state: 'ready' } });
  });

  test('a lease that ran out ends what ran there, and the job is tried again elsewhere', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { epoch, job, run } = await dispatched(store, [node], fast);
    await store.silence(node);
    const { renewals } = await leaseOf(store, node.node);
    const item = { node: node.node, renewals, runs: [run], marginMs: 0 };
    expect(await store.expire(epoch, [{ ...item, marginMs: 3_600_000 }])).toMatchObject({ value: [] });
    await harness.pass(30);
    expect(await store.expire(epoch - 1, [item])).toEqual({ outcome: 'refused', refusal: 'stale-epoch' });
    expect(await store.expire(epoch, [{ ...item, renewals: renewals - 1 }])).toMatchObject({ value: [] });
    expect(await store.expire(epoch, [item])).toMatchObject({ value: [node.node] });
    expect((await store.job(job))?.state).toMatchObject({ state: 'queued', attempt: 2, avoid: [node.node] });
    expect((await store.runs(job))[0]?.state).toMatchObject({
      result: { reason: { code: 'node-lost' }, rank: 0 },
    });
    expect(await store.node(node.node)).toMatchObject({ state: { state: 'lost' }, cpuMilliUsed: 0 });
    await sayHello(store, node.node, { tasks: [{ run, rank: 0, state: 'running', exit: null }] });
    expect((await store.job(job))?.state).toMatchObject({ state: 'queued', attempt: 2 });
  });

  test('a run that never stops by itself never expires', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { epoch, run } = await dispatched(store, [node], aSpec({ stopAfterMs: null }));
    await store.silence(node);
    const { renewals, runs } = await leaseOf(store, node.node);
    expect(runs).toEqual([{ run, stopAfterMs: null }]);
    await harness.pass(30);
    expect(
      await store.expire(epoch, [{ node: node.node, renewals, runs: [run], marginMs: 0 }]),
    ).toMatchObject({ value: [] });
  });

  test('a lost node of a gang stops the others, and the run ends when all are over', async () => {
    const store = await harness.store();
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const { epoch, job, run } = await dispatched(store, [one, two], aSpec({ tasks: 2, stopAfterMs: 20 }));
    await store.silence(one);
    await harness.pass(30);
    const { renewals } = await leaseOf(store, one.node);
    await store.expire(epoch, [{ node: one.node, renewals, runs: [run], marginMs: 0 }]);
    expect((await store.runs(job))[0]?.state.state).toBe('unknown');
    expect(await store.takeOutbox([two], 10)).toMatchObject([{ kind: 'stop' }]);
    expect(await store.node(one.node)).toMatchObject({ cpuMilliUsed: 1000, state: { state: 'lost' } });
    await store.observe(two, [
      {
        kind: 'ended',
        run,
        rank: 1,
        exit: {
          ok: false,
          class: 'cancelled',
          code: null,
          signal: 'SIGTERM',
          reason: { code: 'x', message: 'x' },
        },
      },
    ]);
    expect((await store.runs(job))[0]?.state).toMatchObject({
      state: 'ended',
      result: { class: 'infrastructure', node: one.node },
    });
    expect(await store.node(one.node)).toMatchObject({ cpuMilliUsed: 0 });
  });

  test('a frozen cluster expires nothing until it is thawed', async () => {
    const store = await harness.store();
    const node = await joinNode(store, { cluster: 'far' });
    const { epoch, run } = await dispatched(store, [node], fast);
    await store.silence(node);
    await harness.pass(30);
    const freeze = { cluster: 'far', silent: 5, nodes: 9, untilMs: (await store.nowMs()) + 60_000 };
    expect(await store.freeze(epoch - 1, freeze)).toMatchObject({ refusal: 'stale-epoch' });
    await store.freeze(epoch, freeze);
    await store.freeze(epoch, { ...freeze, untilMs: freeze.untilMs + 1 });
    expect(await store.frozen()).toEqual([freeze]);
    const { renewals } = await leaseOf(store, node.node);
    const item = { node: node.node, renewals, runs: [run], marginMs: 0 };
    expect(await store.expire(epoch, [item])).toMatchObject({ value: [] });
    expect(await store.thaw('far', 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.thaw('far', 'ada')).toEqual({ outcome: 'refused', refusal: 'not-frozen' });
    expect(await store.expire(epoch, [item])).toMatchObject({ value: [node.node] });
    expect(await clusterKinds(store)).toEqual(['cluster.frozen', 'cluster.thawed']);
  });

  test('a cluster is not frozen twice for one silence, whoever leads and whatever ended the freeze', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const freeze = { cluster: 'far', silent: 5, nodes: 9, untilMs: (await store.nowMs()) + 60_000 };
    await store.freeze(epoch, freeze);
    await store.thaw('far', 'ada');
    await store.freeze(epoch, freeze);
    const [thawed] = await store.frozen();
    expect(thawed?.untilMs).toBeLessThan(freeze.untilMs);
    expect(await store.silenceOver(epoch - 1, 'far')).toMatchObject({ refusal: 'stale-epoch' });
    await store.silenceOver(epoch, 'far');
    expect(await store.frozen()).toEqual([]);
    expect(await clusterKinds(store)).toEqual(['cluster.frozen', 'cluster.thawed']);
    await store.freeze(epoch, freeze);
    await store.silenceOver(epoch, 'far');
    expect(await clusterKinds(store)).toEqual([
      ...['cluster.frozen', 'cluster.thawed'],
      ...['cluster.frozen', 'cluster.thawed'],
    ]);
  });

  test('a node that takes work is not removed: it is drained first, or its agent stopped', async () => {
    const store = await harness.store();
    const [drained, silent] = [await joinNode(store), await joinNode(store)];
    for (const { node } of [drained, silent])
      expect(await store.removeNode(node, 'ada')).toEqual({ outcome: 'refused', refusal: 'takes-work' });
    await store.drain(drained.node, { by: 'ada', reason: 'old' }, 'ada');
    await store.silence(silent);
    for (const { node } of [drained, silent])
      expect(await store.removeNode(node, 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.renew({ ...drained, keys: [] })).toEqual({
      outcome: 'refused',
      refusal: 'stale-session',
    });
  });

  test('an operator’s word ends what ran on a node that does not speak', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job } = await dispatched(store, [node], aSpec({ stopAfterMs: null }));
    expect(await store.declareLost(node.node, 'ada')).toEqual({ outcome: 'refused', refusal: 'ready' });
    expect(await store.removeNode(node.node, 'ada')).toEqual({ outcome: 'refused', refusal: 'in-use' });
    await store.silence(node);
    expect(await store.declareLost(node.node, 'ada')).toMatchObject({ outcome: 'committed' });
    expect((await store.job(job))?.state).toMatchObject({ state: 'queued', attempt: 2 });
    expect((await store.runs(job))[0]?.state).toMatchObject({
      result: { reason: { message: expect.stringMatching(/^ada declared node .* lost$/) } },
    });
    expect(await store.removeNode(node.node, 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.removeNode(node.node, 'ada')).toEqual({ outcome: 'refused', refusal: 'not-found' });
    await expect(sayHello(store, node.node)).rejects.toThrow('refused');
    expect(await store.nodes({ cluster: null, after: null, limit: 10 })).toEqual([]);
    expect((await kinds(store)).slice(-2)).toEqual(['job.requeued', 'node.removed']);
    const events = await store.events({ scope: null, after: 0, job: null, limit: 100 });
    expect(events.at(-1)?.body).toMatchObject({ kind: 'node.removed', by: 'ada' });
  });
}
