import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
    user: { exec: { command: aws } }
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

  it('gives its current context', () => {
    const access = readKubeconfig(join(dir, 'config'));
    expect(access.server.href).toBe('https://one.test:6443/');
    expect(access.namespace).toBe('jobs');
    expect(access.token()).toBe('secret');
    expect(String(access.tls().ca)).toBe('one');
  });

  it('gives a named context, with files that are read anew because they are renewed in place', () => {
    const access = readKubeconfig(join(dir, 'config'), 'second');
    expect(access.tls()).toMatchObject({ servername: 'api' });
    expect(String(access.tls().ca)).toBe('authority');
    expect(access.token()).toBe('old');
    writeFileSync(join(dir, 'token'), 'new\n');
    expect(access.token()).toBe('new');
  });

  it('names what it does not have or cannot do', () => {
    const refused = (context: string) => () => accessOf(text, dir, context);
    expect(refused('fifth')).toThrow('no context "fifth"; it has: first, second, third, fourth');
    expect(refused('third')).toThrow('exec of the kubeconfig is not supported');
    expect(refused('fourth')).toThrow('by https');
    expect(() => accessOf('a: [', dir)).toThrow();
    expect(() => accessOf('{}', dir)).toThrow(KubeconfigError);
  });
});
