// Slurm over ssh: the same driver, with its commands and its directory behind a real sshd on loopback. What every driver must do, and
// what only a way that can be cut brings: it is cut, and the one who answers is not the one who is meant.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { driverConformance } from '@muster/drivers/conformance';
import { type SshLines, sshLines } from '@muster/drivers/slurm';
import { sshMissing, startSshServer, type TestSshServer } from '@muster/drivers/testing';
import { type JobId, runId, type SlurmConfig } from '@muster/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectAttemptsOnce, expectIdle, proofs, provenJob } from '../faults/proof.ts';
import { onSlurm } from '../harness/on-slurm.ts';
import { onStarted } from '../harness/on-started.ts';
import { eventually } from '../harness/processes.ts';
import { accepted, ended, shellTask, submit } from '../harness/runs.ts';
import { slurmSubject } from '../harness/slurm-subject.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';

const withinMs = 120_000;

onSlurm('Slurm over ssh', (slurm) => {
  onStarted('through a real sshd', sshMissing(), startSshServer, (sshd) => {
    const settings = (one: TestSshServer): NonNullable<SlurmConfig['ssh']> => ({
      host: '127.0.0.1',
      user: 'root',
      port: one.port,
      key: one.key,
      knownHosts: one.knownHosts,
    });
    let over: SshLines;
    beforeAll(() => {
      over = sshLines(settings(sshd()));
    });
    afterAll(() => over?.close());

    it('hands what users write on as data, and runs a gang', async () => {
      const subject = slurmSubject(slurm(), { over });
      // A key that the conformance suite does not use.
      const run = runId('job_999999999999999999' as JobId, 1);
      const words = ['$(touch trap)', "'; touch trap; '", '`touch trap`', '--help', 'a\nb', '', '\\', '%h'];
      const task = (rank: number) => ({
        ...shellTask(rank, ''),
        command: ['printf', '[%s]', ...words],
        env: { X: words.join(' ') },
      });
      expect(await submit(subject, run, { n1: [task(0)], n2: [task(1)] })).toEqual([accepted, accepted]);
      expect(await ended(subject, run, 2)).toEqual([{ ok: true }, { ok: true }]);
      const asked = { node: subject.node, run, rank: 1, offset: 0, maxBytes: 10_000, waitMs: 10_000 };
      const { data } = await subject.driver.output(asked);
      expect(Buffer.from(data).toString()).toBe(words.map((word) => `[${word}]`).join(''));
      await subject.close();
    });

    driverConformance('slurm over ssh', async () => slurmSubject(slurm(), { over }), {
      leased: false,
      // Every look is a dozen calls of ssh.
      withinMs: 150_000,
    });

    describe('behind a server', () => {
      let system: TestSystem;
      beforeAll(async () => {
        system = await startSystem([{ name: 'server', port: await freePort() }]);
      });
      afterAll(() => system?.close());

      const config = (more: object = {}) => ({
        kind: 'slurm' as const,
        directory: join(slurm().shared, 'muster'),
        conf: slurm().env.SLURM_CONF as string,
        ssh: { ...settings(sshd()), ...more },
      });

      it('is not connected where the key of the host is not the known one, and says so', async () => {
        const known = join(sshd().dir, 'strangers');
        writeFileSync(known, '');
        const tested = await system.client.clusters.testConfig(config({ knownHosts: known }));
        expect(tested).toMatchObject({ answered: false, error: expect.stringMatching(/host key/i) });
        rmSync(known);
      });

      it('runs jobs, which go on while the way is cut and are told once it is there again', async () => {
        await system.client.clusters.add('alpha', config());
        await eventually('the nodes of alpha take work', withinMs, async () => {
          return (await system.client.clusters.get('alpha')).nodes.open === slurm().nodes.length;
        });
        const job = await system.submit(provenJob(system, 'sleep 3; echo written'));
        await eventually('it begins', withinMs, () => proofs(system).some((proof) => proof.job === job));
        // Nobody new is let in, and who is in is thrown out.
        const sessions = sshd().sessions();
        await sshd().daemon.end('SIGKILL');
        for (const pid of sessions) endIfThere(pid);
        await eventually('it ends on its node', withinMs, () =>
          proofs(system).some(({ word }) => word === 'end'),
        );
        await eventually('the silence is noticed', withinMs, async () => {
          const { reason, state } = await system.client.clusters.get('alpha');
          return state === 'degraded' && /ssh/.test(reason ?? '');
        });
        sshd().daemon.start();
        await sshd().ready();
        expect((await system.ended(job, withinMs)).result).toEqual({ outcome: 'succeeded' });
        const { data } = await system.client.jobs.logs(job);
        expect(Buffer.from(data).toString()).toBe('written\n');
        expect((await system.store.runs(job)).length).toBe(1);
        expectAttemptsOnce(system);
        await expectIdle(system);
      });
    });
  });
});

function endIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}
