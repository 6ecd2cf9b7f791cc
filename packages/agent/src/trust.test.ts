// An organisation's own authority: known by a file, or by the system's store.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { enrolAgent } from './enrol.ts';
import { until } from './testing/until.ts';
import { makeWorld, type TlsFiles, type World } from './testing/world.ts';

// Real processes on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const dir = mkdtempSync(join(tmpdir(), 'muster-agent-trust-'));
const at = (name: string): string => join(dir, name);
let tls: TlsFiles;
let world: World;

function certificate(name: string, ...more: string[]): void {
  const form = [
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
  const files = ['-subj', `/CN=${name}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
  execFileSync('openssl', [...form, ...files, ...more], { stdio: 'ignore' });
}

beforeAll(() => {
  certificate('authority');
  certificate('other');
  const signed = ['-CA', at('authority.pem'), '-CAkey', at('authority.key')];
  certificate('server', ...signed, '-addext', 'subjectAltName=IP:127.0.0.1');
  const [cert, key] = ['server.pem', 'server.key'].map((name) => readFileSync(at(name), 'utf8'));
  tls = { cert: cert ?? '', key: key ?? '', caFile: at('authority.pem') };
});
afterAll(() => rmSync(dir, { recursive: true }));

beforeEach(async () => {
  world = await makeWorld(tls);
});
afterEach(() => world.clean());

describe('an agent whose server has a certificate of an authority of its own', () => {
  it('enrols and connects when the file of that authority is given', async () => {
    expect(world.server.url).toMatch(/^https:/);
    await world.agent({ caFile: tls.caFile });
    await world.server.welcomed();
  });

  it('connects when the system knows that authority', async () => {
    await world.process({}, undefined, { SSL_CERT_FILE: tls.caFile });
    expect(world.server.connections).toBe(1);
  });

  it.each([undefined, 'other.pem'])('says what to do when it knows %s only', async (file) => {
    const caFile = file && at(file);
    const said = /certificate is not trusted \(.*\); give the certificate of its authority with --ca-file/;
    const { url: server, token } = world.server;
    const enrolling = enrolAgent({ server, token, name: 'n2', dir: at(`enrol-${file}`), caFile });
    await expect(enrolling).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(said),
    });
    await world.agent({ caFile });
    await until('the agent says so', () => world.log.find((line) => said.test(line)));
    expect(world.server.connections).toBe(0);
  });

  it('connects once the file is replaced by the right one', async () => {
    const caFile = at('changing.pem');
    writeFileSync(caFile, readFileSync(at('other.pem')));
    await world.agent({ caFile });
    await until('it is not trusted', () => world.log.find((line) => line.includes('not trusted')));
    writeFileSync(caFile, readFileSync(tls.caFile));
    await world.server.welcomed();
  });

  it('refuses a file that is no certificate before it starts', async () => {
    for (const [name, text] of [
      ['words.pem', 'hello'],
      ['cut.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
    ] as const) {
      writeFileSync(at(name), text);
      await expect(world.agent({ caFile: at(name) })).rejects.toThrow(
        `${name} is not a certificate in PEM form`,
      );
    }
  });
});
