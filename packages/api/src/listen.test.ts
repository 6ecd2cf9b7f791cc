import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiConfig } from './deps.ts';
import { checkBind, isLoopback, readTls } from './listen.ts';
import { openWorld } from './testing/world.ts';

const plain: ApiConfig = { host: '127.0.0.1', port: 0, tls: null, behindTlsProxy: false, maxBodyBytes: 1024 };
const tls = { cert: 'cert.pem', key: 'key.pem' };

test('loopback is what only this machine can reach', () => {
  for (const host of ['127.0.0.1', '127.8.9.1', '::1', 'localhost'])
    expect(isLoopback(host), host).toBe(true);
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.org', '127.0.0.1.example.org', ''])
    expect(isLoopback(host), host).toBe(false);
});

test('beyond loopback there is TLS, a proxy that somebody vouches for, or no server', () => {
  for (const host of ['127.0.0.1', '0.0.0.0', '::', '10.1.2.3', 'node-1'])
    for (const withTls of [null, tls])
      for (const behindTlsProxy of [false, true]) {
        const start = () => checkBind({ ...plain, host, tls: withTls, behindTlsProxy });
        const safe = isLoopback(host) || withTls !== null || behindTlsProxy;
        if (safe) expect(start).not.toThrow();
        else expect(start).toThrow(/refusing to listen on .* without TLS/);
      }
});

test('a port in use is said in a sentence', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as { port: number };
  const world = await openWorld({ port });
  await expect(world.api.listen()).rejects.toThrow(`port ${port} on 127.0.0.1 is in use`);
  await world.close();
  taken.close();
});

const dir = mkdtempSync(join(tmpdir(), 'muster-api-tls-'));
const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };

beforeAll(() => {
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '1',
  ];
  execFileSync('openssl', [...args, '-subj', '/CN=localhost', '-keyout', files.key, '-out', files.cert], {
    stdio: 'ignore',
  });
});
afterAll(() => rmSync(dir, { recursive: true }));

test('a key that everybody can read is refused; a private one serves TLS', async () => {
  chmodSync(files.key, 0o644);
  await expect(readTls(files)).rejects.toThrow(`chmod o-rwx ${files.key}`);
  chmodSync(files.key, 0o600);
  const world = await openWorld({ tls: files });
  const { url } = await world.api.listen();
  expect(url).toMatch(/^https:/);
  const status = await new Promise((resolve, reject) => {
    request(`${url}/healthz`, { rejectUnauthorized: false }, (response) => resolve(response.statusCode))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(200);
  await world.close();
});

test('a certificate or key that is missing, no such thing or of another pair is said in a sentence', async () => {
  const other = join(dir, 'other.pem');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(other, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const text = join(dir, 'text.pem');
  writeFileSync(text, 'hello', { mode: 0o600 });
  for (const [tls, says] of [
    [{ cert: '/nowhere.pem', key: files.key }, '/nowhere.pem cannot be read'],
    [{ cert: text, key: files.key }, `${text} is not a certificate`],
    [{ cert: files.cert, key: '/nowhere.pem' }, '/nowhere.pem cannot be read'],
    [{ cert: files.cert, key: text }, `${text} is not a key`],
    [{ cert: files.cert, key: other }, `${other} is not the key of the certificate ${files.cert}`],
  ] as const)
    await expect(readTls(tls)).rejects.toThrow(says);
});
