// The program as a process: what only a real one can show.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { FakeServer } from '@muster/client/testing';
import { keepsDatabase } from '@muster/store';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '..', 'bin', 'muster.js');
let server: FakeServer;
let home = '';

beforeEach(async () => {
  server = await FakeServer.start();
  home = mkdtempSync(join(tmpdir(), 'muster-process-'));
  mkdirSync(join(home, 'muster'));
  const profiles = `profiles: { a: { server: "${server.url}", token: t } }\ncurrent: a\n`;
  writeFileSync(join(home, 'muster', 'config.yaml'), profiles, { mode: 0o600 });
});
afterEach(async () => {
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

function start(...args: string[]) {
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, XDG_CONFIG_HOME: home },
  });
  return { child, stderr: text(child.stderr), ended: once(child, 'exit') as Promise<[number | null]> };
}

test('a reader that goes away ends the program without a word', async () => {
  // More than a pipe holds, so that the program meets the closed end.
  const items = Array.from({ length: 5000 }, (_, i) => ({
    path: `p${i}`,
    createdAt: '2026-01-01T00:00:00Z',
    createdBy: 'x'.repeat(100),
  }));
  server.on('GET /v1/projects', { json: { items, next: null } });
  const { child, stderr, ended } = start('projects');
  await once(child.stdout, 'readable');
  child.stdout.destroy();
  expect(await ended).toEqual([141, null]);
  expect(await stderr).toBe('');
});

test('Ctrl-C ends a command that waits', async () => {
  const asked = new Promise<void>((resolve) => {
    server.on('GET /v1/whoami', () => {
      resolve();
      return () => undefined;
    });
  });
  const { child, stderr, ended } = start('whoami');
  await asked;
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  expect(await stderr).toBe('');
});

test('help of the parts that start servers is there', async () => {
  for (const command of ['up', 'server', 'agent']) {
    const { child, ended } = start(command, '--help');
    const help = await text(child.stdout);
    expect(help).toContain(`Usage: muster ${command}`);
    expect(await ended).toEqual([0, null]);
  }
});

test.each([
  [['server', '--port', 'x'], '--port must be a port, 0 to 65535 (0 picks a free one)'],
  [
    ['server', '--tls-cert', 'a'],
    '--tls-cert: TLS needs both a certificate and a key (tlsCert and tlsKey, --tls-cert and --tls-key)',
  ],
  [['up', '--agents', '0'], '--agents wants a whole number from 1 to 100, got "0"'],
  [
    ['up', '--devices', 'gpu'],
    '--devices: cannot read devices "gpu": write kind=count:model:memory:interconnect:generation, for example "gpu=8:H100:80GiB:nvlink:90", "gpu=8:H100" or "gpu=2"',
  ],
  [['agent', '--ports', '5'], '--ports wants a range such as 20000-20999, got "5"'],
])('%j is refused before anything starts', async (args, message) => {
  const { stderr, ended } = start(...args);
  expect(await stderr).toBe(`muster: ${message}\n`);
  expect(await ended).toEqual([2, null]);
});

test.runIf(process.getuid?.() === 0)('up lets no task run as the user that keeps its database', async () => {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':')[0] ?? '');
  const user = users.find((name) => name !== '' && keepsDatabase(name));
  const { stderr, ended } = start('up', '--task-user', user ?? '');
  expect(await stderr).toBe(
    `muster: --task-user ${user}: the embedded PostgreSQL runs as this user, and jobs could change its data; name another\n`,
  );
  expect(await ended).toEqual([2, null]);
});

const enrolling = (...more: string[]) =>
  start('agent', '--dir', join(home, 'agent'), '--token', 'mse_x', '--name', 'n1', ...more);

test.each([
  [['--server', 'ftp://x'], 2, 'must begin with http:// or https://'],
  [['--server', 'https://127.0.0.1:1', '--ca-file', '/no/such/file'], 2, '/no/such/file cannot be read'],
  [['--server', 'http://127.0.0.1:1'], 3, 'cannot reach http://127.0.0.1:1'],
])('an agent that starts with %j ends with %i', async (args, code, message) => {
  const { stderr, ended } = enrolling(...args);
  expect(await stderr).toContain(message);
  expect(await ended).toEqual([code, null]);
});

test('an agent that waits for its enrolment ends at the first Ctrl-C', async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
  const asked = once(silent, 'connection');
  const { child, ended } = enrolling(
    '--server',
    `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
  );
  await asked;
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  silent.close();
});

describe('a configuration that is wrong refuses the start, by file, line and key', () => {
  const listening = createServer();
  const pem = (): string => {
    const file = join(home, 'key.pem');
    writeFileSync(file, 'secret');
    chmodSync(file, 0o644);
    return file;
  };
  const cert = (): string => {
    const [file, key] = [join(home, 'cert.pem'), join(home, 'its-key.pem')];
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
    execFileSync('openssl', [...made, '-keyout', key, '-out', file], { stdio: 'ignore' });
    return file;
  };
  beforeAll(() => new Promise<void>((resolve) => void listening.listen(0, '127.0.0.1', resolve)));
  afterAll(() => listening.close());

  const cases: readonly (readonly [string, () => string, string])[] = [
    ['an unknown key', () => 'port: 0\nhots: 127.0.0.1\n', ':2: unknown key "hots"; did you mean "host"?'],
    ['a wrong unit', () => 'port: 6878s\n', ':1: port: must be a number'],
    [
      'a port in use',
      () => `host: 127.0.0.1\nport: ${(listening.address() as AddressInfo).port}\n`,
      ':2: port: port \\d+ on 127.0.0.1 is in use; choose another, or stop what has it',
    ],
    [
      'an address of another machine',
      () => 'host: 192.0.2.1\nbehindTlsProxy: true\n',
      ':1: host: 192.0.2.1 is not an address of this machine; give one that is',
    ],
    [
      'a secret that everybody can read',
      () => 'port: 0\ndatabaseUrl: postgres://u:p@h/d\n',
      ':2: databaseUrl: is a secret, and everybody can read this file; run: chmod o-rwx ',
    ],
    [
      'a TLS key that everybody can read',
      () => `port: 0\ntlsCert: ${cert()}\ntlsKey: ${pem()}\n`,
      ':3: tlsKey: refusing to start: the TLS key .* can be read by everybody; run: chmod o-rwx ',
    ],
    ...['0.0.0.0', '"::"'].map(
      (host) =>
        [
          `the address ${host} without TLS`,
          () => `port: 0\nhost: ${host}\n`,
          ':2: host: refusing to listen on .* without TLS: tokens would travel in the clear',
        ] as const,
    ),
  ];

  test.each(cases)('%s', async (_, text, message) => {
    const [file, dir] = [join(home, 'server.yaml'), join(home, 'state')];
    writeFileSync(file, text());
    chmodSync(file, 0o644);
    const { stderr, ended } = start('server', '--config', file, '--dir', dir);
    const said = await stderr;
    expect(said).toMatch(new RegExp(`^muster: ${file}${message}`));
    expect(said.trim().split('\n')).toHaveLength(1);
    expect(await ended).toEqual([2, null]);
    // Nothing was made on the way.
    expect(existsSync(dir)).toBe(false);
  });

  test('or by its flag', async () => {
    const { stderr, ended } = start('server', '--host', '0.0.0.0', '--port', '0');
    expect(await stderr).toMatch(/^muster: --host: refusing to listen on 0\.0\.0\.0 without TLS/);
    expect(await ended).toEqual([2, null]);
  });
});

test('Ctrl-C in the middle of a submit ends with 130 and the key to find out', async () => {
  const asked = new Promise<string>((resolve) => {
    server.on('POST /v1/jobs', ({ headers }) => {
      resolve(String(headers['idempotency-key']));
      return () => undefined;
    });
  });
  const { child, stderr, ended } = start('run', '--', 'true');
  const key = await asked;
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  expect(await stderr).toMatch(
    new RegExp(`^muster: interrupted while submitting, .*run the same command with --key ${key} [^\n]*\n$`),
  );
});
