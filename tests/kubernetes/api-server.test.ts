// The Kubernetes driver on a real API server, where no process is needed: what is made, what is refused, what others do, and that
// the account of deploy/kubernetes is enough for all of it.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessOf, createKubeClient } from '@muster/drivers/kubernetes';
import { type TestKubernetes, testNamespace } from '@muster/drivers/testing';
import type { RunId } from '@muster/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type KubernetesSubject, kubernetesSubject } from '../harness/kubernetes-subject.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually, repository } from '../harness/processes.ts';
import { accepted, cancel, freshRun, shellTask, submit } from '../harness/runs.ts';
import { addNodes, pods, podsOf } from './played-kubelet.ts';

/** Applies the documents of deploy/kubernetes/account.yaml and gives a token of the account. */
async function install({ admin }: TestKubernetes): Promise<string> {
  const text = readFileSync(join(repository, 'deploy/kubernetes/account.yaml'), 'utf8');
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  for (const document of parseAllDocuments(text)) {
    const object = document.toJS() as { kind: string; metadata: { name: string; namespace?: string } };
    const below = object.metadata.namespace === undefined ? '' : `/namespaces/${object.metadata.namespace}`;
    const base = object.kind === 'ServiceAccount' ? '/api/v1' : rbac;
    if (object.kind !== 'Namespace')
      await admin.call('POST', `${base}${below}/${object.kind.toLowerCase()}s`, object);
  }
  const path = `/api/v1/namespaces/${testNamespace}/serviceaccounts/muster/token`;
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600 },
  };
  return ((await admin.call('POST', path, request)) as { status: { token: string } }).status.token;
}

onKubernetes('the Kubernetes driver', [], (kubernetes) => {
  let subject: KubernetesSubject;
  let token: string;
  beforeAll(async () => {
    await addNodes(kubernetes(), 'k1', 'k2');
    token = await install(kubernetes());
    subject = kubernetesSubject(kubernetes(), ['k1', 'k2'], { token });
  });
  afterAll(() => subject?.close());

  const ours = (run: RunId) => podsOf(kubernetes(), run);

  it('binds a gang to its nodes, with a service to meet at', async () => {
    const run = freshRun();
    const gang = { k1: [shellTask(0, ''), shellTask(1, '')], k2: [shellTask(2, '', { devices: [0, 1] })] };
    expect(await submit(subject, run, gang)).toEqual([accepted, accepted]);
    const made = await ours(run);
    expect(made.map(({ spec }) => spec.nodeName)).toEqual(['k1', 'k1', 'k2']);
    expect(made[2]).toMatchObject({
      spec: { containers: [{ resources: { limits: { 'nvidia.com/gpu': '2' } } }] },
    });
    const service = `/api/v1/namespaces/${testNamespace}/services/${run.replaceAll('_', '-')}`;
    expect(await kubernetes().admin.call('GET', service)).toMatchObject({ spec: { clusterIP: 'None' } });
  });

  it('makes nothing of a gang that did not come whole', async () => {
    const run = freshRun();
    expect(await submit(subject, run, { k1: [shellTask(0, '')] }, { nodes: 2 })).toEqual([
      { outcome: 'unknown' },
    ]);
    expect(await ours(run)).toEqual([]);
  });

  it('begins nothing of a key that was stopped first, and says so, because no pod will tell its end', async () => {
    const run = freshRun();
    expect(await cancel(subject, run)).toEqual(accepted);
    const refused = { outcome: 'refused', detail: 'it was stopped before it began' };
    expect(await submit(subject, run, { k1: [shellTask(0, '')], k2: [shellTask(1, '')] })).toEqual([
      refused,
      refused,
    ]);
    const made = await ours(run);
    expect(made).toHaveLength(1);
    expect(made[0]?.spec.nodeName).toBeUndefined();
    expect(await subject.driver.find(subject.node, run)).toEqual([]);
  });

  it('begins no part of a gang that a quota takes only a part of, and says so', async () => {
    const run = freshRun();
    const quotas = `/api/v1/namespaces/${testNamespace}/resourcequotas`;
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'small' },
      spec: { hard: { pods: '0', 'count/configmaps': '0' } },
    };
    /** Nobody may make another of these once the API server knows of the quota. */
    const isKnown = (): Promise<boolean> =>
      kubernetes()
        .admin.call('POST', `/api/v1/namespaces/${testNamespace}/configmaps?dryRun=All`, {
          metadata: { name: 'probe' },
        })
        .then(
          () => false,
          (error: Error) => error.message.includes('exceeded quota: small'),
        );
    const used = ((await kubernetes().admin.call('GET', pods)) as { items: unknown[] }).items.length;
    quota.spec.hard.pods = String(used + 1);
    await kubernetes().admin.call('POST', quotas, quota);
    try {
      // As its controller does.
      await kubernetes().admin.call('PATCH', `${quotas}/small/status`, {
        status: { hard: quota.spec.hard, used: { pods: String(used), 'count/configmaps': '0' } },
      });
      await eventually('the quota is known', 30_000, isKnown);
      const gang = { k1: [shellTask(0, '')], k2: [shellTask(1, '')] };
      for (const answer of await submit(subject, run, gang))
        expect(answer).toMatchObject({
          outcome: 'refused',
          detail: expect.stringContaining('exceeded quota: small'),
        });
      expect(await ours(run)).toEqual([]);
    } finally {
      await kubernetes().admin.call('DELETE', `${quotas}/small`);
    }
  });

  it('counts what others hold as taken', async () => {
    const other = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'other', namespace: 'default' },
      spec: {
        nodeName: 'k2',
        containers: [
          {
            name: 'c',
            image: 'x',
            resources: { limits: { cpu: '1500m', memory: '1Gi', 'nvidia.com/gpu': '3' } },
          },
        ],
      },
    };
    await kubernetes().admin.call('POST', '/api/v1/namespaces/default/pods', other);
    const taken = await eventually(
      'it is seen',
      30_000,
      async () => (await subject.driver.look()).nodes.get('k2')?.taken,
    );
    expect(taken).toEqual({ cpuMilli: 1500, memoryMib: 1024, devices: { 'nvidia.com/gpu': 3 } });
    await kubernetes().admin.call('DELETE', '/api/v1/namespaces/default/pods/other', {
      gracePeriodSeconds: 0,
    });
    await eventually('it is gone', 30_000, async () => {
      const seen = (await subject.driver.look()).nodes.get('k2');
      return seen !== undefined && seen.taken === undefined;
    });
  });

  describe('the account', () => {
    it.each([
      ['GET', '/api/v1/namespaces/default/secrets'],
      ['GET', `/api/v1/namespaces/${testNamespace}/secrets`],
      ['DELETE', '/api/v1/namespaces/default/pods/other'],
      ['POST', '/api/v1/namespaces/default/pods'],
      ['POST', `${pods}/x/exec`],
      ['DELETE', '/api/v1/nodes/k1'],
    ] as const)('may not %s %s', async (method, path) => {
      const body = method === 'POST' ? {} : undefined;
      const client = createKubeClient(accessOf(kubernetes().kubeconfig(token), kubernetes().dir));
      await expect(client.call(method, path, body)).rejects.toMatchObject({ status: 403 });
      client.close();
    });
  });

  it('does not refuse for good when its token is not taken', async () => {
    const stranger = kubernetesSubject(kubernetes(), ['k1'], { token: 'expired' });
    expect(await submit(stranger, freshRun(), { k1: [shellTask(0, '')] })).toEqual([{ outcome: 'unknown' }]);
    await expect(stranger.driver.look()).rejects.toThrow();
    await stranger.close();
  });

  it('is who a plugin of the kubeconfig says, and asks it again when that is not taken any more', async () => {
    const { dir } = kubernetes();
    const apiVersion = 'client.authentication.k8s.io/v1';
    const says = (status: object): void =>
      writeFileSync(join(dir, 'said'), JSON.stringify({ kind: 'ExecCredential', apiVersion, status }));
    writeFileSync(join(dir, 'plugin'), `#!/bin/sh\nexec cat ${dir}/said\n`, { mode: 0o755 });
    says({ token: 'expired' });
    const config = JSON.parse(kubernetes().kubeconfig(token));
    config.users[0].user = { exec: { apiVersion, command: './plugin' } };
    const client = createKubeClient(accessOf(JSON.stringify(config), dir));
    await expect(client.call('GET', pods)).rejects.toMatchObject({ status: 401 });
    says({ token });
    await client.call('GET', pods);
    client.close();
    const other = kubernetesSubject(kubernetes(), ['k1'], { kubeconfig: JSON.stringify(config) });
    try {
      const run = freshRun();
      expect(await submit(other, run, { k1: [shellTask(0, '')] })).toEqual([accepted]);
      expect(await ours(run)).toHaveLength(1);
    } finally {
      await other.close();
    }
  });

  // Last: from here on the API server has room for one call at a time.
  it('sends again what was turned away because there was too much to do (F28)', async () => {
    const one = ['--max-requests-inflight=1', '--max-mutating-requests-inflight=1'];
    await kubernetes().apiServer.end('SIGKILL');
    kubernetes().apiServer.start('--enable-priority-and-fairness=false', ...one);
    await kubernetes().ready();
    await subject.driver.look(true);
    const runs = Array.from({ length: 40 }, freshRun);
    const answers = await Promise.all(runs.map((run) => submit(subject, run, { k1: [shellTask(0, '')] })));
    expect(answers.flat().filter(({ outcome }) => outcome === 'refused')).toEqual([]);
    expect(answers.flat().some(({ outcome }) => outcome === 'accepted')).toBe(true);
    expect(await turnedAway()).toBe(true);
    for (const run of runs)
      await eventually(`${run} is bound`, 60_000, async () => {
        await submit(subject, run, { k1: [shellTask(0, '')] });
        return (await ours(run)).every(({ spec }) => spec.nodeName === 'k1');
      });
  });

  async function turnedAway(): Promise<boolean> {
    let metrics = '';
    for await (const piece of await kubernetes().admin.stream('/metrics', AbortSignal.timeout(20_000)))
      metrics += piece;
    return /^apiserver_request_terminations_total\{[^}]*code="429"/m.test(metrics);
  }
});
