// The Slurm driver on a real Slurm: gangs, what users write, other people's jobs, and hands from outside.
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';
import { accepted, cancel, ended, freshRun, shellTask, started, submit } from '../harness/runs.ts';
import { type SlurmSubject, slurmSubject } from '../harness/slurm-subject.ts';

onSlurm('the Slurm driver', (slurm) => {
  let subject: SlurmSubject;
  beforeAll(() => {
    subject = slurmSubject(slurm());
  });
  afterAll(() => subject.close());

  const outputOf = async (run: RunId, rank: number): Promise<string> => {
    const asked = { node: subject.node, run, rank, offset: 0, maxBytes: 10_000, waitMs: 10_000 };
    return Buffer.from((await subject.driver.output(asked)).data).toString();
  };

  /** Those jobs of these keys that wait or run. */
  const listed = (...runs: RunId[]): Promise<string> =>
    slurm().command('squeue', '--noheader', `--name=${runs.join(',')}`, '--states=PENDING,RUNNING');

  it('runs a gang on two nodes as one job, each task on its node with devices of its own', async () => {
    const run = freshRun();
    const task = (rank: number) =>
      shellTask(rank, 'echo $RANK $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES', {
        env: { RANK: String(rank) },
        devices: [2 * (rank % 2), 2 * (rank % 2) + 1],
      });
    const gang = { n2: [task(0), task(1)], n3: [task(2), task(3)] };
    expect(await submit(subject, run, gang)).toEqual([accepted, accepted]);
    expect(await ended(subject, run, 4)).toEqual(Array(4).fill({ ok: true }));
    const told = await Promise.all([0, 1, 2, 3].map((rank) => outputOf(run, rank)));
    expect(told.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      '0 n2',
      '1 n2',
      '2 n3',
      '3 n3',
    ]);
    for (const pair of [told.slice(0, 2), told.slice(2)])
      expect(pair.map((line) => line.trim().split(' ')[2]).toSorted()).toEqual(['0,1', '2,3']);
    const jobs = await slurm().command(
      'squeue',
      '--noheader',
      '--states=all',
      `--name=${run}`,
      '--format=%i',
    );
    expect(jobs.trim().split('\n')).toHaveLength(1);
  });

  it('runs unlike tasks, unequally many on its nodes, as one heterogeneous job, and stops all of it', async () => {
    const run = freshRun();
    const say = 'echo $SLURMD_NODENAME; trap "" TERM; sleep 600 & wait; wait';
    const big = { cpuMilli: 4000, devices: [2, 3] };
    const gang = {
      n2: [shellTask(0, say, { devices: [0] }), shellTask(1, say, { devices: [1] }), shellTask(2, say, big)],
      n3: [shellTask(3, say, { devices: [0] })],
    };
    expect(await submit(subject, run, gang)).toEqual([accepted, accepted]);
    await eventually('all began', 60_000, () => {
      return subject.observed().filter((item) => item.kind === 'started' && item.run === run).length === 4;
    });
    const told = await Promise.all([0, 1, 2, 3].map((rank) => outputOf(run, rank)));
    expect(told).toEqual(['n2\n', 'n2\n', 'n2\n', 'n3\n']);
    const ids = await slurm().command('squeue', '--noheader', `--name=${run}`, '--format=%i');
    expect(ids.trim().split('\n')).toHaveLength(2);
    await cancel(subject, run);
    expect(await ended(subject, run, 4)).toMatchObject(Array(4).fill({ ok: false, class: 'cancelled' }));
    await eventually('Slurm has none of it', 60_000, async () => (await listed(run)) === '');
  });

  it('asks the first process of every task to save its work, tells what was saved, and then stops them', async () => {
    const run = freshRun();
    // Its child has no handler: a signal to all processes would end it.
    const save =
      'echo "{\\"step\\": 7}" > "$MUSTER_STATUS_FILE.new" && mv "$MUSTER_STATUS_FILE.new" "$MUSTER_STATUS_FILE"';
    const script = `exec 2> /dev/null; sleep 600 & kid=$!; trap 'kill -0 $kid && echo asked; ${save}' USR1; trap 'echo stopped; exit 0' TERM; echo ready; while :; do sleep 0.1; done`;
    const gang = { n2: [shellTask(0, script), shellTask(1, script)], n3: [shellTask(2, script)] };
    await submit(subject, run, gang);
    await eventually('all are ready', 60_000, async () => {
      return (
        (await Promise.all([0, 1, 2].map((rank) => outputOf(run, rank)))).join('') === 'ready\n'.repeat(3)
      );
    });
    const stop = { run, reason: 'moved', class: 'preemption', signal: 'TERM', graceMs: 10_000 } as const;
    const target = { outbox: 1, epoch: 1, node: subject.nodeOf('n2') };
    const ask = { signal: 'USR1', waitMs: 3_600_000 } as const;
    expect(await subject.driver.stop(target, { ...stop, ask })).toEqual(accepted);
    const saved = await eventually('all have saved', 60_000, () => {
      const words = subject.observed().filter((item) => item.kind === 'checkpoint' && item.run === run);
      return words.length === 3 ? words : null;
    });
    expect(saved).toMatchObject(Array(3).fill({ step: 7, path: null }));
    expect(await subject.driver.stop(target, stop)).toEqual(accepted);
    expect(await ended(subject, run, 3)).toMatchObject(Array(3).fill({ ok: false, class: 'preemption' }));
    for (const rank of [0, 1, 2]) expect(await outputOf(run, rank)).toBe('ready\nasked\nstopped\n');
  });

  it('keeps the first and the last of an output that is longer than its limit, while it is written and after', async () => {
    const run = freshRun();
    const wall = 'head -c 8000000 /dev/zero | tr "\\0" x';
    const [more, done] = [join(slurm().dir, 'more'), join(slurm().dir, 'done')];
    const until = (file: string) => `until [ -e ${file} ]; do sleep 0.1; done`;
    const script = `echo first; ${wall}; echo middle; ${until(more)}; ${wall}; echo last; ${until(done)}`;
    // The driver's own: 1 MiB.
    await submit(subject, run, { n1: [shellTask(0, script)], n2: [shellTask(1, 'echo short')] });
    const read = (offset: number, rank = 0) => {
      const asked = { node: subject.node, run, rank, offset, maxBytes: 4 * 1024 * 1024, waitMs: 0 };
      return subject.driver.output(asked);
    };
    const file = join(slurm().shared, 'runs', run, 'output-0');
    const kept = () => statSync(file, { throwIfNoEntry: false });
    await eventually('what is in between is dropped while it runs', 60_000, () => {
      const { size = 0, blocks = 0 } = kept() ?? {};
      return size === 8_000_013 && blocks * 512 < 1_100_000;
    });
    expect(Buffer.from((await read(0)).data).toString()).toMatch(/^first\nx+$/);
    expect((await read(0)).data.length).toBe(524_288);
    const tail = await read(524_288);
    expect(tail).toMatchObject({ offset: 8_000_013 - 393_216, size: 8_000_013, end: false });
    expect(Buffer.from(tail.data).toString()).toMatch(/^x+middle\n$/);
    writeFileSync(more, '');
    writeFileSync(done, '');
    expect(await ended(subject, run, 2)).toEqual([{ ok: true }, { ok: true }]);
    // Of a job that is over nothing more is dropped or written.
    const over = await read(600_000);
    expect(over).toMatchObject({ offset: 16_000_018 - 393_216, size: 16_000_018, end: true });
    expect(Buffer.from(over.data).toString()).toMatch(/^x+last\n$/);
    expect(await outputOf(run, 1)).toBe('short\n');
  });

  it('submits no part of a gang that did not come whole', async () => {
    const run = freshRun();
    const late = submit(subject, run, { n1: [shellTask(0, 'true')] }, { nodes: 2 });
    expect(await late).toEqual([{ outcome: 'unknown' }]);
    expect(await subject.driver.find(subject.node, run)).toEqual([]);
  });

  it('hands what users write on as data', async () => {
    const run = freshRun();
    const trap = join(slurm().dir, 'trap');
    const words = [
      '$(touch trap)',
      "'; touch trap; '",
      '`touch trap`',
      '#SBATCH --hold',
      '--help',
      'a\nb',
      '',
      '\\',
    ].map((word) => word.replaceAll('touch trap', `touch ${trap}`));
    const task = {
      ...shellTask(0, ''),
      command: ['printf', '[%s]', ...words, '$X'],
      env: { X: words.join(' ') },
    };
    await submit(subject, run, { n1: [task] });
    expect(await ended(subject, run)).toEqual([{ ok: true }]);
    expect(await outputOf(run, 0)).toBe([...words, '$X'].map((word) => `[${word}]`).join(''));
    expect(existsSync(trap)).toBe(false);
  });

  it('sees nodes, devices and what other people hold of them', async () => {
    const other = ['--nodelist=n4', '--gres=gpu:3', '--cpus-per-task=2', '--mem=100', '--output=/dev/null'];
    const id = (await slurm().command('sbatch', '--parsable', ...other, '--wrap', 'sleep 600')).trim();
    const taken = await eventually('it is seen', 60_000, async () =>
      (await subject.driver.look()).taken.get('n4'),
    );
    expect(taken).toEqual({ cpus: 2, memoryMib: 100, devices: new Map([['h100', 3]]) });
    const { nodes, switches } = await subject.driver.look();
    expect(nodes.map(({ name, gres, usable }) => [name, gres, usable])).toEqual(
      ['n1', 'n2', 'n3', 'n4'].map((name) => [name, 'gpu:h100:4', true]),
    );
    expect([...switches].map(([name, above]) => [name, above.get(0), above.get(1)])).toEqual([
      ['n1', 'leaf1', 'spine'],
      ['n2', 'leaf1', 'spine'],
      ['n3', 'leaf2', 'spine'],
      ['n4', 'leaf2', 'spine'],
    ]);
    await slurm().command('scancel', id);
  });

  it('refuses what Slurm will never take, and nothing of it ever runs', async () => {
    const run = freshRun();
    const [answer] = await submit(subject, run, { n1: [shellTask(0, 'true', { memoryMib: 1_000_000 })] });
    expect(answer).toMatchObject({
      outcome: 'refused',
      detail: expect.stringMatching(/not available|satisfied/i),
    });
    const alive = (await subject.driver.find(subject.node, run))?.filter(({ state }) => state !== 'ended');
    expect(alive).toEqual([]);
  });

  it('stops what waits in the queue, and what is sent afterwards', async () => {
    const waits = freshRun();
    const blocker = freshRun();
    const whole = { cpuMilli: 8000 };
    await submit(subject, blocker, { n1: [shellTask(0, 'sleep 600', whole)] });
    await started(subject, blocker);
    await submit(subject, waits, { n1: [shellTask(0, 'echo never', whole)] });
    expect(await cancel(subject, waits)).toEqual(accepted);
    expect(await ended(subject, waits)).toMatchObject([{ ok: false, class: 'cancelled' }]);
    expect(await submit(subject, waits, { n2: [shellTask(0, 'echo never')] })).toEqual([accepted]);
    expect(await cancel(subject, blocker)).toEqual(accepted);
    expect(await ended(subject, blocker)).toMatchObject([{ ok: false, class: 'cancelled' }]);
    await eventually('Slurm has neither', 60_000, async () => (await listed(waits, blocker)) === '');
  });

  it('gives back a run that Slurm keeps waiting, which then never begins', async () => {
    const [blocker, waits] = [freshRun(), freshRun()];
    const whole = { cpuMilli: 8000 };
    await submit(subject, blocker, { n1: [shellTask(0, 'sleep 600', whole)] });
    await started(subject, blocker);
    await submit(subject, waits, { n1: [shellTask(0, 'echo never', whole)] });
    const impatient = slurmSubject(slurm(), { waitMaxS: 1 });
    expect(await ended(subject, waits)).toMatchObject([
      {
        class: 'infrastructure',
        reason: { code: 'never-started', message: expect.stringContaining('Slurm kept it waiting') },
      },
    ]);
    await impatient.close();
    await cancel(subject, blocker);
    await eventually('Slurm has neither', 60_000, async () => (await listed(waits, blocker)) === '');
    expect(await outputOf(waits, 0)).toBe('');
  });

  it('F30: leaves a job waiting that somebody holds in Slurm, and runs it once they let it go', async () => {
    const [blocker, held] = [freshRun(), freshRun()];
    const whole = { cpuMilli: 8000 };
    await submit(subject, blocker, { n3: [shellTask(0, 'sleep 600', whole)] });
    await started(subject, blocker);
    await submit(subject, held, { n3: [shellTask(0, 'echo let go', whole)] });
    const state = async (format: string) =>
      (await slurm().command('squeue', '--noheader', `--name=${held}`, `--format=${format}`)).trim();
    await slurm().command('scontrol', 'hold', await state('%i'));
    const impatient = slurmSubject(slurm(), { waitMaxS: 1 });
    await cancel(subject, blocker);
    expect(await ended(subject, blocker)).toMatchObject([{ class: 'cancelled' }]);
    // Its nodes have room, and it is older than what may wait; somebody has looked since.
    const looked = await eventually('it has waited for long', 60_000, async () => {
      const { overdue } = await impatient.driver.look();
      return Date.now() / 1000 - (await submittedAt(held)) > 5 ? overdue : null;
    });
    expect(looked.has(held)).toBe(false);
    expect(await state('%T %r')).toMatch(/^PENDING JobHeld/);
    await impatient.close();
    await slurm().command('scontrol', 'release', await state('%i'));
    expect(await ended(subject, held)).toEqual([{ ok: true }]);
    expect(await outputOf(held, 0)).toBe('let go\n');
  });

  /** Both clocks are this machine's. */
  const submittedAt = async (run: RunId): Promise<number> => {
    const text = await slurm().command('squeue', '--noheader', `--name=${run}`, '--format=%V');
    return Date.parse(text.trim()) / 1000;
  };

  it('takes a hand from outside for what it is, and Slurm does not start the job again', async () => {
    const [byHand, lost] = [freshRun(), freshRun()];
    await submit(subject, byHand, { n1: [shellTask(0, 'sleep 600')] });
    await submit(subject, lost, { n2: [shellTask(0, 'sleep 600')] });
    await started(subject, byHand);
    await started(subject, lost);
    await slurm().command('scancel', `--name=${byHand}`);
    await slurm().command('scontrol', 'update', 'NodeName=n2', 'State=DOWN', 'Reason=test');
    expect(await ended(subject, byHand)).toMatchObject([
      { ok: false, class: 'cancelled', reason: { code: 'cancelled-in-slurm' } },
    ]);
    expect(await ended(subject, lost)).toMatchObject([{ ok: false, class: 'infrastructure' }]);
    // The node registers again by itself; a job that Slurm puts back into its queue would start now.
    await slurm().ready();
    expect(await listed(lost)).toBe('');
  });
});
