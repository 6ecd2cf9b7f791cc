// Writers that want the same rows at the same time. What must hold is checked in the database itself, not through the
// store's own eyes.
import type { JobId, NodeId, PlanUnit } from '@muster/model';
import { expect, test } from 'vitest';
import type { Store } from './contract.ts';
import {
  aPlan,
  aSpec,
  aSubmit,
  aUnit,
  joinNode,
  lead,
  newId,
  ok,
  placement,
  submitted,
} from './testing/builders.ts';
import { onEveryServer } from './testing/on-every-server.ts';
import { statement } from './testing/servers.ts';
import { dispatched } from './testing/suite/run-suite.ts';

const longMs = 180_000;

/** A seeded generator, so that a failing round can be run again. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return (state >>> 0) % below;
  };
}

// Capacity as the tasks of unended runs add up to it, beside what the node rows say is used.
const ledger = `
SELECT n.id, n.cpu_milli_used::int AS used, coalesce(sum(t.cpu_milli), 0)::int AS sold,
  (SELECT count(*)::int FROM (
    SELECT d FROM task t2 JOIN run r2 ON r2.id = t2.run AND r2.ended_ms IS NULL, unnest(t2.devices) d
    WHERE t2.node = n.id GROUP BY d HAVING count(*) > 1) twice) AS "soldTwice",
  (SELECT count(*)::int FROM unnest(n.devices_used) u WHERE u > 0) AS "devicesUsed",
  (SELECT count(*)::int FROM task t3 JOIN run r3 ON r3.id = t3.run AND r3.ended_ms IS NULL, unnest(t3.devices)
    WHERE t3.node = n.id) AS "devicesSold"
FROM node n LEFT JOIN (task t JOIN run r ON r.id = t.run AND r.ended_ms IS NULL) ON t.node = n.id GROUP BY n.id`;

async function expectBalanced(url: string): Promise<void> {
  type Row = { used: number; sold: number; soldTwice: number; devicesUsed: number; devicesSold: number };
  for (const row of await statement<Row>(url, ledger)) {
    expect(row.soldTwice).toBe(0);
    expect(row.used).toBe(row.sold);
    expect(row.devicesUsed).toBe(row.devicesSold);
  }
}

onEveryServer((server) => {
  test('planners with conflicting plans sell no device twice', { timeout: longMs }, async () => {
    const url = await server().database();
    const stores = await Promise.all([1, 2, 3, 4].map(() => server().store({ url })));
    const store = stores[0] as Store;
    const epoch = await lead(store);
    const nodes = await Promise.all([1, 2, 3].map(() => joinNode(store)));
    const random = seeded(20261115);
    for (let round = 0; round < 40; round++) {
      const jobs = (await store.submitMany(Array.from({ length: 12 }, () => aSubmit()))).flatMap((answer) =>
        answer.outcome === 'committed' ? [answer.value.job] : [],
      );
      const plans = stores.map(() =>
        shuffled(random, jobs).map((job) =>
          randomUnit(
            random,
            job,
            nodes.map((node) => node.node),
          ),
        ),
      );
      const answers = await Promise.all(stores.map((one, i) => one.commitPlan(epoch, aPlan(plans[i]!))));
      await expectBalanced(url);
      const applied = answers.flatMap((answer) =>
        answer.outcome === 'committed' ? answer.value.applied : [],
      );
      expect(new Set(applied).size).toBe(applied.length);
      await Promise.all(jobs.map((job, i) => stores[i % stores.length]!.cancel(job, 'ada')));
    }
    await expectBalanced(url);
    expect(await store.counts()).toMatchObject({ devicesUsed: 0, outboxOpen: 0 });
  });

  test('a CHECK refuses what the code should never write', async () => {
    const url = await server().database();
    const store = await server().store({ url });
    const { node } = await joinNode(store);
    for (const change of [
      'cpu_milli_used = 64001',
      'memory_mib_used = -1',
      'devices_used = ARRAY[1001]',
      'devices_used = ARRAY[0,0,0,0,0,0,0,0,1000]',
      `exclusive_run = 'r'`,
      `state_name = 'lost'`,
    ])
      await expect(statement(url, `UPDATE node SET ${change} WHERE id = $1`, [node])).rejects.toThrow(
        'violates check',
      );
  });

  test('cancel, plan, dispatch and report race to one end a job', { timeout: longMs }, async () => {
    const url = await server().database();
    const [one, two] = [await server().store({ url }), await server().store({ url })];
    const epoch = await lead(one);
    const node = await joinNode(one);
    const random = seeded(7);
    for (let round = 0; round < 60; round++) {
      const job = await submitted(one);
      const unit = aUnit(job, [placement(node.node, { devices: [random(8)] })]);
      const life = async () => {
        await one.commitPlan(epoch, aPlan([unit]));
        const commands = await one.takeOutbox([node], 10);
        await one.closeOutbox(
          commands.map(({ id, session }) => ({ id, session, outcome: 'accepted', detail: null })),
        );
        await one.observe(node, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }]);
        if (commands.some((command) => command.kind === 'start'))
          await one.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: ok }]);
      };
      const cancel = async () => {
        for (let i = random(12); i > 0; i--) await two.job(job);
        await two.cancel(job, 'bo');
      };
      await Promise.all([life(), cancel()]);
      const row = await one.job(job);
      expect(row?.state.state, `round ${round}`).toBe('ended');
      const ends = (await one.events({ scope: null, after: 0, job, limit: 100 })).filter(
        (event) => event.body.kind === 'job.ended',
      );
      expect(ends).toHaveLength(1);
      await expectBalanced(url);
    }
    expect((await one.counts()).outboxOpen).toBe(0);
  });

  test('a task is either renewed or expired, never both', { timeout: longMs }, async () => {
    const url = await server().database();
    const [one, two] = [await server().store({ url }), await server().store({ url })];
    for (let round = 0; round < 25; round++) {
      const node = await joinNode(one);
      const { epoch, run, job } = await dispatched(one, [node], aSpec({ stopAfterMs: 1 }));
      const { renewals } = (await one.leases()).find((lease) => lease.node === node.node)!;
      const [renewed, expired] = await Promise.all([
        one.renew({ ...node, keys: [run] }),
        two.expire(epoch, [{ node: node.node, renewals, runs: [run], marginMs: 0 }]),
      ]);
      const alive = renewed.outcome === 'committed' && renewed.value.live.length > 0;
      const dead = expired.outcome === 'committed' && expired.value.length > 0;
      expect(alive, `round ${round}`).toBe(!dead);
      expect((await one.job(job))?.state.state).toBe(dead ? 'queued' : 'starting');
    }
  });

  test('a hello and a plan for the same node do not lose a run', { timeout: longMs }, async () => {
    const url = await server().database();
    const [one, two] = [await server().store({ url }), await server().store({ url })];
    const epoch = await lead(one);
    const node = await joinNode(one);
    for (let round = 0; round < 30; round++) {
      const unit = aUnit(await submitted(one), [placement(node.node)]);
      const hello = {
        ...node,
        session: newId.text(),
        server: newId.server(),
        bootId: 'b',
        agentVersion: '1',
        isolation: false,
      };
      await Promise.all([one.commitPlan(epoch, aPlan([unit])), two.hello({ ...hello, tasks: [] })]);
      // Its start row was never delivered, so the run stands.
      expect((await one.job(unit.job))?.state.state).toBe('starting');
      await one.cancel(unit.job, 'ada');
    }
    await expectBalanced(url);
  });

  test('an acknowledged submit survives any other server’s trouble with the same keys', {
    timeout: longMs,
  }, async () => {
    const url = await server().database();
    const stores = await Promise.all([1, 2, 3].map(() => server().store({ url })));
    const answers = await Promise.all(
      stores.flatMap((store) =>
        Array.from({ length: 20 }, (_, i) =>
          store.submitMany(
            Array.from({ length: 10 }, (_, k) => aSubmit({ key: `k${(i * 7 + k * 3) % 50}` })),
          ),
        ),
      ),
    );
    const jobs = answers.flat().map((answer) => (answer.outcome === 'committed' ? answer.value.job : null));
    expect(jobs).not.toContain(null);
    const keys = await statement<{ job: JobId }>(url, 'SELECT job FROM idempotency');
    expect(new Set(jobs)).toEqual(new Set(keys.map((row) => row.job)));
    expect(keys).toHaveLength(50);
    expect((await stores[0]!.counts()).jobs).toEqual({ queued: 50 });
  });
});

function shuffled<T>(random: (below: number) => number, items: readonly T[]): T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = random(i + 1);
    [copy[i], copy[j]] = [copy[j] as T, copy[i] as T];
  }
  return copy;
}

function randomUnit(random: (below: number) => number, job: JobId, nodes: readonly NodeId[]): PlanUnit {
  const gang = 1 + random(2);
  const tasks = Array.from({ length: gang }, () =>
    placement(nodes[random(nodes.length)] as NodeId, { devices: [random(8)], cpuMilli: 4000 + random(8000) }),
  );
  return aUnit(job, tasks, { port: 20_000 + random(20), exclusive: random(20) === 0 });
}
