import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { strikeRule } from '@muster/model';
import { expect, test } from 'vitest';
import { type Migration, migrate, migrations } from './migrate.ts';
import { openStore } from './open-store.ts';
import { newId } from './testing/builders.ts';
import { onEveryServer } from './testing/on-every-server.ts';
import { statement } from './testing/servers.ts';

const next = migrations().length + 1;
const slow: Migration = {
  version: next,
  name: 'slow',
  text: 'CREATE TABLE half (id integer); SELECT pg_sleep(60); CREATE TABLE other_half (id integer)',
};
const quick: Migration = {
  version: next,
  name: 'quick',
  text: 'CREATE TABLE half (id integer); INSERT INTO half VALUES (1)',
};
const half = `SELECT to_regclass('half') AS half`;

onEveryServer((server) => {
  test('a fresh database is brought to the newest schema, once, however many start at once', async () => {
    const url = await server().database({ migrated: false });
    const stores = await Promise.all([1, 2, 3, 4].map(() => openStore({ url })));
    await Promise.all(stores.map((store) => store.close()));
    const rows = await statement(url, 'SELECT version FROM schema_version ORDER BY version');
    expect(rows).toEqual(migrations().map(({ version }) => ({ version })));
  });

  test('a migration killed in the middle leaves the version before, and runs whole the next time', async () => {
    const url = await server().database();
    const script = `
      import { migrate, migrations } from ${JSON.stringify(fileURLToPath(new URL('./migrate.ts', import.meta.url)))};
      const [url, more] = JSON.parse(process.argv[1]);
      await migrate({ url, known: [...migrations(), more] });`;
    const child = spawn(
      process.execPath,
      ['--input-type=module-typescript', '-e', script, JSON.stringify([url, slow])],
      { stdio: 'ignore' },
    );
    const sleeping = `SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND application_name = 'muster-migrate' AND datname = current_database()`;
    let rows: { pid: number }[] = [];
    for (let i = 0; i < 400 && rows.length === 0; i++) {
      rows = await statement(url, sleeping);
      await sleep(25);
    }
    expect(rows).toHaveLength(1);
    child.kill('SIGKILL');
    // The server notices a dead client only when it next talks to it.
    await statement(url, 'SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    expect(await statement(url, half)).toEqual([{ half: null }]);
    await migrate({ url, known: [...migrations(), quick] });
    expect(await statement(url, 'SELECT id FROM half')).toEqual([{ id: 1 }]);
    await migrate({ url, known: [...migrations(), quick] });
    expect(await statement(url, 'SELECT id FROM half')).toEqual([{ id: 1 }]);
  });

  test('nodes from before strikes were counted have none, and can be struck', async () => {
    const url = await server().database({ migrated: false });
    await migrate({ url, known: migrations().slice(0, 1) });
    const node = newId.node();
    await statement(
      url,
      `INSERT INTO node (id, name, cluster, pool, public_key, state, state_name)
       VALUES ($1, 'old', 'main', 'gpu', 'key', '{"state":"silent","sinceMs":1}', 'silent')`,
      [node],
    );
    const store = await server().store({ url });
    expect(await store.node('old')).toMatchObject({ strikes: null, drain: null });
    expect(await store.strike(node, { code: 'bad-message', detail: 'x' }, strikeRule)).toMatchObject({
      value: { strikes: 1, outcome: 'counted' },
    });
  });

  test('runs from before an outside hand was told of are halted by nobody, and can be', async () => {
    const url = await server().database({ migrated: false });
    await migrate({ url, known: migrations().slice(0, 2) });
    await statement(
      url,
      `INSERT INTO run (id, job, attempt, epoch, exclusive, port, uses, planned_ms, state, state_name)
       VALUES ('run_old', 'job_old', 1, 1, false, 1, '{}', 1, '{"state":"starting"}', 'starting')`,
    );
    await migrate({ url });
    expect(await statement(url, 'SELECT halt FROM run')).toEqual([{ halt: null }]);
  });

  test('an older binary refuses a newer schema with a sentence', async () => {
    const url = await server().database();
    await migrate({ url, known: [...migrations(), quick] });
    await expect(openStore({ url })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('it was used by a newer release'),
    });
  });

  test('a migration whose text has changed since it was applied refuses the start with a sentence', async () => {
    const url = await server().database();
    await migrate({ url, known: [...migrations(), quick] });
    const edited = [...migrations(), { ...quick, text: `${quick.text}; CREATE TABLE more (id integer)` }];
    await expect(migrate({ url, known: edited })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('its schema quick is not the one of this Muster'),
    });
    await statement(url, 'UPDATE schema_version SET hash = NULL WHERE version = 1');
    await expect(migrate({ url, known: [...migrations(), quick] })).rejects.toThrow(
      'prepared by another version of the code',
    );
  });

  test('a failing migration changes nothing and says why', async () => {
    const url = await server().database();
    const broken = { ...quick, text: 'CREATE TABLE half (id integer); SELECT 1 / 0' };
    await expect(migrate({ url, known: [...migrations(), broken] })).rejects.toThrow('division by zero');
    expect(await statement(url, half)).toEqual([{ half: null }]);
  });
});

test('a database that is not there is told in a sentence', async () => {
  await expect(openStore({ url: 'postgres://nobody@127.0.0.1:1/none' })).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('could not be prepared'),
  });
});
