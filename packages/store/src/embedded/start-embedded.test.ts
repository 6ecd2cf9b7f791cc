// The embedded server through its real life: created, stopped, adopted, refused to a second control plane, killed. As
// root these run with PostgreSQL under an unprivileged account, and once more in a child that is a plain user.
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { openStore } from '../open-store.ts';
import { ownIdentity, startOf } from '../process-identity.ts';
import { aSubmit, submitted } from '../testing/builders.ts';
import { answering, killed } from '../testing/servers.ts';
import { reachablePrograms, serverAccount } from './account.ts';
import { type Embedded, startEmbedded } from './start-embedded.ts';

const longMs = 120_000;
const module = fileURLToPath(new URL('./start-embedded.ts', import.meta.url));
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const ends: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
}, longMs);

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'muster-test-'));
  chmodSync(dir, 0o755);
  ends.push(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'db');
}

async function started(dir: string): Promise<Embedded> {
  const server = await startEmbedded({ dir });
  ends.push(() => killed(server.pid));
  return server;
}

/** A control plane of its own: starts a server, says so on a line, then waits to be killed. */
async function controlPlane(dir: string, account: { uid: number; gid: number } | null = null) {
  const script = `
    import { startEmbedded } from ${JSON.stringify(module)};
    try {
      const { url, pid, adopted } = await startEmbedded({ dir: process.argv[1] });
      console.log(JSON.stringify({ url, pid, adopted }));
      setInterval(() => {}, 1000);
    } catch (error) {
      console.log(JSON.stringify({ error: error.message }));
    }`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script, dir], {
    ...account,
    cwd: '/',
    // A process group of its own stands for a terminal of its own.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  ends.push(() => {
    child.kill('SIGKILL');
  });
  let text = '';
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes('\n')) break;
  }
  const told = JSON.parse(text) as { url?: string; pid?: number; adopted?: boolean; error?: string };
  const pid = told.pid;
  if (pid) ends.push(() => killed(pid));
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return { told, child, gone };
}

test('a server is created, keeps its data over a stop, and lets nobody else in', {
  timeout: longMs,
}, async () => {
  const dir = directory();
  const first = await started(dir);
  expect(first.adopted).toBe(false);
  const store = await openStore({ url: first.url });
  const job = await submitted(store);
  await store.close();
  expect(statSync(join(dir, 'password')).mode & 0o777).toBe(0o600);
  expect(statSync(join(dir, 'data')).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, 'run')).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(dir, 'data', 'pg_hba.conf'), 'utf8')).not.toMatch(/^[^#]*\btrust\b/m);
  await first.stop();
  expect(startOf(first.pid)).toBeNull();
  expect(existsSync(join(dir, 'data', 'postmaster.pid'))).toBe(false);
  const second = await started(dir);
  expect(second.adopted).toBe(false);
  const again = await openStore({ url: second.url });
  expect((await again.job(job))?.id).toBe(job);
  await again.close();
  await second.stop();
});

test('the server outlives a killed control plane and is adopted by the next', {
  timeout: longMs,
}, async () => {
  const dir = directory();
  const { told, child, gone } = await controlPlane(dir);
  const store = await openStore({ url: told.url as string });
  child.kill('SIGKILL');
  await gone;
  await submitted(store);
  const next = await started(dir);
  expect(next).toMatchObject({ adopted: true, pid: told.pid, url: told.url });
  await submitted(store);
  await store.close();
  await next.stop();
});

test('an interrupt of the terminal does not reach the server', { timeout: longMs }, async () => {
  const { told, child, gone } = await controlPlane(directory());
  // A terminal tells its process group.
  const group = execFileSync('ps', ['-o', 'pgid=', '-p', String(told.pid)], { encoding: 'utf8' });
  expect(Number(group)).not.toBe(child.pid);
  process.kill(-(child.pid as number), 'SIGINT');
  await gone;
  await answering(told.url as string);
});

test('a second control plane on the same directory is refused, naming the first', {
  timeout: longMs,
}, async () => {
  const dir = directory();
  const server = await started(dir);
  await expect(startEmbedded({ dir })).rejects.toThrow(`another control plane, process ${process.pid}`);
  const other = await controlPlane(dir);
  expect(other.told.error).toContain(`process ${process.pid}`);
  await answering(server.url);
  await server.stop();
});

test('stale locks are taken over: a dead process, a reused pid, rubbish', { timeout: longMs }, async () => {
  const dir = directory();
  await (await started(dir)).stop();
  const highest = () =>
    Math.max(
      ...readdirSync(dir)
        .flatMap((name) => /^lock\.(\d+)$/.exec(name)?.[1] ?? [])
        .map(Number),
    );
  const mine = ownIdentity();
  for (const content of [
    JSON.stringify({ ...mine, pid: 2 ** 22 - 3 }),
    JSON.stringify({ ...mine, start: 'another boot:1' }),
    'not json',
  ]) {
    writeFileSync(join(dir, `lock.${highest() + 1}`), content);
    const server = await started(dir);
    await server.stop();
  }
});

test('a lock of another container is never taken, because its holder cannot be seen', {
  timeout: longMs,
}, async () => {
  const dir = directory();
  await (await started(dir)).stop();
  writeFileSync(join(dir, 'lock.99'), JSON.stringify({ ...ownIdentity(), namespace: 'pid:[1]' }));
  await expect(startEmbedded({ dir })).rejects.toThrow('another container');
});

test('a postmaster.pid whose number belongs to another program does not stop the start', {
  timeout: longMs,
}, async () => {
  const dir = directory();
  await (await started(dir)).stop();
  writeFileSync(join(dir, 'data', 'postmaster.pid'), `${process.pid}\n${dir}\n0\n5432\n`);
  const server = await started(dir);
  expect(server.adopted).toBe(false);
  await server.stop();
});

test('calls fail as unavailable while the server is dead, and heal when it is back', {
  timeout: longMs,
}, async () => {
  const dir = directory();
  const server = await started(dir);
  const store = await openStore({ url: server.url });
  const acknowledged = await submitted(store);
  process.kill(server.pid, 'SIGKILL');
  while (startOf(server.pid) !== null) await sleep(10);
  // Its children notice a moment later, and until then they serve.
  await expect
    .poll(() => store.submit(aSubmit()).catch((error) => error), { timeout: longMs })
    .toMatchObject({ code: 'unavailable' });
  await expect(store.job(acknowledged)).rejects.toMatchObject({ code: 'unavailable' });
  await server.release();
  const back = await started(dir);
  expect(back.adopted).toBe(false);
  expect(await store.submit(aSubmit())).toMatchObject({ outcome: 'committed' });
  expect((await store.job(acknowledged))?.state.state).toBe('queued');
  await store.close();
  await back.stop();
});

test.runIf(isRoot)(
  'under root it belongs to an account that runs no tasks, whoever it belonged to before',
  {
    timeout: longMs,
  },
  async () => {
    const dir = directory();
    await (await started(dir)).stop();
    const data = join(dir, 'data');
    const { uid } = statSync(data);
    expect([0, nobody]).not.toContain(uid);
    execFileSync('chown', ['-R', `${nobody}:${nobody}`, data, join(dir, 'run')]);
    const server = await started(dir);
    await answering(server.url);
    const owners = readdirSync(data, { recursive: true, encoding: 'utf8' }).map(
      (name) => lstatSync(join(data, name)).uid,
    );
    expect(new Set([...owners, statSync(data).uid, statSync(join(dir, 'run')).uid])).toEqual(new Set([uid]));
    await server.stop();
  },
);

test.runIf(isRoot)('a plain user runs it as themselves', { timeout: longMs }, async () => {
  const dir = directory();
  const account = { uid: 1000, gid: 1000 };
  const parent = join(dir, '..');
  chownSync(parent, account.uid, account.gid);
  const { told } = await controlPlane(dir, account);
  expect(told.error).toBeUndefined();
  expect(statSync(join(dir, 'data')).uid).toBe(account.uid);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  const refused = await controlPlane(dir, account);
  expect(refused.told.error).toContain('another control plane');
});

test.runIf(isRoot)(
  'a umask that keeps others out keeps out neither the server nor its programs',
  {
    timeout: longMs,
  },
  async () => {
    const top = join(directory(), '..');
    const umask = process.umask(0o077);
    try {
      const server = await started(join(top, 'a', 'b'));
      await answering(server.url);
      await server.stop();
      const native = join(top, 'native');
      mkdirSync(join(native, 'bin'), { recursive: true });
      writeFileSync(join(native, 'bin', 'postgres'), '', { mode: 0o755 });
      writeFileSync(join(native, 'licence'), '');
      const copy = reachablePrograms(native, top, '1', serverAccount());
      const modes = ['', 'bin', 'bin/postgres', 'licence'].map(
        (name) => statSync(join(copy, name)).mode & 0o777,
      );
      expect(modes).toEqual([0o755, 0o755, 0o755, 0o644]);
      expect(reachablePrograms(copy, top, '2', serverAccount())).toBe(copy);
    } finally {
      process.umask(umask);
    }
  },
);

test.runIf(isRoot)('a directory the account cannot enter is refused with its name', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-test-'));
  ends.push(() => rmSync(dir, { recursive: true, force: true }));
  chmodSync(dir, 0o700);
  await expect(startEmbedded({ dir: join(dir, 'db') })).rejects.toThrow(`may not enter ${dir}`);
});

test('a server that dies while its control plane lives is started again', { timeout: longMs }, async () => {
  const lines: string[] = [];
  const server = await startEmbedded({ dir: directory(), keep: true, log: (line) => lines.push(line) });
  ends.push(() => killed(server.pid));
  const store = await openStore({ url: server.url });
  const acknowledged = await submitted(store);
  const first = server.pid;
  process.kill(first, 'SIGKILL');
  while (server.pid === first) await sleep(20);
  await answering(server.url);
  expect((await store.job(acknowledged))?.state.state).toBe('queued');
  expect(lines.join('\n')).toContain(`process ${first}, is gone`);
  await store.close();
  await server.stop();
  expect(startOf(server.pid)).toBeNull();
});
