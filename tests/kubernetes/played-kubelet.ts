// Nodes that exist only in the API server, and the word of their kubelets, said by a test at the moment it chooses. What a real
// kubelet does is tested on real ones (containers.test.ts).
import { type TestKubernetes, testNamespace } from '@muster/drivers/testing';
import type { RunId } from '@muster/model';

export const pods = `/api/v1/namespaces/${testNamespace}/pods`;
export const podPath = (run: RunId, rank = 0): string => `${pods}/${run.replaceAll('_', '-')}-${rank}`;

export interface PodObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
  readonly spec: { readonly nodeName?: string; readonly activeDeadlineSeconds?: number };
}

export async function addNodes({ admin }: TestKubernetes, ...names: string[]): Promise<void> {
  for (const name of names)
    await admin.call('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      status: {
        allocatable: { cpu: '8', memory: '8Gi', pods: '100', 'nvidia.com/gpu': '8' },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
}

export async function podsOf({ admin }: TestKubernetes, run: RunId): Promise<PodObject[]> {
  const query = `labelSelector=${encodeURIComponent(`muster/run=${run}`)}`;
  return ((await admin.call('GET', `${pods}?${query}`)) as { items: PodObject[] }).items;
}

/** As the node controller does when it has not heard of a kubelet for a while. */
export const sayUnheardOf = ({ admin }: TestKubernetes, node: string): Promise<unknown> =>
  admin.call('PATCH', `/api/v1/nodes/${node}/status`, {
    status: { conditions: [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] },
  });

export const sayRunning = (kubernetes: TestKubernetes, run: RunId): Promise<unknown> =>
  say(kubernetes, run, 'Running', { running: { startedAt: '2026-01-01T00:00:00Z' } });

export const sayOver = (kubernetes: TestKubernetes, run: RunId, exitCode = 0): Promise<unknown> => {
  const times = { startedAt: '2026-01-01T00:00:00Z', finishedAt: nextSecond() };
  return say(kubernetes, run, exitCode === 0 ? 'Succeeded' : 'Failed', {
    terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', ...times },
  });
};

/** Kubernetes tells times by the second. */
function nextSecond(): string {
  return new Date(Math.ceil(Date.now() / 1000) * 1000).toISOString();
}

function say({ admin }: TestKubernetes, run: RunId, phase: string, state: object): Promise<unknown> {
  const container = { name: 'task', image: 'x', imageID: 'x', restartCount: 0, ready: false, state };
  return admin.call('PATCH', `${podPath(run)}/status`, { status: { phase, containerStatuses: [container] } });
}
