// What people do with a Slurm that is connected to a server: the whole real system, driven by the program itself.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ClusterTestView, ClusterView, JobId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectIdle, provenJob } from '../faults/proof.ts';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';
import { startSlurmSystem } from '../harness/slurm-system.ts';
import type { TestSystem } from '../harness/system.ts';

const withinMs = 90_000;
const run = promisify(execFile);
const launcher = join(import.meta.dirname, '../../packages/muster/bin/muster.js');

onSlurm('a server with a Slurm', (slurm) => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSlurmSystem(slurm());
  });
  afterAll(() => system?.close());

  async function muster(...args: string[]): Promise<{ readonly code: number; readonly output: string }> {
    const env = {
      ...process.env,
      NO_COLOR: '1',
      MUSTER_SERVER: system.client.url,
      MUSTER_TOKEN: system.adminToken,
    };
    try {
      const { stdout, stderr } = await run(process.execPath, [launcher, ...args], { env });
      return { code: 0, output: `${stdout}${stderr}` };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, output: `${stdout}${stderr}` };
    }
  }

  it('runs a gang by "muster run", whole nodes of it, and shows what each task wrote', async () => {
    const script = 'echo "rank $MUSTER_RANK of $WORLD_SIZE on $SLURMD_NODENAME at $MASTER_ADDR"; echo $GPUS';
    const { code, output } = await muster(
      'run',
      '--name',
      'gang',
      '--tasks',
      '2',
      '--gpus',
      'H100:4',
      '--',
      'sh',
      '-c',
      script,
    );
    expect(output).toMatch(/rank 0 of 2 on n\d at 127\.0\.0\.1/);
    expect(output).toMatch(/rank 1 of 2 on n\d at 127\.0\.0\.1/);
    expect(code).toBe(0);
    const { output: logs } = await muster('logs', 'gang', '--rank', '1');
    expect(logs).toMatch(/^rank 1 of 2/);
    const id = await runOf('gang');
    const listed = ['--states=all', '--noheader', '--format=%D %T', '--name', id];
    // Slurm knows of the end a moment after the tasks have told theirs.
    await eventually('it was one job on two nodes', withinMs, async () => {
      return (await slurm().command('squeue', ...listed)).trim() === '2 COMPLETED';
    });
  });

  const runOf = async (name: string): Promise<string> => {
    const [job] = (await system.client.jobs.list({ name })).items;
    return (await system.store.runs(job!.id)).at(-1)!.id;
  };

  it('runs unlike groups together, and gives the job a directory for its checkpoints', async () => {
    const save = ['sh', '-c', 'touch "$MUSTER_CHECKPOINT_DIR/$MUSTER_GROUP-$MUSTER_RANK"'];
    const job = await system.submit({
      groups: [
        { name: 'trainer', tasks: 3, command: save, resources: { accelerators: { count: 2 } } },
        { name: 'loader', tasks: 1, command: save, resources: { cpus: 3 } },
      ],
    });
    expect((await system.ended(job, withinMs)).result).toEqual({ outcome: 'succeeded' });
    const saved = readdirSync(join(slurm().shared, 'checkpoints', job));
    expect(saved.toSorted()).toEqual(['loader-3', 'trainer-0', 'trainer-1', 'trainer-2']);
  });

  it('tells a job where it finds the server and with which token, so that it reports its checkpoints by HTTP', async () => {
    const { serverUrl } = await system.client.clusters.get('alpha');
    expect(serverUrl).toBe(system.client.url);
    const report = `
      const { MUSTER_SERVER_URL: url, MUSTER_RUN_TOKEN: token } = process.env;
      const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' };
      const own = await (await fetch(url + '/v1/runs/self', { headers })).json();
      if (own.run !== process.env.MUSTER_RUN_ID || String(own.attempt) !== process.env.MUSTER_ATTEMPT) process.exit(3);
      const body = JSON.stringify({ step: 7 });
      const { status } = await fetch(url + '/v1/runs/self/checkpoint', { method: 'POST', headers, body });
      process.exit(status === 204 ? 0 : 4);`;
    const job = await system.submit({ command: [process.execPath, '--input-type=module', '-e', report] });
    expect((await system.ended(job, withinMs)).result).toEqual({ outcome: 'succeeded' });
    const told = (await system.client.events.list({ job })).items.filter(
      ({ kind }) => kind === 'run.checkpointed',
    );
    expect(told).toMatchObject([{ body: { step: 7 } }]);
  });

  it('changes the configuration under a run, which goes on, and says what may not change now', async () => {
    const waits = 'until [ -e "$MUSTER_CHECKPOINT_DIR/finish" ]; do sleep 0.1; done';
    const job = await system.submit({ command: ['sh', '-c', waits] });
    await system.inState(job, 'running', withinMs);
    const refused = await muster(
      'clusters',
      'set',
      'alpha',
      '--directory',
      join(slurm().shared, 'other'),
      '--untested',
    );
    expect(refused).toMatchObject({
      code: 1,
      output: expect.stringContaining('directory of cluster alpha may not change while runs are on it'),
    });
    const said = await muster('clusters', 'set', 'alpha', '--region', 'south');
    expect(said, said.output).toMatchObject({ code: 0 });
    await eventually('its nodes tell the new region, and take work', withinMs, async () => {
      const { items } = await system.client.nodes.list({ cluster: 'alpha' });
      return items.every(({ labels, state }) => labels.region === 'south' && state === 'ready');
    });
    expect(await system.client.jobs.get(job)).toMatchObject({ state: 'running', attempt: 1 });
    expect((await muster('score', job)).output).toMatch(/It is running since .*, attempt 1 on alpha-n\d\./);
    writeFileSync(join(slurm().shared, 'checkpoints', job, 'finish'), '');
    expect((await system.ended(job, withinMs)).result).toEqual({ outcome: 'succeeded' });
    expect((await system.client.jobs.get(job)).attempt).toBe(1);
  });

  it("adds no cluster in a directory that is another's, by whatever path, and says whose it is and what to do", async () => {
    const elsewhere = join(slurm().shared, 'elsewhere');
    mkdirSync(elsewhere, { mode: 0o700 });
    const owner = { installation: 'theirs', cluster: 'west', server: 'https://there.example' };
    writeFileSync(join(elsewhere, 'owner'), JSON.stringify(owner));
    const link = join(slurm().shared, 'link');
    symlinkSync(join(slurm().shared, 'muster'), link);
    const flags = ['--kind', 'slurm', '--conf', slurm().env.SLURM_CONF as string, '--directory'];
    for (const [directory, whose] of [
      [elsewhere, 'another Muster: cluster west of the server at https://there.example'],
      [link, 'cluster alpha,'],
    ] as const) {
      const { code, output } = await muster('clusters', 'add', 'beta', ...flags, directory);
      expect(output).toContain(`the directory ${directory} holds the runs of ${whose}`);
      expect(output).toContain('choose another one, or, once that cluster is removed there, empty this one');
      expect(output).toContain('nothing was added');
      expect(code).toBe(1);
    }
    const tested = await muster('clusters', 'test', ...flags, elsewhere);
    expect(tested.output).toContain('another Muster: cluster west');
    expect(readdirSync(elsewhere)).toEqual(['owner']);
  });

  it('gives the exit code of the program', async () => {
    const { code, output } = await muster('run', '--', 'sh', '-c', 'echo about to fail; exit 3');
    expect(output).toContain('about to fail');
    expect(output).toContain('exited with code 3');
    expect(code).toBe(3);
  });

  it('stops what is cancelled with its signal, and gives its devices back', async () => {
    const trap = 'trap "echo saved; exit 0" TERM; while :; do sleep 0.1; done';
    const job = await system.submit(provenJob(system, trap, { resources: { accelerators: { count: 4 } } }));
    await system.inState(job, 'running', withinMs);
    await system.client.jobs.cancel(job);
    expect((await system.ended(job, withinMs)).result).toMatchObject({ outcome: 'cancelled' });
    const { data } = await system.client.jobs.logs(job);
    expect(Buffer.from(data).toString()).toContain('saved');
    await expectIdle(system);
  });

  it('shows a cluster, its nodes and what it can, and drains it', async () => {
    const { output } = await muster('clusters');
    expect(output).toMatch(/alpha +slurm +connected +4\/4/);
    const shown = JSON.parse((await muster('clusters', 'show', 'alpha', '-o', 'json')).output) as ClusterView;
    expect(shown).toMatchObject({ state: 'connected', nodes: { total: 4, open: 4 }, devices: { total: 16 } });
    const tested = JSON.parse(
      (await muster('clusters', 'test', 'alpha', '-o', 'json')).output,
    ) as ClusterTestView;
    expect(tested).toMatchObject({ answered: true, settled: true });
    expect(tested.nodes[0]).toMatchObject({ name: 'n1', closed: null, devices: { H100: 4 } });
    expect(tested.nodes[0]?.labels).toMatchObject({ 'switch-0': 'leaf1', 'feature-ib': 'yes' });
    // All jobs run as the account of the server.
    expect((await muster('nodes', 'alpha-n1')).output).toContain('no isolation between users');
    await muster('clusters', 'drain', 'alpha', '--reason', 'new switch');
    const job = await system.submit({ command: ['true'] });
    const why = await eventually('it waits for the drain', withinMs, async () => {
      const { output: text } = await muster('why', job);
      return text.includes('drain') ? text : null;
    });
    expect(why).toContain('drain');
    await muster('clusters', 'undrain', 'alpha');
    expect((await system.ended(job, withinMs)).result).toEqual({ outcome: 'succeeded' });
  });

  it('keeps work off a node that Slurm drained, and lets it back', async () => {
    const drainOf = async () => (await system.client.nodes.get('alpha-n4')).drain;
    await slurm().command('scontrol', 'update', 'nodename=n4', 'state=drain', 'reason=fan');
    await eventually('n4 is drained', withinMs, async () => (await drainOf())?.reason.includes('fan'));
    expect(await drainOf()).toMatchObject({ by: 'cluster alpha' });
    await slurm().command('scontrol', 'update', 'nodename=n4', 'state=resume');
    await eventually('n4 is back', withinMs, async () => (await drainOf()) === null);
  });

  it('sells nothing of what other people hold in Slurm', async () => {
    const has = async () => {
      const { cpuMilli, devices } = await system.client.nodes.get('alpha-n4');
      return `${cpuMilli / 1000} cores, ${devices.length} devices`;
    };
    const wants = ['--nodelist=n4', '--gres=gpu:3', '--cpus-per-task=6', '--mem=100', '--output=/dev/null'];
    const id = (await slurm().command('sbatch', '--parsable', ...wants, '--wrap', 'sleep 600')).trim();
    await eventually('less is there', withinMs, async () => (await has()) === '2 cores, 1 devices');
    await slurm().command('scancel', id);
    await eventually('all is there again', withinMs, async () => (await has()) === '8 cores, 4 devices');
  });

  /** Jobs of ours that wait in Slurm: they were sold room that is not there. */
  const waitingInSlurm = async (): Promise<string> =>
    (await slurm().command('squeue', '--noheader', '--states=PENDING', '--format=%j %r')).trim();
  const inStates = async (jobs: readonly JobId[]): Promise<string> => {
    const states = await Promise.all(jobs.map(async (job) => (await system.client.jobs.get(job)).state));
    return [...Map.groupBy(states, (state) => state)]
      .map(([state, all]) => `${all.length} ${state}`)
      .sort()
      .join();
  };

  it('sells cores whole: what asks for half a one takes one, and the rest waits here and not in Slurm', async () => {
    const jobs: JobId[] = [];
    for (let i = 0; i < 34; i++)
      jobs.push(
        await system.submit({ command: ['sleep', '600'], resources: { cpus: 0.5, memory: '16MiB' } }),
      );
    await eventually('four nodes of eight cores are full', withinMs, async () => {
      return (await inStates(jobs)) === '2 queued,32 running';
    });
    expect(await waitingInSlurm()).toBe('');
    for (const job of jobs) await system.client.jobs.cancel(job);
    for (const job of jobs) await system.ended(job, withinMs);
  });

  it('sells no device of others, wherever in the list ours hold theirs', async () => {
    const on = (cpus = 1) => ({
      command: ['sleep', '600'],
      resources: { cpus, memory: '16MiB', accelerators: { model: 'H100', count: 1 } },
      constraints: [{ label: 'node', in: ['alpha-n4'] }],
    });
    const ours: JobId[] = [];
    for (let i = 0; i < 4; i++) ours.push(await system.submit(on()));
    await eventually('all devices are ours', withinMs, async () => (await inStates(ours)) === '4 running');
    // Whose place is the last stays.
    const places = await Promise.all(
      ours.map(async (job) => (await system.client.jobs.get(job)).runs[0]?.tasks[0]?.devices[0] ?? -1),
    );
    const last = ours[places.indexOf(3)]!;
    for (const job of ours.filter((one) => one !== last)) {
      await system.client.jobs.cancel(job);
      await system.ended(job, withinMs);
    }
    const wants = ['--nodelist=n4', '--gres=gpu:2', '--mem=10', '--output=/dev/null'];
    const id = (await slurm().command('sbatch', '--parsable', ...wants, '--wrap', 'sleep 600')).trim();
    const others = async (): Promise<number> =>
      (await system.client.nodes.get('alpha-n4')).devices.filter(({ kind }) => kind === 'taken').length;
    await eventually('two are others', withinMs, async () => (await others()) === 2);
    const more = [await system.submit(on()), await system.submit(on())];
    await eventually('one has room', withinMs, async () => (await inStates(more)) === '1 queued,1 running');
    expect(await waitingInSlurm()).toBe('');
    await slurm().command('scancel', id);
    await eventually('so has the other', withinMs, async () => (await inStates(more)) === '2 running');
    for (const job of [last, ...more]) await system.client.jobs.cancel(job);
    for (const job of [last, ...more]) await system.ended(job, withinMs);
  });

  it('refuses to be removed while it holds work, and takes its nodes along', async () => {
    const job = await system.submit({ command: ['sleep', '600'] });
    await system.inState(job, 'running', withinMs);
    expect(await muster('clusters', 'remove', 'alpha')).toMatchObject({
      code: 1,
      output: expect.stringContaining('still holds work'),
    });
    await system.client.jobs.cancel(job);
    await system.ended(job, withinMs);
    expect((await muster('clusters', 'remove', 'alpha')).code).toBe(0);
    expect((await system.client.nodes.list({ cluster: 'alpha' })).items).toEqual([]);
  });
});
