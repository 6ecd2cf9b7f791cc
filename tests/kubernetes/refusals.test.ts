// The rest of row F28 of the fault matrix on a real API server: what it answers when something behind it fails, when a webhook says
// no, and when certificates or tokens are no longer good. What is refused for good is told apart from what is not known.
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { testNamespace } from '@muster/drivers/testing';
import type { RunId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Certificate, certificateFor } from '../harness/certificate.ts';
import { type KubernetesSubject, kubernetesSubject } from '../harness/kubernetes-subject.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually } from '../harness/processes.ts';
import { freshRun, shellTask, submit } from '../harness/runs.ts';
import { addNodes, podsOf } from './played-kubelet.ts';

const registration = 'admissionregistration.k8s.io/v1';
const hooks = {
  Validating: `/apis/${registration}/validatingwebhookconfigurations`,
  Mutating: `/apis/${registration}/mutatingwebhookconfigurations`,
};
const accounts = `/api/v1/namespaces/${testNamespace}/serviceaccounts`;
const hourMs = 3_600_000;

onKubernetes('a Kubernetes that says no', [], (kubernetes) => {
  let subject: KubernetesSubject;
  let webhook: Webhook;
  beforeAll(async () => {
    await addNodes(kubernetes(), 'r1', 'r2');
    subject = kubernetesSubject(kubernetes(), ['r1', 'r2']);
    webhook = await startWebhook(kubernetes().network.host);
  });
  afterAll(async () => {
    await subject?.close();
    webhook?.server.close();
  });

  const gang = () => ({ r1: [shellTask(0, 'true')], r2: [shellTask(1, 'true')] });
  const bound = async (run: RunId) =>
    (await podsOf(kubernetes(), run)).flatMap(({ spec }) => spec.nodeName ?? []);

  /** Asks the webhook about the pods of this run alone, while `act` is done. */
  async function withWebhook(
    run: RunId,
    url: string,
    act: () => Promise<void>,
    kind: keyof typeof hooks = 'Validating',
  ): Promise<void> {
    const name = `h${run.replaceAll('_', '-')}`;
    await kubernetes().admin.call('POST', hooks[kind], {
      apiVersion: registration,
      kind: `${kind}WebhookConfiguration`,
      metadata: { name },
      webhooks: [
        {
          name: 'policy.example.org',
          clientConfig: { url, caBundle: Buffer.from(webhook.certificate.cert).toString('base64') },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
          objectSelector: { matchLabels: { 'muster/run': run } },
          failurePolicy: 'Fail',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 5,
        },
      ],
    });
    try {
      await eventually('the API server knows of the webhook', 30_000, () =>
        kind === 'Mutating' ? gatedAProbe(run) : refusedAProbe(run),
      );
      await act();
    } finally {
      await kubernetes().admin.call('DELETE', `${hooks[kind]}/${name}`);
    }
  }

  /** A pod that is only tried: the webhook is asked of it too. */
  async function refusedAProbe(run: RunId): Promise<boolean> {
    return probe(run).then(
      () => false,
      (error: Error) => error.message.includes('policy.example.org'),
    );
  }

  async function gatedAProbe(run: RunId): Promise<boolean> {
    const { spec } = (await probe(run)) as { spec: { schedulingGates?: object[] } };
    return spec.schedulingGates !== undefined;
  }

  function probe(run: RunId): Promise<unknown> {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'probe-1', labels: { 'muster/run': run } },
      spec: { containers: [{ name: 'c', image: 'x' }] },
    };
    const path = `/api/v1/namespaces/${testNamespace}/pods?dryRun=All`;
    return kubernetes().admin.call('POST', path, pod);
  }

  it('F28: a 500 is not known, begins nothing, and is no word for good', async () => {
    const run = freshRun();
    // Nobody listens there.
    await withWebhook(run, `https://${kubernetes().network.host}:1/`, async () => {
      expect(await submit(subject, run, gang())).toEqual([{ outcome: 'unknown' }, { outcome: 'unknown' }]);
      expect(await bound(run)).toEqual([]);
    });
    await eventually('it is taken', 60_000, async () => {
      const answers = await submit(subject, run, gang());
      return answers.every(({ outcome }) => outcome === 'accepted');
    });
    expect(await bound(run)).toEqual(['r1', 'r2']);
  });

  it('F28: a 503 is not known either, and the run is taken when it is over', async () => {
    const run = freshRun();
    await withWebhook(run, `${webhook.url}busy`, async () => {
      const asked = webhook.asked();
      expect(await submit(subject, run, gang())).toEqual([{ outcome: 'unknown' }, { outcome: 'unknown' }]);
      expect(webhook.asked()).toBeGreaterThan(asked);
      expect(await bound(run)).toEqual([]);
    });
    await eventually('it is taken', 60_000, async () => {
      const answers = await submit(subject, run, gang());
      return answers.every(({ outcome }) => outcome === 'accepted');
    });
    expect(await bound(run)).toEqual(['r1', 'r2']);
  });

  it("F28: a webhook's denial of one pod refuses the run with its words, and no part of it begins", async () => {
    const run = freshRun();
    await withWebhook(run, webhook.url, async () => {
      for (const answer of await submit(subject, run, gang()))
        expect(answer).toMatchObject({
          outcome: 'refused',
          detail: expect.stringContaining('denied the request: rank 1 is not welcome'),
        });
    });
    await eventually(
      'nothing of it is left',
      30_000,
      async () => (await podsOf(kubernetes(), run)).length === 0,
    );
  });

  it.each([
    ['one pod', 'gate-1', 1],
    ['every pod', 'gate', 0],
  ])(
    'F28: a webhook that puts a gate on %s refuses the run whole, and no part of it begins',
    async (_, path, rank) => {
      const run = freshRun();
      const gate = async () => {
        for (const answer of await submit(subject, run, gang()))
          expect(answer).toMatchObject({
            outcome: 'refused',
            detail: expect.stringMatching(
              new RegExp(
                `lets task ${rank} be bound to no node: .*scheduling gate example.org/quota on its pod`,
              ),
            ),
          });
        expect(await bound(run)).toEqual([]);
      };
      await withWebhook(run, `${webhook.url}${path}`, gate, 'Mutating');
      await eventually(
        'nothing of it is left',
        30_000,
        async () => (await podsOf(kubernetes(), run)).length === 0,
      );
    },
  );

  it('F28: a token that is no longer good is not known, and the next one in its file is taken up', async () => {
    const file = join(kubernetes().dir, 'turning.token');
    writeFileSync(file, await makeAccount('turning'));
    const config = JSON.parse(kubernetes().kubeconfig('x')) as Kubeconfig;
    config.users[0]!.user = { tokenFile: file };
    const turning = kubernetesSubject(kubernetes(), ['r1'], { kubeconfig: JSON.stringify(config) });
    try {
      const before = freshRun();
      // Rights are known a moment after they were given.
      await eventually('its token is taken', 60_000, async () => {
        const [answer] = await submit(turning, before, { r1: [shellTask(0, '')] });
        return answer?.outcome === 'accepted';
      });
      // Tokens of an account that is gone are good no more; one of the same name is another.
      await kubernetes().admin.call('DELETE', `${accounts}/turning`);
      const run = freshRun();
      await eventually('its token is not taken', 60_000, async () => {
        const [answer] = await submit(turning, run, { r1: [shellTask(0, '')] });
        return answer?.outcome === 'unknown';
      });
      await expect(turning.driver.look(true)).rejects.toThrow(/Unauthorized/);
      writeFileSync(file, await makeAccount('turning'));
      await eventually('the next token is taken', 60_000, async () => {
        const [answer] = await submit(turning, run, { r1: [shellTask(0, '')] });
        return answer?.outcome === 'accepted';
      });
    } finally {
      await turning.close();
    }
  });

  async function makeAccount(name: string): Promise<string> {
    const { admin } = kubernetes();
    await admin.call('POST', accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name, namespace: testNamespace }],
    };
    // There already the second time.
    await admin
      .call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding)
      .catch(() => {});
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const answer = (await admin.call('POST', `${accounts}/${name}/token`, request)) as {
      status: { token: string };
    };
    return answer.status.token;
  }

  // Last: from here on the API server has another certificate.
  it('F28: an expired certificate is not trusted, and trusted again once it is renewed', async () => {
    const { dir, apiServer } = kubernetes();
    const file = join(dir, 'certificates', 'apiserver.crt');
    const serveWith = async ({ cert, key }: Certificate): Promise<void> => {
      await apiServer.end('SIGKILL');
      writeFileSync(file, cert);
      writeFileSync(join(dir, 'certificates', 'apiserver.key'), key);
      apiServer.start();
    };
    const valid = (...hours: [from: number, to: number]): Certificate =>
      certificateFor(
        ['kubernetes.default.svc'],
        kubernetes().network.host,
        hours.map((hour) => Date.now() + hour * hourMs) as [number, number],
      );
    // As kubectl has it: the authority's file is read anew for every connection.
    const config = JSON.parse(kubernetes().kubeconfig(kubernetes().adminToken)) as Kubeconfig;
    const cluster = config.clusters[0]!.cluster;
    delete cluster['certificate-authority-data'];
    cluster['certificate-authority'] = file;
    await serveWith(valid(-48, -24));
    const patient = kubernetesSubject(kubernetes(), ['r1'], { kubeconfig: JSON.stringify(config) });
    try {
      const run = freshRun();
      await eventually('it says so', 90_000, () =>
        patient.driver.look(true).then(
          () => false,
          (error: Error) => error.message.includes('certificate has expired'),
        ),
      );
      expect(await submit(patient, run, { r1: [shellTask(0, '')] })).toEqual([{ outcome: 'unknown' }]);
      await serveWith(valid(-1, 24));
      await eventually('it is taken', 90_000, async () => {
        const [answer] = await submit(patient, run, { r1: [shellTask(0, '')] });
        return answer?.outcome === 'accepted';
      });
      expect(await patient.driver.find(patient.node, run)).toMatchObject([{ rank: 0, state: 'accepted' }]);
    } finally {
      await patient.close();
    }
  });
});

interface Kubeconfig {
  readonly clusters: { readonly cluster: Record<string, string> }[];
  readonly users: { user: object }[];
}

interface Webhook {
  readonly server: Server;
  readonly url: string;
  readonly certificate: Certificate;
  /** How often it was. */
  asked(): number;
}

const gate = Buffer.from(
  JSON.stringify([{ op: 'add', path: '/spec/schedulingGates', value: [{ name: 'example.org/quota' }] }]),
).toString('base64');

/** Denies pods whose name ends in -1, at `gate-1` puts a gate on them, and at `gate` on every pod; at `busy` every pod, as a service that is overloaded: the API server says 503 then. */
async function startWebhook(host: string): Promise<Webhook> {
  const certificate = certificateFor([], host, [Date.now() - hourMs, Date.now() + 24 * hourMs]);
  let asked = 0;
  const server = createServer(certificate, async (request, response) => {
    let text = '';
    for await (const piece of request) text += String(piece);
    const { uid, name } = (JSON.parse(text) as { request: { uid: string; name: string } }).request;
    asked++;
    const allowed = !name.endsWith('-1');
    const denial = { uid, allowed, status: { message: 'rank 1 is not welcome' } };
    const busy = { uid, allowed: false, status: { code: 503, message: 'come again later' } };
    const [path = ''] = (request.url ?? '').slice(1).split('?');
    const meant = path === 'gate' || name.endsWith('-1');
    const gated = { uid, allowed: true, ...(meant ? { patchType: 'JSONPatch', patch: gate } : {}) };
    const answer = path === 'busy' ? busy : path.startsWith('gate') ? gated : denial;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { server, url: `https://${host}:${port}/`, certificate, asked: () => asked };
}
