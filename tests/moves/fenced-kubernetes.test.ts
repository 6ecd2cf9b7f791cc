// A Kubernetes is lost with its API server and its kubelet while a pod lives on, and the store of its checkpoints refuses older attempts:
// it asks Muster about every write, from inside the pod, with the token of the run. The job goes on elsewhere at once; the old attempt is
// refused by its token; and what is left of it is found by its key and stopped when the cluster is back.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kubernetesMissing, startKubernetes, type TestKubernetes } from '@muster/drivers/testing';
import type { JobId } from '@muster/model';
import { expect, it } from 'vitest';
import { type GuidedSystem, startGuided } from '../harness/guide.ts';
import { startNode, type TestNode } from '../harness/kubernetes-node.ts';
import { testImage } from '../harness/oci-image.ts';
import { onStarted } from '../harness/on-started.ts';
import { eventually } from '../harness/processes.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';

const withinMs = 180_000;
const testTimeoutMs = 600_000;

/**
 * Saves a step only where Muster takes the report of it, and writes down what it was refused; it goes on all the same. A server that is
 * not reached is asked again about the same step.
 */
const counting = `
umask 0
cd "$MUSTER_CHECKPOINT_DIR" || exit 1
ask() {
  busybox wget -q -O - --header "Authorization: Bearer $MUSTER_RUN_TOKEN" --header 'Content-Type: application/json' "$@" 2>&1
}
own=$(ask "$MUSTER_SERVER_URL/v1/runs/self") || { echo "$own"; exit 1; }
echo "$own" > "self-$MUSTER_ATTEMPT"
step=0
[ ! -e saved ] || while read -r attempt last; do step=$last; done < saved
echo "$MUSTER_ATTEMPT $step" >> begun
until [ -e finish ]; do
  echo "$MUSTER_ATTEMPT $((step + 1))" >> counted
  if said=$(ask --post-data "{\\"step\\": $((step + 1))}" "$MUSTER_SERVER_URL/v1/runs/self/checkpoint"); then
    step=$((step + 1))
    echo "$MUSTER_ATTEMPT $step" >> saved
  else
    case $said in *' 401 '*) echo "$MUSTER_ATTEMPT $step" >> refused ;; esac
  fi
  sleep 0.3
done`;

interface Cut {
  readonly kubernetes: TestKubernetes;
  readonly kubelet: TestNode['kubelet'];
  readonly system: GuidedSystem;
  readonly checkpoints: string;
  stop(): Promise<void>;
}

async function start(): Promise<Cut> {
  const ends: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ends.reverse()) await end();
  };
  try {
    const kubernetes = await startKubernetes();
    ends.push(() => kubernetes.stop());
    const checkpoints = join(kubernetes.dir, 'checkpoints');
    mkdirSync(checkpoints);
    chmodSync(checkpoints, 0o711);
    const { kubelet } = await startNode(kubernetes, 'n1');
    const system = await startGuided({ text: '', commands: [] }, [
      { name: 'h1', cluster: 'home', cpus: 4, memory: '2GiB', checkpoints },
    ]);
    ends.push(() => system.close());
    // The server listens on this machine alone; pods see its address on their network.
    const { hostname, port } = new URL(system.client.url);
    const proxy = await startTcpProxy(hostname, Number(port), kubernetes.network.host);
    ends.push(() => proxy.close());
    await system.client.clusters.add('west', {
      kind: 'kubernetes',
      kubeconfig: join(kubernetes.dir, 'kubeconfig'),
      image: testImage,
      imagePullPolicy: 'Never',
      checkpoints: { path: checkpoints },
      serverUrl: `http://${kubernetes.network.host}:${proxy.port}`,
      lostAfter: '10s',
      fencedCheckpoints: true,
    });
    await eventually(`n1 takes work (logs in ${system.dir})`, withinMs, async () => {
      return (await system.client.clusters.get('west')).nodes.open === 1;
    });
    return { kubernetes, kubelet, system, checkpoints, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

onStarted('a Kubernetes whose checkpoints are fenced', kubernetesMissing(['containers']), start, (cut) => {
  const lines = (job: JobId, name: string): number[][] => {
    try {
      return readFileSync(join(cut().checkpoints, job, name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(' ').map(Number));
    } catch {
      return [];
    }
  };
  const by = (job: JobId, name: string, attempt: number): number[] =>
    lines(job, name).flatMap(([who, step = 0]) => (who === attempt ? [step] : []));
  /** What Muster took of both, in order. */
  const reports = async (job: JobId): Promise<{ readonly run: string; readonly step: number }[]> => {
    const { items } = await cut().system.client.events.list({ job, limit: 1000 });
    return items.flatMap(({ kind, body }) =>
      kind === 'run.checkpointed' ? (body as { run: string; step: number }) : [],
    );
  };

  it(
    'reports from its pod, goes on elsewhere when it is lost, and the old attempt is refused by its token and stopped',
    async () => {
      const { kubernetes, kubelet, system, checkpoints } = cut();
      const { client } = system;
      await client.nodes.drain('h1', 'it begins in west');
      const job = await system.submit({
        command: ['sh', '-c', counting],
        resources: { cpus: 0.1, memory: '32MiB' },
        stop: { grace: '2s' },
        checkpoint: { fenced: true },
      });
      await eventually(
        `it has saved (logs in ${system.dir})`,
        withinMs,
        () => by(job, 'saved', 1).length > 2,
      );
      const [first] = (await client.jobs.get(job)).runs;
      expect(first?.tasks[0]?.nodeName).toBe('west-n1');
      const own = JSON.parse(readFileSync(join(checkpoints, job, 'self-1'), 'utf8')) as object;
      expect(own).toMatchObject({ run: first?.id, job, attempt: 1 });
      const told = (await client.events.list({ job })).items.filter(
        ({ kind }) => kind === 'run.checkpointed',
      );
      expect(told[0]).toMatchObject({ body: { run: first?.id, step: 1 } });
      await client.nodes.undrain('h1');

      // Nobody answers for it, and its container lives on.
      await kubernetes.apiServer.end('SIGKILL');
      await kubelet.end('SIGKILL');
      await eventually(`it goes on elsewhere (logs in ${system.dir})`, withinMs, async () => {
        const { state, attempt, runs } = await client.jobs.get(job);
        const run = runs.find((one) => one.attempt === 2);
        return state === 'running' && attempt === 2 && run?.tasks[0]?.nodeName === 'h1';
      });
      expect((await client.clusters.get('west')).state).toBe('lost');
      await eventually('the newer attempt saves', withinMs, () => by(job, 'saved', 2).length > 2);
      await eventually('the old one lives, and is refused', withinMs, () => by(job, 'refused', 1).length > 2);
      expect((await client.jobs.get(job)).runs.find(({ attempt }) => attempt === 1)?.result).toMatchObject({
        class: 'infrastructure',
        reason: { code: 'fenced' },
      });

      kubernetes.apiServer.start();
      await eventually(`the leftover is stopped (logs in ${system.dir})`, withinMs, async () => {
        // One that does not find its API server gives up.
        if (!kubelet.isRunning()) kubelet.start();
        const name = first?.id.replaceAll('_', '-');
        const path = `/api/v1/namespaces/muster/pods/${name}-0`;
        const { status } = (await kubernetes.admin.call('GET', path)) as { status: { phase: string } };
        if (status.phase !== 'Failed') throw new Error(`its pod is ${status.phase}`);
        return true;
      });
      const counted = by(job, 'counted', 1).length;
      const saved = by(job, 'saved', 2).length;
      await eventually('the newer one goes on', withinMs, () => by(job, 'saved', 2).length > saved + 3);
      expect(by(job, 'counted', 1)).toHaveLength(counted);
      writeFileSync(join(checkpoints, job, 'finish'), '');
      expect((await system.ended(job, withinMs)).result).toEqual({ outcome: 'succeeded' });
      expect((await client.jobs.get(job)).attempt).toBe(2);

      // Of the old attempt nothing was taken behind the new one, which began where that had saved last.
      const taken = (await reports(job)).map(({ run }) => run);
      expect(new Set(taken)).toEqual(new Set([first?.id, `${first?.id.slice(0, -1)}2`]));
      expect(taken).toEqual(taken.toSorted());
      expect(by(job, 'begun', 2)[0]).toBeGreaterThan(2);
      expect(by(job, 'refused', 2)).toEqual([]);
    },
    testTimeoutMs,
  );
});
