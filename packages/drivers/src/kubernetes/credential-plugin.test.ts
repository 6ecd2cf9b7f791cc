import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CredentialPlugin } from './credential-plugin.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const startMs = Date.parse('2026-01-01T00:00:00Z');

describe('a credential plugin', () => {
  let dir: string;
  let nowMs: number;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'muster-plugin-'));
    nowMs = startMs;
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const script = (text: string): void =>
    writeFileSync(join(dir, 'plugin'), `#!/bin/sh\necho x >> ${dir}/asked\n${text}\n`, { mode: 0o755 });
  const prints = (status: unknown, version = apiVersion): void =>
    script(`echo '${JSON.stringify({ kind: 'ExecCredential', apiVersion: version, status })}'`);
  const asked = (): number =>
    existsSync(join(dir, 'asked')) ? readFileSync(join(dir, 'asked'), 'utf8').trim().split('\n').length : 0;
  const plugin = (more: object = {}): CredentialPlugin =>
    new CredentialPlugin(
      { apiVersion, command: './plugin', ...more },
      dir,
      { server: 'https://one.test', ca: 'ca' },
      () => nowMs,
    );

  it('is run once for all who ask, and again a minute before what it gave expires', async () => {
    prints({ token: 'a', expirationTimestamp: '2026-01-01T00:10:00Z' });
    const one = plugin();
    expect(await Promise.all([one.credential(), one.credential()])).toMatchObject([
      { token: 'a' },
      { token: 'a' },
    ]);
    nowMs = startMs + 8 * 60_000;
    await one.credential();
    expect(asked()).toBe(1);
    prints({ token: 'b', expirationTimestamp: '2026-01-01T00:20:00Z' });
    nowMs = startMs + 9 * 60_000;
    expect(await one.credential()).toMatchObject({ token: 'b' });
  });

  it('is run again when the API server refuses what it gave, once for all who were refused', async () => {
    prints({ token: 'a' });
    const one = plugin();
    const refused = await one.credential();
    one.renew(refused);
    prints({ token: 'b' });
    expect(await one.credential()).toMatchObject({ token: 'b' });
    one.renew(refused);
    await one.credential();
    expect(asked()).toBe(2);
  });

  it('may give a certificate with its key', async () => {
    prints({ clientCertificateData: 'cert', clientKeyData: 'key' });
    expect(await plugin().credential()).toEqual({ token: null, cert: 'cert', key: 'key' });
  });

  it('is told what kubectl tells it, and nothing of ours', async () => {
    script(`echo "$KUBERNETES_EXEC_INFO" > ${dir}/info; env > ${dir}/env; echo "$@" > ${dir}/args; exit 1`);
    process.env.MUSTER_PLUGIN_TEST = 'ours';
    const env = [{ name: 'AWS_PROFILE', value: 'jobs' }];
    await expect(
      plugin({ args: ['get-token', '--x'], env, provideClusterInfo: true }).credential(),
    ).rejects.toThrow();
    delete process.env.MUSTER_PLUGIN_TEST;
    expect(JSON.parse(readFileSync(join(dir, 'info'), 'utf8'))).toEqual({
      kind: 'ExecCredential',
      apiVersion,
      spec: {
        interactive: false,
        cluster: { server: 'https://one.test', 'certificate-authority-data': 'Y2E=' },
      },
    });
    const told = readFileSync(join(dir, 'env'), 'utf8');
    expect(told).toContain('AWS_PROFILE=jobs');
    expect(told).not.toContain('MUSTER_PLUGIN_TEST');
    expect(readFileSync(join(dir, 'args'), 'utf8')).toBe('get-token --x\n');
  });

  it('that fails is named with what it said and what its kubeconfig advises, and asked again', async () => {
    script('echo "your session has expired" >&2; exit 3');
    const one = plugin({ installHint: 'run: cloud login' });
    await expect(one.credential()).rejects.toThrow(
      'the credential plugin ./plugin of the kubeconfig failed: it ended with code 3: your session has expired; run: cloud login',
    );
    prints({ token: 'a' });
    expect(await one.credential()).toMatchObject({ token: 'a' });
    const missing = new CredentialPlugin({ apiVersion, command: 'muster-no-such-plugin' }, dir, {
      server: 'https://one.test',
    });
    await expect(missing.credential()).rejects.toThrow(
      /muster-no-such-plugin of the kubeconfig failed: .*ENOENT/,
    );
  });

  it.each([
    ['prints no JSON', "echo 'token: s3cret'", 'did not print an ExecCredential'],
    ['prints something else', `echo '{"kind":"Pod","token":"s3cret"}'`, 'did not print an ExecCredential'],
    [
      'gives nothing',
      `echo '{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"clientKeyData":"s3cret"}}'`,
      'printed neither a token nor a certificate with its key',
    ],
    [
      'answers in another version',
      `echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"s3cret"}}'`,
      'answered in client.authentication.k8s.io/v1beta1, and client.authentication.k8s.io/v1 was asked for',
    ],
  ])('that %s is named without what it printed', async (_, text, message) => {
    script(text);
    const failed = await plugin()
      .credential()
      .then(
        () => '',
        (error: Error) => error.message,
      );
    expect(failed).toContain(message);
    expect(failed).not.toContain('s3cret');
  });
});
