import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessOf, KubeconfigError, readKubeconfig } from './kubeconfig.ts';

const text = `
apiVersion: v1
kind: Config
current-context: first
clusters:
  - name: one
    cluster: { server: "https://one.test:6443", certificate-authority-data: b25l }
  - name: two
    cluster: { server: "https://two.test/prefix/", certificate-authority: ca.pem, tls-server-name: api }
  - name: plain
    cluster: { server: "http://plain.test" }
users:
  - name: bearer
    user: { token: secret }
  - name: file
    user: { tokenFile: token }
  - name: plugin
    user: { exec: { apiVersion: client.authentication.k8s.io/v1, command: ./plugin } }
contexts:
  - name: first
    context: { cluster: one, user: bearer, namespace: jobs }
  - name: second
    context: { cluster: two, user: file }
  - name: third
    context: { cluster: one, user: plugin }
  - name: fourth
    context: { cluster: plain, user: bearer }
`;

describe('a kubeconfig', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'muster-kubeconfig-'));
    writeFileSync(join(dir, 'config'), text);
    writeFileSync(join(dir, 'ca.pem'), 'authority');
    writeFileSync(join(dir, 'token'), 'old\n');
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  it('gives its current context', async () => {
    const access = readKubeconfig(join(dir, 'config'));
    expect(access.server.href).toBe('https://one.test:6443/');
    expect(access.namespace).toBe('jobs');
    const { token, tls } = await access.credential();
    expect(token).toBe('secret');
    expect(String(tls.ca)).toBe('one');
  });

  it('says of a file that cannot be read what it is for, and what is wrong with it', async () => {
    expect(() => readKubeconfig(join(dir, 'none'))).toThrow(
      `the kubeconfig ${dir}/none is not there, on the machine of the server`,
    );
    expect(() => readKubeconfig(dir)).toThrow(`the kubeconfig ${dir} is a directory, not a file`);
    const gone = accessOf(text.replace('tokenFile: token', 'tokenFile: gone'), dir, 'second');
    await expect(gone.credential()).rejects.toThrow(
      `the tokenFile of the kubeconfig ${dir}/gone is not there`,
    );
    const noAuthority = accessOf(text.replace('ca.pem', 'no.pem'), dir, 'second');
    await expect(noAuthority.credential()).rejects.toThrow(
      `the certificate-authority of the kubeconfig ${dir}/no.pem is not there`,
    );
  });

  it('gives a named context, with files that are read anew because they are renewed in place', async () => {
    const access = readKubeconfig(join(dir, 'config'), 'second');
    const { token, tls } = await access.credential();
    expect(tls).toMatchObject({ servername: 'api' });
    expect(String(tls.ca)).toBe('authority');
    expect(token).toBe('old');
    writeFileSync(join(dir, 'token'), 'new\n');
    expect((await access.credential()).token).toBe('new');
  });

  it('asks the plugin that it names, but only where nobody else can name one', async () => {
    const status = { token: 'from the plugin' };
    const answer = { kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status };
    writeFileSync(join(dir, 'plugin'), `#!/bin/sh\necho '${JSON.stringify(answer)}'\n`, { mode: 0o755 });
    chmodSync(join(dir, 'config'), 0o644);
    const open = () => readKubeconfig(join(dir, 'config'), 'third');
    expect(await open().credential()).toMatchObject({
      token: 'from the plugin',
      tls: { ca: Buffer.from('one') },
    });
    chmodSync(join(dir, 'config'), 0o664);
    expect(open).toThrow(/others may write to .*config: chmod go-w it/);
    chmodSync(join(dir, 'config'), 0o644);
  });

  it('is who the file says now, because what is in it is renewed too', async () => {
    const file = join(dir, 'renewed');
    writeFileSync(file, text);
    const access = readKubeconfig(file);
    expect((await access.credential()).token).toBe('secret');
    writeFileSync(file, text.replace('token: secret', 'token: renewed'));
    expect((await access.credential()).token).toBe('renewed');
    // Half of it, while it is being written.
    writeFileSync(file, text.slice(0, 100));
    await expect(access.credential()).rejects.toThrow(KubeconfigError);
    writeFileSync(file, text);
    expect((await access.credential()).token).toBe('secret');
  });

  it('never becomes another API server', async () => {
    const file = join(dir, 'moved');
    writeFileSync(file, text);
    const access = readKubeconfig(file);
    writeFileSync(file, text.replace('current-context: first', 'current-context: second'));
    await expect(access.credential()).rejects.toThrow(
      'names another API server now, https://two.test/prefix/ instead of https://one.test:6443/',
    );
    writeFileSync(file, text);
    expect((await access.credential()).token).toBe('secret');
  });

  it('asks the plugin again when what it gave is refused, also beside a certificate of the file', async () => {
    const file = join(dir, 'both');
    const both = text.replace(
      'exec: { apiVersion: client.authentication.k8s.io/v1, command: ./plugin }',
      'client-certificate-data: b25l, client-key-data: b25l, exec: { apiVersion: client.authentication.k8s.io/v1, command: ./counting }',
    );
    writeFileSync(file, both, { mode: 0o644 });
    const asked = '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"';
    const script = `#!/bin/sh\necho x >> ${join(dir, 'asked')}\necho '${asked},"status":{"token":"'$(wc -l < ${join(dir, 'asked')})'"}}'\n`;
    writeFileSync(join(dir, 'counting'), script, { mode: 0o755 });
    const access = readKubeconfig(file, 'third');
    const first = await access.credential();
    expect(first.token).toBe('1');
    expect((await access.credential()).token).toBe('1');
    expect(access.renew(first)).toBe(true);
    expect((await access.credential()).token).toBe('2');
    // Refused once more, late: what is held now was given since.
    access.renew(first);
    expect((await access.credential()).token).toBe('2');
  });

  it('names what it does not have or cannot do', () => {
    const refused = (context: string) => () => accessOf(text, dir, context);
    expect(refused('fifth')).toThrow('no context "fifth"; it has: first, second, third, fourth');
    const interactive = text.replace('command: ./plugin', 'command: ./plugin, interactiveMode: Always');
    expect(() => accessOf(interactive, dir, 'third')).toThrow('wants somebody to answer it');
    const alpha = text.replace('k8s.io/v1,', 'k8s.io/v1alpha1,');
    expect(() => accessOf(alpha, dir, 'third')).toThrow('client.authentication.k8s.io/v1 or v1beta1');
    expect(refused('fourth')).toThrow('by https');
    expect(() => accessOf('users: ["secret', dir)).toThrow(
      /^not a kubeconfig: Missing closing "quote at line 1, column \d+$/,
    );
    expect(() => accessOf('{}', dir)).toThrow(KubeconfigError);
  });
});
