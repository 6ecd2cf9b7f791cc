// The world fails: answers are lost, connections cut, the server dies and comes back. The caller is told the truth
// each time, and the store heals by itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { OperationalError } from '@muster/model';
import pg from 'pg';
import { expect, test } from 'vitest';
import { Database } from './database.ts';
import { CommitUnknown } from './failure.ts';
import { aPlan, aServer, aSubmit, aUnit, joinNode, lead, placement, submitted } from './testing/builders.ts';
import { commitProxy } from './testing/commit-proxy.ts';
import { onEveryServer } from './testing/on-every-server.ts';
import { held, statement } from './testing/servers.ts';
import { dispatched } from './testing/suite/run-suite.ts';
import { commitBehind } from './transaction.ts';

const longMs = 120_000;

onEveryServer((server) => {
  for (const loss of ['forwarded', 'swallowed'] as const) {
    const fate = loss === 'forwarded' ? 'took effect' : 'did not';
    test(`a lost answer to COMMIT is unknown to all of its group, and the key tells that it ${fate}`, async () => {
      const url = await server().database();
      const proxy = await commitProxy(url);
      const store = await server().store({ url: proxy.url });
      const direct = await server().store({ url });
      const items = Array.from({ length: 20 }, (_, i) => aSubmit({ key: `k${i}` }));
      proxy.lose(loss);
      const answers = await Promise.all(items.map((item) => store.submit(item)));
      expect(proxy.lost()).toBe(1);
      expect(answers.filter((answer) => answer.outcome === 'unknown').length).toBeGreaterThan(0);
      for (const [i, answer] of answers.entries()) {
        // The statement and its COMMIT travel together: the server may still be at work on them when the answer is lost.
        const expected = answer.outcome === 'committed' || loss === 'forwarded' ? items[i]?.id : null;
        const found = () => direct.jobByKey('default', 'ada', `k${i}`);
        await expect.poll(found, { timeout: 10_000 }).toBe(expected);
      }
      // Asking again with the same keys is one effect, whatever had happened.
      const again = await Promise.all(items.map((item) => store.submit(aSubmit({ key: item.key }))));
      expect(again.every((answer) => answer.outcome === 'committed')).toBe(true);
      expect((await direct.counts()).jobs).toEqual({ queued: 20 });
      await store.close();
      await proxy.close();
    });
  }

  test('every other intention says unknown too, or throws that it is', { timeout: longMs }, async () => {
    const url = await server().database();
    const proxy = await commitProxy(url);
    const direct = await server().store({ url });
    const store = await server().store({ url: proxy.url });
    const epoch = await lead(direct);
    const node = await joinNode(direct);
    const lost = async (call: () => Promise<unknown>) => {
      proxy.lose('forwarded');
      return call();
    };
    const unit = aUnit(await submitted(direct), [placement(node.node)]);
    expect(await lost(() => store.commitPlan(epoch, aPlan([unit])))).toEqual({ outcome: 'unknown' });
    await expect(lost(() => store.takeOutbox([node], 1))).rejects.toMatchObject({ code: 'outcome-unknown' });
    // It took effect: others see a row that was handed out; who lost the answer knows that it sent nothing.
    expect(await direct.takeOutbox([node], 1)).toEqual([]);
    expect(await store.takeOutbox([node], 1)).toMatchObject([{ kind: 'start', command: { run: unit.run } }]);
    expect(await store.takeOutbox([node], 1)).toEqual([]);
    expect(await lost(() => store.renew({ ...node, keys: [] }))).toEqual({ outcome: 'unknown' });
    expect(
      await lost(() => store.observe(node, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }])),
    ).toEqual({ outcome: 'unknown' });
    expect(await lost(() => store.cancel(unit.job, 'ada'))).toEqual({ outcome: 'unknown' });
    const state = async () => (await direct.job(unit.job))?.state.state;
    await expect.poll(state, { timeout: 10_000 }).toBe('stopping');
    const { epoch: current } = await direct.leader();
    await expect(lost(() => store.acquireLease(aServer(), 1000, current))).rejects.toMatchObject({
      code: 'outcome-unknown',
    });
    await store.close();
    await proxy.close();
  });

  test('an item the database itself rejects fails alone', async () => {
    const store = await server().store();
    const bad = aSubmit();
    const broken = { ...bad, spec: { ...bad.spec, title: 'a\u0000b' } };
    const good = [aSubmit(), aSubmit(), aSubmit()];
    const calls = [
      store.submit(good[0]!),
      store.submit(broken),
      store.submit(good[1]!),
      store.submit(good[2]!),
    ];
    const [first, second, third, fourth] = await Promise.allSettled(calls);
    for (const answer of [first, third, fourth])
      expect(answer).toMatchObject({ status: 'fulfilled', value: { outcome: 'committed' } });
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'internal' } });
    expect((await store.counts()).jobs).toEqual({ queued: 3 });
    // In one call too the others are told what became of them.
    const outcomes = await store.submitMany([aSubmit(), broken, aSubmit()]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['committed', 'unknown', 'committed']);
    await expect(store.submitMany([broken, broken])).rejects.toMatchObject({ code: 'internal' });
    expect((await store.counts()).jobs).toEqual({ queued: 5 });
  });

  test('a refused statement is told as refused when its COMMIT rolled back, and as unknown when that was taken', async () => {
    const client = new pg.Client({ connectionString: await server().database(), pipeline: true } as object);
    await client.connect();
    const refused = async (begin: string) => {
      const begun = client.query(begin);
      const last = client.query('SELECT 1 / 0');
      return commitBehind(client as unknown as pg.PoolClient, Promise.all([begun, last]));
    };
    await expect(refused('BEGIN')).rejects.toMatchObject({ code: '22012' });
    // As when the BEGIN itself was cancelled: what came behind it stood for itself.
    await expect(refused('SELECT 1')).rejects.toBeInstanceOf(CommitUnknown);
    await client.end();
  });

  test('a database whose default isolation is stricter is written to as any other', async () => {
    const url = await server().database();
    await statement(
      url,
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database()); END $$`,
    );
    const database = new Database({ url }, { onAppended: () => {}, makePartitions: async () => {} });
    const isolation = { name: 'isolation', text: `SELECT current_setting('transaction_isolation') AS level` };
    expect(await database.change(isolation)).toEqual([{ level: 'read committed' }]);
    await database.close();
  });

  for (const [what, then] of [
    ['cannot be read', 'ALTER TABLE idempotency RENAME TO away'],
    ['was removed meanwhile', 'DELETE FROM idempotency'],
  ]) {
    test(`a key whose holder ${what} is unknown to those who ask with it, and the rest of their group is told the truth`, async () => {
      const url = await server().database();
      const store = await server().store({ url });
      await store.submit(aSubmit({ key: 'k' }));
      // At the COMMIT of a group, before anybody looks whose key was taken.
      await statement(
        url,
        `CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${then}; RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER spoil AFTER INSERT ON job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION spoil()`,
      );
      const other = aSubmit();
      const answers = await store.submitMany([aSubmit({ key: 'k' }), other, aSubmit({ key: 'k' })]);
      expect(answers).toMatchObject([
        { outcome: 'unknown' },
        { outcome: 'committed', value: { job: other.id, repeated: false } },
        { outcome: 'unknown' },
      ]);
      expect((await store.counts()).jobs).toEqual({ queued: 2 });
    });
  }

  test('cut connections are told as unavailable or unknown, and the pool heals', {
    timeout: longMs,
  }, async () => {
    const url = await server().database();
    const store = await server().store({ url });
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'muster' AND datname = current_database()`;
    let acknowledged = 0;
    const told = { committed: 0, unknown: 0, unavailable: 0 };
    let cutting = true;
    const storm = (async () => {
      for (let i = 0; i < 15; i++) {
        await statement(url, cut);
        await sleep(20);
      }
      cutting = false;
    })();
    const client = async () => {
      while (cutting) {
        try {
          const { outcome } = await store.submit(aSubmit());
          if (outcome === 'committed') acknowledged++;
          told[outcome === 'unknown' ? 'unknown' : 'committed']++;
        } catch (error) {
          expect(error).toBeInstanceOf(OperationalError);
          expect((error as OperationalError).code).toBe('unavailable');
          told.unavailable++;
        }
      }
    };
    await Promise.all([storm, ...Array.from({ length: 8 }, client)]);
    expect(await store.submit(aSubmit())).toMatchObject({ outcome: 'committed' });
    const queued = (await store.counts()).jobs.queued ?? 0;
    expect(queued).toBeGreaterThanOrEqual(acknowledged + 1);
    expect(queued).toBeLessThanOrEqual(acknowledged + 1 + told.unknown);
  });

  test('a made-up token of a run is refused without waiting for anybody, or making anybody wait', async () => {
    const url = await server().database();
    const store = await server().store({ url, statementTimeoutMs: 2000 });
    const { run } = await dispatched(store, [await joinNode(store)]);
    const letGo = await held(url, 'SELECT id FROM job FOR UPDATE');
    const token = `msr_${run}_${'x'.repeat(43)}`;
    expect(await store.checkpoint(token, { step: 1, path: null })).toMatchObject({ refusal: 'bad-token' });
    await letGo();
  });

  test('a writer held up by a lock is told unavailable by the statement timeout, and nothing happened', async () => {
    const url = await server().database();
    const store = await server().store({ url, statementTimeoutMs: 300 });
    const job = await submitted(store);
    const letGo = await held(url, 'SELECT id FROM job FOR UPDATE');
    await expect(store.cancel(job, 'ada')).rejects.toMatchObject({ code: 'unavailable' });
    await letGo();
    expect((await store.job(job))?.state.state).toBe('queued');
    expect(await store.cancel(job, 'ada')).toMatchObject({ outcome: 'committed' });
  });
});
