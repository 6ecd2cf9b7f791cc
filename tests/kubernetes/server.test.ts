// What people do with a Kubernetes that is connected to a server: the whole real system, with real containers.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectIdle } from '../faults/proof.ts';
import { startNode } from '../harness/kubernetes-node.ts';
import { checkpointsIn, startKubernetesSystem } from '../harness/kubernetes-system.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually } from '../harness/processes.ts';
import type { TestSystem } from '../harness/system.ts';

const withinMs = 90_000;

onKubernetes('a server with a Kubernetes', ['containers'], (kubernetes) => {
  let system: TestSystem;
  beforeAll(async () => {
    await startNode(kubernetes(), 'n1');
    system = await startKubernetesSystem(kubernetes(), 1);
  });
  afterAll(() => system?.close());

  const text = async (job: Parameters<TestSystem['ended']>[0], rank: number): Promise<string> =>
    Buffer.from((await system.client.jobs.logs(job, { rank })).data).toString();

  it('tells how a job failed, and what it wrote', async () => {
    const job = await system.submit({ command: ['sh', '-c', 'echo about to fail; exit 3'] });
    expect((await system.ended(job, withinMs)).result).toMatchObject({
      outcome: 'failed',
      class: 'user',
      code: 3,
    });
    expect(await text(job, 0)).toBe('about to fail\n');
  });

  it('gives a job a directory for its checkpoints', async () => {
    const job = await system.submit({ command: ['sh', '-c', 'echo 7 > "$MUSTER_CHECKPOINT_DIR/step"'] });
    expect((await system.ended(job, withinMs)).result).toEqual({ outcome: 'succeeded' });
    expect(readFileSync(join(checkpointsIn(kubernetes()), job, 'step'), 'utf8')).toBe('7\n');
  });

  it('stops what is cancelled with its signal, and gives its room back', async () => {
    const trap = 'trap "echo saved; exit 0" TERM; while :; do sleep 0.1; done';
    const job = await system.submit({ command: ['sh', '-c', trap] });
    await system.inState(job, 'running', withinMs);
    await system.client.jobs.cancel(job);
    expect((await system.ended(job, withinMs)).result).toMatchObject({ outcome: 'cancelled' });
    expect(await text(job, 0)).toBe('saved\n');
    await expectIdle(system);
  });

  it('keeps work off a node that is cordoned, and lets it back', async () => {
    const cordon = (unschedulable: boolean) =>
      kubernetes().admin.call('PATCH', '/api/v1/nodes/n1', { spec: { unschedulable } });
    const drain = async () => (await system.client.nodes.get('west-n1')).drain;
    await cordon(true);
    await eventually('n1 is drained', withinMs, async () => (await drain())?.reason.includes('cordoned'));
    await cordon(false);
    await eventually('n1 takes work again', withinMs, async () => (await drain()) === null);
  });

  it('adopts what runs when the server is killed', async () => {
    const job = await system.submit({ command: ['sleep', '8'] });
    await system.inState(job, 'running', withinMs);
    const server = system.server('server');
    await server.end('SIGKILL');
    await system.startServer('server', Number(new URL(system.client.url).port));
    const detail = await system.ended(job, withinMs);
    expect(detail.result).toEqual({ outcome: 'succeeded' });
    expect(detail.runs).toHaveLength(1);
  });
});
