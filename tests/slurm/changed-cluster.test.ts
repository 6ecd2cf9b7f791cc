// The rest of row F23 of the fault matrix through the whole server: somebody changes what Slurm is made of while jobs run there. A
// node gets another name, a partition is taken away: what ran there ends with a reason, and everything goes on with what there is.
import { join } from 'node:path';
import type { JobId, JobSpecInput } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectAttemptsOnce, expectIdle, proofs, provenJob } from '../faults/proof.ts';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';

const withinMs = 150_000;

onSlurm('a Slurm that is changed', (slurm) => {
  let system: TestSystem;
  beforeAll(async () => {
    slurm().reword((text) =>
      text.includes('PartitionName=main')
        ? `${text}PartitionName=extra Nodes=n1,n2,n3,n4 MaxTime=INFINITE State=UP\n`
        : text,
    );
    await restart();
    system = await startSystem([{ name: 'server', port: await freePort() }]);
    await system.client.clusters.add('alpha', {
      kind: 'slurm',
      directory: join(slurm().shared, 'muster'),
      conf: slurm().env.SLURM_CONF as string,
      partition: 'main',
      projects: { default: { partition: 'extra' } },
    });
    await openNodes('alpha-n1', 'alpha-n2', 'alpha-n3', 'alpha-n4');
  });
  afterAll(() => system?.close());

  async function restart(): Promise<void> {
    await slurm().controller.end('SIGTERM');
    slurm().controller.start();
    await slurm().ready();
  }

  const openNodes = (...names: string[]) =>
    eventually(`${names.join()} take work`, withinMs, async () => {
      await slurm().ready();
      const { items } = await system.client.nodes.list({ cluster: 'alpha' });
      const open = items.filter(({ state, drain }) => state === 'ready' && drain === null);
      return (
        open
          .map(({ name }) => name)
          .toSorted()
          .join() === names.join()
      );
    });

  /** The first attempt goes on for ever, the next ends by itself. */
  const begun = async (more: JobSpecInput): Promise<JobId> => {
    const job = await system.submit(provenJob(system, '[ "$MUSTER_ATTEMPT" = 2 ] || sleep 600', more));
    await eventually(`${job} begins`, withinMs, () => proofs(system).some((proof) => proof.job === job));
    return job;
  };

  it('F23: goes on under its new name with a node that was renamed; what ran on it is over, and tried again', async () => {
    const job = await begun({ constraints: [{ label: 'node', in: ['alpha-n4', 'alpha-n9'] }] });
    slurm().reword((text) => text.replaceAll(/\bn4\b/g, 'n9'));
    await slurm().slurmd.get('n4')?.end('SIGKILL');
    await slurm().controller.end('SIGTERM');
    slurm().startSlurmd('n9');
    slurm().controller.start();
    expect((await system.ended(job, withinMs)).result).toEqual({ outcome: 'succeeded' });
    const [first, second] = await system.store.runs(job);
    expect(first?.state).toMatchObject({ result: { class: 'infrastructure' } });
    expect(second?.tasks[0]?.nodeName).toBe('alpha-n9');
    await openNodes('alpha-n1', 'alpha-n2', 'alpha-n3', 'alpha-n9');
    const old = await system.client.nodes.get('alpha-n4');
    expect(old.drain?.reason).toBe('the cluster no longer lists it');
    expectAttemptsOnce(system);
    await expectIdle(system);
  });

  it('F23: says why of jobs whose partition was taken away, and nothing of them runs twice', async () => {
    const running = await begun({});
    slurm().reword((text) => text.replace(/^PartitionName=extra .*\n/m, ''));
    await restart();
    // What ran there is ended by Slurm; its next attempt is refused, as is every other job of the project.
    const { result } = await system.ended(running, withinMs);
    expect(result).toMatchObject({
      outcome: 'failed',
      reason: { message: expect.stringMatching(/partition/i) },
    });
    const next = await system.submit(provenJob(system, 'true'));
    expect((await system.ended(next, withinMs)).result).toMatchObject({
      outcome: 'failed',
      reason: { message: expect.stringMatching(/partition/i) },
    });
    expect(proofs(system).filter((proof) => proof.job === next)).toEqual([]);
    expect((await system.client.clusters.get('alpha')).state).toBe('connected');
    expectAttemptsOnce(system);
    await expectIdle(system);
  });
});
