// What flags and hosts say about a machine, and what a server is told by flags, environment and file.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readSettings } from './commands/server-settings.ts';
import { withoutPassword } from './database.ts';
import { part } from './local-agents.ts';
import { machineOf, oversold, pairsOf, portsOf } from './machine-flags.ts';
import { nodeName } from './node-name.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a machine that is offered with more than it has is told, and one with less is not', () => {
  expect(oversold(machineOf({ memory: '1024TiB' }))).toMatch(
    /^this machine is offered with more .* GiB of memory/,
  );
  expect(oversold(machineOf({ cpus: '100000' }))).toContain('100000 cores (it has');
  expect(oversold(machineOf({ cpus: '0.5', memory: '1MiB' }))).toBeNull();
});

test('flags describe a machine in whole units', () => {
  expect(
    machineOf({ devices: ['gpu=8:H100:80GiB'], cpus: '1.5', memory: '64GiB', label: ['zone=a'] }),
  ).toEqual({
    devices: [{ kind: 'gpu', count: 8, model: 'H100', memoryMib: 81_920 }],
    cpuMilli: 1500,
    memoryMib: 65_536,
    labels: { zone: 'a' },
  });
  expect(portsOf('20000-20009')).toEqual({ first: 20_000, count: 10 });
  expect(pairsOf('--user-map', ['ci@example.org=builder'])).toEqual({ 'ci@example.org': 'builder' });
});

test.each([
  [() => machineOf({ cpus: '-1' }), /--cpus wants a number of cores/],
  [() => machineOf({ memory: '64' }), /--memory: "64" is ambiguous/],
  [() => machineOf({ label: ['no value'] }), /--label wants NAME=VALUE/],
  [() => portsOf('9-5'), /--ports wants a range/],
  [() => portsOf('1-65535'), /--ports: a node offers at most 60000 ports/],
  [() => machineOf({ devices: ['gpu=4000', 'tpu=97'] }), /a node has at most 4096 devices, all kinds/],
  [() => portsOf('1-70000'), /--ports wants a range/],
  [() => pairsOf('--user-map', ['x=']), /--user-map wants NAME=VALUE/],
])('what makes no sense is refused by its flag', (say, message) => expect(say).toThrow(message));

test('several agents share a machine instead of each offering all of it', () => {
  const nothing = { devices: undefined, cpuMilli: undefined, memoryMib: undefined, labels: undefined };
  expect(part(nothing, 0, 1)).toEqual(nothing);
  const [first, second] = [part(nothing, 0, 2), part(nothing, 1, 2)];
  expect(first.cpuMilli).toBe(second.cpuMilli);
  // Real devices are found by the first alone.
  expect(first.devices).toBeUndefined();
  expect(second.devices).toEqual([{ kind: 'gpu', count: 0, model: 'generic', memoryMib: 0 }]);
  expect(part({ ...nothing, cpuMilli: 5 }, 1, 2).cpuMilli).toBe(5);
});

test.each([
  ['GPU-1.example.org', 'gpu-1'],
  ['weird_host', 'weird-host'],
  ['---', 'node'],
])('the host %s makes the node %s', (host, name) => expect(nodeName(host)).toBe(name));

test('a database is shown without its password', () => {
  expect(withoutPassword('postgres://muster:secret@db:5432/muster?sslmode=require')).toBe(
    'postgres://db:5432/muster',
  );
  expect(withoutPassword('host=db password=secret')).toBe('the given database');
});

test('flags win over the environment, which wins over the file', () => {
  const config = join(folder, 'server.yaml');
  writeFileSync(config, 'databaseUrl: postgres://file\nport: 1\nhost: 127.0.0.2\n', { mode: 0o600 });
  const settings = readSettings(
    { config, port: '2' },
    { DATABASE_URL: 'postgres://env', XDG_STATE_HOME: '/state' },
  );
  expect(settings).toMatchObject({
    databaseUrl: 'postgres://env',
    port: 2,
    host: '127.0.0.2',
    dir: '/state/muster',
  });
  expect(readSettings({ config, databaseUrl: 'postgres://flag' }, {}).databaseUrl).toBe('postgres://flag');
  expect(readSettings({ config }, {}).databaseUrl).toBe('postgres://file');
});

test.each([
  ['port: high\n', ':1: port: must be a number'],
  ['port: 6878tcp\n', ':1: port: must be a number'],
  ['port: 1\nport: 2\n', ':2: Map keys must be unique'],
  ['host: 127.0.0.1\ntlsCert: a.pem\n', ':2: tlsCert: TLS needs both a certificate and a key'],
  ['port: &a 1\nhost: *a\n', ':2: host: must be a text'],
  ['__proto__: 1\n', ':1: unknown key "__proto__"'],
  ['host: 127.0.0.1\nport: 70000\n', ':2: port: must be a port, 0 to 65535 (0 picks a free one)'],
  ['behindTlsProxy: 1\n', ':1: behindTlsProxy: must be true or false'],
  ['publicUrl: nowhere\n', ':1: publicUrl: must be an address such as https://muster.example.org'],
  ['logLevel: loud\n', ':1: logLevel: must be one of debug, info, warn, error'],
  ['databaseUrl: localhost/muster\n', ':1: databaseUrl: must look like postgres://'],
  ['- a\n', ':1: must be a mapping of settings'],
])('the file %j is refused by line and key', (text, message) => {
  const config = join(folder, 'server.yaml');
  writeFileSync(config, text, { mode: 0o600 });
  expect(() => readSettings({ config }, {})).toThrow(`${config}${message}`);
});

test('a secret in a file that everybody can read is refused', () => {
  const config = join(folder, 'server.yaml');
  writeFileSync(config, 'databaseUrl: postgres://x\n');
  chmodSync(config, 0o644);
  expect(() => readSettings({ config }, {})).toThrow(
    `${config}:1: databaseUrl: is a secret, and everybody can read this file; run: chmod o-rwx ${config}`,
  );
});
