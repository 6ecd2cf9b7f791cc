import { setTimeout as sleep } from 'node:timers/promises';
import type { LogEvent } from '@muster/model';
import { expect, test } from 'vitest';
import { openStore } from './open-store.ts';
import { aPlan, aSubmit, lead, newId, submitted } from './testing/builders.ts';
import { onEveryServer } from './testing/on-every-server.ts';
import { statement } from './testing/servers.ts';

const longMs = 120_000;

onEveryServer((server) => {
  test('with many writers a tailing reader misses nothing: no gap, in commit order', {
    timeout: longMs,
  }, async () => {
    const url = await server().database();
    const stores = await Promise.all([
      server().store({ url }),
      server().store({ url }),
      server().store({ url }),
    ]);
    const [reader] = stores;
    const seen: LogEvent[] = [];
    let writing = true;
    const tail = (async () => {
      for (;;) {
        const done = !writing;
        const batch = await reader!.eventsSince(seen.at(-1)?.sequence ?? 0, 7);
        seen.push(...batch);
        if (batch.length === 0 && done) return;
      }
    })();
    const write = async (store: (typeof stores)[number], n: number) => {
      for (let i = 0; i < 25; i++) {
        // Bad projects and repeated keys mixed in: transactions that append less than they tried to.
        const items = [aSubmit(), aSubmit({ key: `${n % 3}-${i}` }), aSubmit({ principal: 'x' })];
        await store.submitMany(items);
        if (i % 5 === 0) await store.cancel(items[0]!.id, 'ada');
      }
    };
    await Promise.all(stores.flatMap((store) => [0, 1, 2, 3].map((n) => write(store, n))));
    writing = false;
    await tail;
    const { sequence } = await reader!.head();
    expect(seen.map((event) => event.sequence)).toEqual(Array.from({ length: sequence }, (_, i) => i + 1));
    // What a job's row says of its event is true.
    const rows = await statement<{ id: string; n: string }>(
      url,
      'SELECT id, submitted_sequence AS n FROM job',
    );
    const bySequence = new Map(seen.map((event) => [event.sequence, event.body]));
    for (const row of rows)
      expect(bySequence.get(Number(row.n))).toMatchObject({ kind: 'job.submitted', job: row.id });
    expect(seen.every((event, i) => i === 0 || event.atMs >= seen[i - 1]!.atMs)).toBe(true);
  });

  test('a commit on one server is a hint on another, also after its connection was cut', async () => {
    const url = await server().database();
    const [one, two] = [await server().store({ url }), await server().store({ url })];
    let hints = 0;
    const off = two.onEvents(() => {
      hints++;
    });
    const hinted = async () => {
      const before = hints;
      for (let i = 0; i < 200 && hints === before; i++) {
        await submitted(one);
        await sleep(25);
      }
      return hints > before;
    };
    expect(await hinted()).toBe(true);
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'muster-listen' AND datname = current_database()`;
    await statement(url, cut);
    expect(await hinted()).toBe(true);
    off();
    await sleep(50);
    const before = hints;
    await submitted(one);
    await sleep(50);
    expect(hints).toBe(before);
  });

  test('partitions are made ahead, crossed without a gap, and dropped when they are old and a snapshot stands behind them', async () => {
    const url = await server().database();
    const store = await server().store({ url, partitionRows: 10 });
    const epoch = await lead(store);
    for (let i = 0; i < 19; i++) await store.submitMany(Array.from({ length: 5 }, () => aSubmit()));
    const sequences = (await store.eventsSince(0, 1000)).map((event) => event.sequence);
    expect(sequences).toEqual(Array.from({ length: 96 }, (_, i) => i + 1));
    await sleep(5);
    const retain = () => store.retain(epoch, { jobsMs: 1e9, eventsMs: 1, auditMs: 1e9, limit: 10 });
    expect(await retain()).toMatchObject({ value: { eventPartitions: 0 } });
    for (const sequence of [5, 38, 39]) await store.saveSnapshot(epoch, sequence, ['{}'], 1000);
    // What the oldest snapshot goes on with is kept: 40 and later, after the one at 39.
    expect(await retain()).toMatchObject({ value: { eventPartitions: 4 } });
    expect(await store.head()).toMatchObject({ first: 40 });
    expect((await store.snapshots()).map(({ sequence }) => sequence)).toEqual([39]);
    await store.saveSnapshot(epoch, 96, ['{}'], 1000);
    expect(await retain()).toMatchObject({ value: { eventPartitions: 5 } });
    expect((await store.snapshots()).map(({ sequence }) => sequence)).toEqual([96]);
    expect(await store.head()).toMatchObject({ sequence: 96, first: 90 });
    expect((await store.eventsSince(0, 1000)).map((event) => event.sequence)).toEqual([
      90, 91, 92, 93, 94, 95, 96,
    ]);
    await submitted(store);
    expect((await store.head()).sequence).toBe(97);
  });

  test('a restored database gets a new log and an epoch no old command can exceed', async () => {
    const url = await server().database();
    const store = await server().store({ url });
    const epoch = await lead(store);
    const before = await store.head();
    const installation = await store.installation();
    const logId = await store.newLogId();
    expect(logId).not.toBe(before.logId);
    expect(await store.head()).toEqual({ ...before, logId });
    // What it has in clusters is still its own.
    expect(await store.installation()).toBe(installation);
    expect(await store.commitPlan(epoch, aPlan([]))).toMatchObject({ refusal: 'stale-epoch' });
    expect(await lead(store)).toBeGreaterThan(epoch + 1000);
  });

  test('the log and the audit cannot be rewritten, and a tampered audit shows', async () => {
    const url = await server().database();
    const store = await openStore({ url });
    await submitted(store);
    const entry = {
      who: 'ada',
      from: '::1',
      action: 'a',
      target: 't',
      outcome: 'ok',
      detail: { note: newId.text(), n: 0.1 },
    };
    await store.audit([entry, entry, entry]);
    expect(await store.verifyAudit()).toEqual({ ok: true, rows: 3 });
    await expect(statement(url, `UPDATE event SET kind = 'x'`)).rejects.toThrow('append-only');
    await expect(statement(url, `UPDATE audit SET who = 'x'`)).rejects.toThrow('append-only');
    await statement(url, 'DELETE FROM audit WHERE id = 2');
    expect(await store.verifyAudit()).toEqual({ ok: false, id: 3 });
    await statement(url, 'DELETE FROM audit WHERE id = 1');
    expect(await store.verifyAudit()).toEqual({ ok: true, rows: 1 });
    await store.close();
  });
});
