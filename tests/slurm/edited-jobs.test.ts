// Row F30 of the fault matrix on a real Slurm: jobs that an outside hand edits while they run. What was ours stays ours: it is not taken
// for gone, it can be stopped, its end is told, and nobody starts it again.

import type { RunId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';
import { accepted, cancel, ended, freshRun, shellTask, started, submit } from '../harness/runs.ts';
import { type SlurmSubject, slurmSubject } from '../harness/slurm-subject.ts';

onSlurm('a Slurm whose jobs others edit (F30)', (slurm) => {
  let subject: SlurmSubject;
  beforeAll(async () => {
    subject = slurmSubject(slurm());
    // From here on what is not listed is over.
    await eventually('what it lists is settled', 60_000, async () => (await subject.driver.look()).settled);
  });
  afterAll(() => subject.close());

  async function begun(script: string): Promise<{ run: RunId; id: string }> {
    const run = freshRun();
    expect(await submit(subject, run, { n1: [shellTask(0, script)] })).toEqual([accepted]);
    await started(subject, run);
    const id = await slurm().command('squeue', '--noheader', `--name=${run}`, '--format=%i');
    return { run, id: id.trim() };
  }
  const edit = (id: string, ...changes: string[]): Promise<string> =>
    slurm().command('scontrol', 'update', `job=${id}`, ...changes);
  const report = async (run: RunId) => (await subject.driver.look()).reports.find((one) => one.run === run);
  const used = async (): Promise<number> => (await subject.driver.look()).taken.get('n1')?.cpus ?? 0;

  it.each(['name=mine', 'comment=mine'])(
    'knows a job whose %s was given by somebody else',
    async (change) => {
      const { run, id } = await begun('sleep 600');
      await edit(id, change);
      expect(await report(run)).toMatchObject({ state: 'running', exit: null });
      // It is not somebody else's use either.
      expect(await used()).toBe(0);
      // Nor is it started again where its row is handed out once more.
      expect(await submit(subject, run, { n1: [shellTask(0, 'echo twice')] })).toEqual([accepted]);
      expect(await cancel(subject, run)).toEqual(accepted);
      expect(await ended(subject, run)).toMatchObject([{ class: 'cancelled', reason: { message: 'asked' } }]);
      expect(subject.observed().filter((item) => item.run === run && item.kind === 'started')).toHaveLength(
        1,
      );
    },
  );

  it('does not take a job for gone that has neither mark any more, and tells its end by its script', async () => {
    const { run, id } = await begun('trap "exit 3" USR2; while :; do sleep 0.1; done');
    await edit(id, 'name=mine', 'comment=mine');
    for (let i = 0; i < 3; i++) expect(await report(run)).toMatchObject({ state: 'running', exit: null });
    await slurm().command('scancel', '--signal=USR2', id);
    expect(await ended(subject, run)).toMatchObject([{ class: 'user', code: 3 }]);
  });

  it('tells a time limit that somebody else set as what it is', async () => {
    const { run, id } = await begun('exec sleep 600');
    await edit(id, 'TimeLimit=0:01');
    expect(await ended(subject, run, 1, 150_000)).toMatchObject([{ ok: false, class: 'timeout' }]);
  });
});
