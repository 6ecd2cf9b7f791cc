// The program as a process: what only a real one can show.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { FakeServer } from '@muster/client/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

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
  [['server', '--tls-cert', 'a'], 'TLS needs both a certificate and a key: --tls-cert and --tls-key'],
  [['up', '--agents', '0'], '--agents wants a whole number from 1 to 100, got "0"'],
  [
    ['up', '--devices', 'gpu'],
    '--devices: cannot read devices "gpu": write kind=count:model:memory, for example "gpu=8:H100:80GiB" or "gpu=2"',
  ],
  [['agent', '--ports', '5'], '--ports wants a range such as 20000-20999, got "5"'],
])('%j is refused before anything starts', async (args, message) => {
  const { stderr, ended } = start(...args);
  expect(await stderr).toBe(`muster: ${message}\n`);
  expect(await ended).toEqual([2, null]);
});

test('an unknown key in the configuration refuses the start and names file and line', async () => {
  const file = join(home, 'server.yaml');
  writeFileSync(file, 'port: 6878\nhots: 127.0.0.1\n');
  const { stderr, ended } = start('server', '--config', file);
  expect(await stderr).toBe(`muster: ${file}:2: unknown key "hots"; did you mean "host"?\n`);
  expect(await ended).toEqual([2, null]);
});
