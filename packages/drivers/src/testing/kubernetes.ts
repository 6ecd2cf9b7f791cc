// A real Kubernetes for one test file: etcd and kube-apiserver, and controllers where a test asks for them. Everything lies in one
// temporary directory and is ended by id, also when the run is interrupted. Nodes that run real containers are added by
// kubernetes-node.ts; a test that needs none plays their kubelets.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessOf, createKubeClient, type KubeClient } from '../kubernetes/index.ts';
import { clusterDirectory } from './cluster-directory.ts';
import { componentPaths, systemPath } from './components.ts';
import { type Daemon, StartedDaemon } from './daemon.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { endProcessesOf } from './leftovers.ts';
import { freeNetwork, type TestNetwork } from './network.ts';

export interface TestKubernetes {
  readonly dir: string;
  readonly network: TestNetwork;
  readonly server: string;
  readonly etcd: Daemon;
  readonly etcdUrl: string;
  readonly apiServer: Daemon;
  /** As somebody who may do everything. */
  readonly admin: KubeClient;
  /** The text of a kubeconfig for whoever has this token; of another address where it is reached through a proxy. */
  kubeconfig(token: string, server?: string): string;
  readonly adminToken: string;
  /** The API server answers and is ready. */
  ready(): Promise<void>;
  /** A second one on the same etcd, as a cluster with several has it. */
  anotherApiServer(): Promise<{ readonly server: string; readonly daemon: Daemon }>;
  daemon(name: string, program: string, ...args: string[]): StartedDaemon;
  /** Called when everything is stopped, last first. */
  onStop(undo: () => void): void;
  stop(): Promise<void>;
}

/** Of the namespace that the tests work in. */
export const testNamespace = 'muster';

export async function startKubernetes(): Promise<TestKubernetes> {
  const home = await clusterDirectory('kubernetes');
  const { dir } = home;
  const undo: (() => void)[] = [];
  const daemons: StartedDaemon[] = [];
  const env = { PATH: systemPath, HOME: dir };
  const takeAway = (): void => {
    for (const act of undo.splice(0).reverse()) act();
    endProcessesOf(dir);
  };
  const atExit = (): void => {
    for (const one of daemons) one.signal('SIGKILL');
    takeAway();
  };
  process.once('exit', atExit);
  const network = await freeNetwork();
  undo.push(() => network.remove());
  const daemon = (name: string, program: string, ...args: string[]): StartedDaemon => {
    const one = new StartedDaemon(name, program, args, env, dir);
    daemons.push(one);
    return one;
  };
  const adminToken = randomBytes(16).toString('hex');
  const port = await freePort();
  const server = `https://${network.host}:${port}`;
  const etcd = await etcdIn(dir, daemon);
  const keys = writeKeys(dir, adminToken);
  const apiServerAt = (name: string, at: number): StartedDaemon =>
    daemon(name, componentPaths.apiServer, ...apiServerArgs(dir, keys, etcd.url, network.host, at));
  const apiServer = apiServerAt('kube-apiserver', port);
  const kubeconfig = (token: string, at = server): string => {
    const ca = readFileSync(join(dir, 'certificates', 'apiserver.crt')).toString('base64');
    return kubeconfigText(at, ca, token);
  };
  let client: KubeClient | null = null;
  const admin: KubeClient = {
    call: (...args) => connected().call(...args),
    stream: (...args) => connected().stream(...args),
    close: () => client?.close(),
  };
  function connected(): KubeClient {
    client ??= createKubeClient(accessOf(kubeconfig(adminToken), dir));
    return client;
  }
  const kubernetes: TestKubernetes = {
    dir,
    network,
    server,
    etcd: etcd.daemon,
    etcdUrl: etcd.url,
    apiServer,
    admin,
    kubeconfig,
    adminToken,
    ready: () =>
      eventually(`Kubernetes is ready (logs in ${dir})`, 90_000, () =>
        isReady(admin).catch((error: unknown) => {
          // Its certificate may have been read while it was being written.
          client?.close();
          client = null;
          throw error;
        }),
      ).then(() => {}),
    async anotherApiServer() {
      const another = await freePort();
      const at = `https://${network.host}:${another}`;
      const started = apiServerAt('another-kube-apiserver', another);
      started.start();
      const asked = createKubeClient(accessOf(kubeconfig(adminToken, at), dir));
      try {
        await eventually(`another API server is ready (logs in ${dir})`, 90_000, () => isReady(asked));
      } finally {
        asked.close();
      }
      return { server: at, daemon: started };
    },
    daemon,
    onStop: (act) => {
      undo.push(act);
    },
    async stop() {
      process.removeListener('exit', atExit);
      client?.close();
      for (const one of daemons.toReversed()) await one.end('SIGKILL');
      takeAway();
      home.remove();
    },
  };
  try {
    etcd.daemon.start();
    apiServer.start();
    await kubernetes.ready();
    await begin(kubernetes);
    return kubernetes;
  } catch (error) {
    await kubernetes.stop();
    throw error;
  }
}

/** Not before it knows everybody's rights. */
async function isReady(client: KubeClient): Promise<boolean> {
  for await (const text of await client.stream('/readyz', AbortSignal.timeout(5000)))
    return String(text) === 'ok';
  return false;
}

type MakeDaemon = TestKubernetes['daemon'];

async function etcdIn(
  dir: string,
  daemon: MakeDaemon,
): Promise<{ readonly url: string; readonly daemon: StartedDaemon }> {
  const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
  const args = [
    `--data-dir=${dir}/etcd`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    // A test's cluster need not outlive its machine.
    '--unsafe-no-fsync',
  ];
  return { url: client as string, daemon: daemon('etcd', componentPaths.etcd, ...args) };
}

interface ApiServerKeys {
  readonly signing: string;
  readonly checking: string;
  readonly tokens: string;
}

function writeKeys(dir: string, adminToken: string): ApiServerKeys {
  mkdirSync(join(dir, 'certificates'));
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const file = (name: string, content: string): string => {
    writeFileSync(join(dir, name), content, { mode: 0o600 });
    return join(dir, name);
  };
  return {
    signing: file('accounts.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
    checking: file('accounts.pub', publicKey.export({ type: 'spki', format: 'pem' }).toString()),
    tokens: file('tokens.csv', `${adminToken},admin,admin,"system:masters"\n`),
  };
}

function apiServerArgs(
  dir: string,
  { signing, checking, tokens }: ApiServerKeys,
  etcdUrl: string,
  host: string,
  port: number,
): string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${host}`,
    `--advertise-address=${host}`,
    `--secure-port=${port}`,
    `--cert-dir=${dir}/certificates`,
    `--token-auth-file=${tokens}`,
    '--authorization-mode=RBAC',
    `--service-account-signing-key-file=${signing}`,
    `--service-account-key-file=${checking}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--kubelet-preferred-address-types=InternalIP',
    // Nodes that a test plays are never without this taint otherwise.
    '--disable-admission-plugins=TaintNodesByCondition',
    '--request-timeout=20s',
  ];
}

async function begin({ dir, admin, adminToken, kubeconfig }: TestKubernetes): Promise<void> {
  writeFileSync(join(dir, 'kubeconfig'), kubeconfig(adminToken), { mode: 0o600 });
  const named = (kind: string, name: string): object => ({ apiVersion: 'v1', kind, metadata: { name } });
  await admin.call('POST', '/api/v1/namespaces', named('Namespace', testNamespace));
  // Pods are refused in a namespace without its account, which a controller makes elsewhere.
  for (const namespace of ['default', testNamespace])
    await admin.call(
      'POST',
      `/api/v1/namespaces/${namespace}/serviceaccounts`,
      named('ServiceAccount', 'default'),
    );
}

/** The controllers that a test's cluster needs for more than pods: names of services, and what goes when its owner goes. */
export function startControllers({ dir, daemon }: TestKubernetes): void {
  const controllers = ['endpointslice-controller', 'garbage-collector-controller', 'namespace-controller'];
  daemon(
    'kube-controller-manager',
    componentPaths.controllerManager,
    `--kubeconfig=${dir}/kubeconfig`,
    '--leader-elect=false',
    '--secure-port=0',
    `--controllers=${controllers.join(',')}`,
  ).start();
}

function kubeconfigText(server: string, ca: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      {
        name: 'test',
        cluster: { server, 'certificate-authority-data': ca, 'tls-server-name': 'kubernetes.default.svc' },
      },
    ],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: testNamespace } }],
  });
}
