// A cluster is cut off while its jobs live, and its operator said that its checkpoints refuse older attempts: what writes only there goes
// on elsewhere at once, without anybody's word; what the old attempt still writes is refused; and what is left of it is stopped when the
// cluster is back. A job that does not say that it writes nowhere else waits for proof.
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { slurmMissing, startSlurm, type TestSlurm } from '@muster/drivers/testing';
import type { JobId } from '@muster/model';
import { expect, it } from 'vitest';
import { type GuidedSystem, startGuided } from '../harness/guide.ts';
import { onStarted } from '../harness/on-started.ts';
import { eventually } from '../harness/processes.ts';
import { allOpen } from '../harness/slurm-system.ts';

const withinMs = 180_000;
const testTimeoutMs = 600_000;
/** Saved every so many steps. */
const stepsBetween = 5;
const store = join(import.meta.dirname, '../../docs/guide/examples/fenced-checkpoint.sh');

/**
 * Counts in steps, saves every fifth, and writes down what it was refused. It goes on all the same, as a program that nobody wrote for
 * this might: only the store stands between it and the newer attempt.
 */
const counting = `
umask 0
cd "$MUSTER_CHECKPOINT_DIR"
from=$(sh "$STORE" begin) || exit 1
step=0
[ -z "$from" ] || read -r step < "$from"
echo "$MUSTER_ATTEMPT $step" >> begun
until [ -e finish ]; do
  step=$((step + 1))
  echo "$MUSTER_ATTEMPT $step" >> counted
  if [ $((step % ${stepsBetween})) = 0 ]; then
    echo "$step" > "writing-$MUSTER_ATTEMPT/step-$step"
    sh "$STORE" save "writing-$MUSTER_ATTEMPT/step-$step" || echo "$MUSTER_ATTEMPT $step" >> refused
  fi
  sleep 0.2
done`;
const command = ['sh', '-c', `mkdir -p -m 777 "$MUSTER_CHECKPOINT_DIR/writing-$MUSTER_ATTEMPT"${counting}`];

interface Cut {
  readonly slurm: TestSlurm;
  readonly system: GuidedSystem;
  readonly checkpoints: string;
  stop(): Promise<void>;
}

async function start(): Promise<Cut> {
  const slurm = await startSlurm();
  try {
    const checkpoints = join(slurm.shared, 'checkpoints');
    mkdirSync(checkpoints, { recursive: true });
    chmodSync(checkpoints, 0o711);
    const system = await startGuided({ text: '', commands: [] }, [
      { name: 'h1', cluster: 'home', cpus: 8, memory: '4GiB', checkpoints },
    ]);
    const stop = async (): Promise<void> => {
      await system.close();
      await slurm.stop();
    };
    await system.client.clusters.add('alpha', {
      kind: 'slurm',
      directory: join(slurm.shared, 'muster'),
      conf: slurm.env.SLURM_CONF as string,
      checkpoints,
      lostAfter: '20s',
      fencedCheckpoints: true,
    });
    await allOpen(system, slurm);
    return { slurm, system, checkpoints, stop };
  } catch (error) {
    await slurm.stop();
    throw error;
  }
}

onStarted('a cluster whose checkpoints are fenced', slurmMissing(), start, (cut) => {
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
  /** What each attempt has saved, in steps. */
  const saved = (job: JobId): { readonly attempt: number; readonly step: number }[] =>
    readdirSync(join(cut().checkpoints, job))
      .flatMap((file) => {
        const [, attempt, step] = /^(\d+)-step-(\d+)$/.exec(file) ?? [];
        return step === undefined ? [] : [{ attempt: Number(attempt), step: Number(step) }];
      })
      .sort((a, b) => a.step - b.step || a.attempt - b.attempt);

  it(
    'goes on elsewhere at once, and the old attempt neither writes nor lives on',
    async () => {
      const { slurm, system } = cut();
      const { client } = system;
      await client.nodes.drain('h1', 'it begins in alpha');
      const submit = (name: string, checkpoint: object): Promise<JobId> =>
        system.submit({
          name,
          command,
          env: { STORE: store },
          resources: { cpus: 0.1, memory: '16MiB' },
          stop: { grace: '2s' },
          checkpoint,
        });
      const fenced = await submit('fenced', { fenced: true });
      const waits = await submit('waits', {});
      for (const job of [fenced, waits])
        await eventually(`${job} has saved (logs in ${system.dir})`, withinMs, () => saved(job).length > 1);
      await client.nodes.undrain('h1');

      // Cut off: nobody answers for it, and its machines live. It ends in peace, because a controller that is killed may forget a job
      // that it has just taken, and this is about jobs that live.
      await slurm.controller.end('SIGTERM');
      await eventually(`the job goes on elsewhere (logs in ${system.dir})`, withinMs, async () => {
        const { state, attempt, runs } = await client.jobs.get(fenced);
        const run = runs.find((one) => one.attempt === 2);
        return state === 'running' && attempt === 2 && run?.tasks[0]?.nodeName === 'h1';
      });
      expect((await client.clusters.get('alpha')).state).toBe('lost');
      await eventually('the newer attempt saves', withinMs, () =>
        saved(fenced).some(({ attempt }) => attempt === 2),
      );
      // The old one lives, counts on, and is refused.
      const refusedOnce = await eventually(
        `the old attempt is refused (logs in ${system.dir})`,
        withinMs,
        () => {
          const refused = lines(fenced, 'refused');
          return refused.length > 1 ? refused : null;
        },
      );
      expect(new Set(refusedOnce.map(([attempt]) => attempt))).toEqual(new Set([1]));
      const { runs } = await client.jobs.get(fenced);
      expect(runs.find((run) => run.attempt === 1)?.result).toMatchObject({
        class: 'infrastructure',
        reason: { code: 'fenced' },
      });
      // What does not say that it writes only there waits, and says what is missing.
      const { text } = await client.jobs.why(waits);
      expect(text).toContain('cluster alpha must answer');
      expect(text).toContain('checkpoint.fenced');
      expect((await client.jobs.get(waits)).attempt).toBe(1);

      slurm.controller.start();
      await slurm.ready();
      await eventually(`what was left in alpha is stopped (logs in ${system.dir})`, withinMs, async () => {
        const listed = (await slurm.command('squeue', '--noheader', '--format=%j %T')).trim();
        const running = (job: JobId): boolean => listed.includes(`run_${job.slice('job_'.length)}_1 RUNNING`);
        if (running(fenced) || !running(waits)) throw new Error(`Slurm lists: ${listed}`);
        return true;
      });
      await eventually(`the other is heard of again (logs in ${system.dir})`, withinMs, async () => {
        return !(await client.jobs.why(waits)).text.includes('must answer');
      });
      // From here on there is one of each.
      const counted = lines(fenced, 'counted').length;
      await eventually('it goes on', withinMs, () => lines(fenced, 'counted').length > counted + 3);
      expect(
        new Set(
          lines(fenced, 'counted')
            .slice(counted)
            .map(([attempt]) => attempt),
        ),
      ).toEqual(new Set([2]));
      for (const job of [fenced, waits]) writeFileSync(join(cut().checkpoints, job, 'finish'), '');
      for (const job of [fenced, waits])
        expect((await system.ended(job, withinMs)).result, job).toEqual({ outcome: 'succeeded' });
      expect((await client.jobs.get(fenced)).attempt).toBe(2);
      expect((await client.jobs.get(waits)).attempt).toBe(1);

      // Each step was saved once, in order, by one attempt behind the other; and the second began where the first had saved last.
      const all = saved(fenced);
      expect(all.map(({ step }) => step)).toEqual(all.map((_, i) => (i + 1) * stepsBetween));
      expect(all.map(({ attempt }) => attempt)).toEqual(all.map(({ attempt }) => attempt).toSorted());
      const [, second] = lines(fenced, 'begun');
      expect(second).toEqual([2, all.findLast(({ attempt }) => attempt === 1)?.step]);
    },
    testTimeoutMs,
  );
});
