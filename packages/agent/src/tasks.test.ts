// What tasks may do and how they end, with the control groups this machine allows and without any.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { StopCommand } from '@muster/model';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseDevices } from './discover/parse-devices.ts';
import { shell, startOf } from './testing/fake-server.ts';
import { until } from './testing/until.ts';
import { makeWorld, pidsOf, type World } from './testing/world.ts';

// Real processes on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.clean());

const isRoot = process.getuid?.() === 0;

async function connected(options: Parameters<World['agent']>[0] = {}) {
  await world.agent(options);
  await world.server.welcomed();
  return world.server;
}

function stopOf(run: StopCommand['run'], parts: Partial<StopCommand> = {}): StopCommand {
  return { run, reason: 'asked', class: 'cancelled', signal: 'TERM', graceMs: 300, ...parts };
}

describe.each([{ cgroups: true }, { cgroups: false }])(
  'a task, control groups wanted: $cgroups',
  ({ cgroups }) => {
    it('that ignores the signal is killed after the grace', async () => {
      const server = await connected({ cgroups });
      const start = startOf(shell('trap "" TERM; echo ready; while :; do sleep 0.05; done'));
      await server.start(start);
      await until('it is ready', async () => (await server.read(start.run)).size > 0);
      await server.stop(stopOf(start.run));
      expect(await server.ended(start.run)).toEqual({
        ok: false,
        class: 'cancelled',
        code: null,
        signal: 'SIGKILL',
        reason: { code: 'cancelled', message: 'asked' },
      });
    });

    it('gets the signal that was asked for and the time to obey it', async () => {
      const server = await connected({ cgroups });
      const start = startOf(
        shell('trap "echo saved; exit 7" USR2; echo ready; while :; do sleep 0.05; done'),
      );
      await server.start(start);
      await until('it is ready', async () => (await server.read(start.run)).size > 0);
      await server.stop(stopOf(start.run, { signal: 'USR2', graceMs: 20_000, class: 'preemption' }));
      expect(await server.ended(start.run)).toMatchObject({ class: 'preemption', code: 7 });
      expect(await server.output(start.run)).toContain('saved\n');
    });

    it('that turns into a daemon leaves nothing behind', async () => {
      const server = await connected({ cgroups });
      const start = startOf(
        shell('setsid sh -c "(sleep 1000 &) ; sleep 1000" >/dev/null 2>&1 & sleep 0.1; exit 0'),
      );
      await server.start(start);
      expect(await server.ended(start.run)).toEqual({ ok: true });
      expect(await pidsOf(`${start.run}.0`)).toEqual([]);
    });

    it('whose children keep its output open ends all the same, with what it printed', async () => {
      const server = await connected({ cgroups });
      const start = startOf(
        shell('echo first; setsid sleep 1000 & env -i setsid sh -c "sleep 2" & sleep 0.1; exit 2'),
      );
      await server.start(start);
      expect(await server.ended(start.run)).toMatchObject({ code: 2 });
      expect(await server.output(start.run)).toBe('first\n');
    });

    it('that leaves a stranger who goes on printing ends all the same', async () => {
      const server = await connected({ cgroups });
      const talk = 'while [ -d "$0" ]; do echo more; sleep 0.05; done';
      const start = startOf(
        shell(`env -i setsid sh -c '${talk}' "$MUSTER_SCRATCH" & echo first; sleep 0.1; exit 2`),
      );
      await server.start(start);
      expect(await server.ended(start.run)).toMatchObject({ code: 2 });
      expect(await server.output(start.run)).toMatch(/^first\n|^more\nfirst\n/);
    });

    it('that closes its output runs on and ends as it does', async () => {
      const server = await connected({ cgroups });
      const start = startOf(shell('echo bye; exec >&- 2>&-; sleep 0.2; exit 9'));
      await server.start(start);
      expect(await server.ended(start.run)).toMatchObject({ code: 9 });
      expect(await server.output(start.run)).toBe('bye\n');
    });

    it('that runs longer than its limit is stopped as timed out', async () => {
      const server = await connected({ cgroups });
      const start = startOf(['sleep', '1000'], { timeLimitMs: 300 });
      await server.start(start);
      expect(await server.ended(start.run)).toMatchObject({
        class: 'timeout',
        signal: 'SIGTERM',
        reason: { code: 'time-limit', message: 'time limit of 300ms reached' },
      });
    });

    it('that a signal killed says which', async () => {
      const server = await connected({ cgroups });
      const start = startOf(shell('kill -SEGV $$'));
      await server.start(start);
      expect(await server.ended(start.run)).toMatchObject({
        class: 'user',
        code: null,
        signal: 'SIGSEGV',
        reason: { code: 'signal', message: 'killed by SIGSEGV' },
      });
    });

    it('can open its own output by name', async () => {
      const server = await connected({ cgroups });
      const start = startOf(shell('echo a > /dev/stdout; echo b > /dev/stderr; echo c | tee /dev/stderr'));
      await server.start(start);
      expect(await server.ended(start.run)).toEqual({ ok: true });
      expect(await server.output(start.run)).toBe('a\nb\nc\nc\n');
    });

    it('that cannot be started says what is missing, as an error of the user', async () => {
      const server = await connected({ cgroups });
      const cases = [
        [startOf(['no-such-program']), 127, /there is no program "no-such-program" in the PATH/],
        [startOf(['/no/such/program']), 127, /there is no program "\/no\/such\/program"/],
        [startOf(['/etc/passwd']), 126, /"\/etc\/passwd" cannot be executed/],
        [
          startOf(['true'], {}, { workdir: '/no/such/dir' }),
          126,
          /the working directory "\/no\/such\/dir" does not exist/,
        ],
        [startOf(['true'], {}, { workdir: '/etc/passwd' }), 126, /"\/etc\/passwd" is not a directory/],
      ] as const;
      for (const [start, code, message] of cases) {
        await server.start(start);
        const exit = await server.ended(start.run);
        expect(exit).toMatchObject({ class: 'user', code });
        expect(exit.ok ? '' : exit.reason.message).toMatch(message);
      }
    });

    it('starts from a clean environment and a directory of its own', async () => {
      vi.stubEnv('AGENT_SECRET', 'hunter2');
      vi.stubEnv('TZ', 'UTC');
      const server = await connected({ cgroups });
      const env = { GREETING: "it's $HOME\n`here`", PATH: '/usr/bin:/bin', LD_LIBRARY_PATH: '/x' };
      const start = startOf(['env', '-0'], {}, { env });
      await server.start(start);
      expect(await server.ended(start.run)).toEqual({ ok: true });
      const seen = Object.fromEntries(
        (await server.output(start.run))
          .split('\0')
          .map((entry) => [entry.split('=')[0], entry.slice(entry.indexOf('=') + 1)]),
      );
      const scratch = join(world.dir, 'scratch', `${start.run}.0`);
      expect(seen).toMatchObject({
        ...env,
        TZ: 'UTC',
        CUDA_VISIBLE_DEVICES: '',
        NVIDIA_VISIBLE_DEVICES: '',
        MUSTER_TASK_KEY: `${start.run}.0`,
        MUSTER_SCRATCH: scratch,
        MUSTER_STATUS_FILE: join(scratch, '.muster-status'),
      });
      expect(Object.keys(seen)).not.toContain('AGENT_SECRET');
      if (isRoot) expect(seen).toMatchObject({ HOME: scratch, USER: 'nobody', PWD: scratch });
    });

    it('works in the directory it asks for', async () => {
      const server = await connected({ cgroups });
      const workdir = join(world.dir, 'scratch');
      const start = startOf(['pwd'], {}, { workdir });
      await server.start(start);
      await server.ended(start.run);
      expect(await server.output(start.run)).toBe(`${workdir}\n`);
    });

    it('keeps in its scratch directory what it wrote; an empty one goes', async () => {
      const server = await connected({ cgroups });
      const scratch = (run: string): string => join(world.dir, 'scratch', `${run}.0`);
      const [writer, idle] = [startOf(shell('echo x > kept; touch -d 2001-01-01 .')), startOf(['true'])];
      for (const start of [writer, idle]) await server.start(start);
      for (const start of [writer, idle]) await server.ended(start.run);
      expect(readFileSync(join(scratch(writer.run), 'kept'), 'utf8')).toBe('x\n');
      expect(existsSync(scratch(idle.run))).toBe(false);
      // It is kept from its end on, and not from when the task last made a file there.
      expect(statSync(scratch(writer.run)).mtimeMs).toBeGreaterThan(Date.parse('2020-01-01'));
    });
  },
);

describe('devices', () => {
  const declared = ['tpu=1:v5e', 'gpu=4:H100:80GiB'].flatMap((text) => {
    const parsed = parseDevices(text);
    return parsed.ok ? [parsed.value] : [];
  });

  it('that were declared are told in hello and shown to tasks by their number of the kind', async () => {
    const server = await connected({ devices: declared });
    const { inventory } = server.all('hello')[0]!;
    expect(
      inventory.devices.map(({ index, kind, model, memoryMib }) => [index, kind, model, memoryMib]),
    ).toEqual([[0, 'tpu', 'v5e', 0], ...[1, 2, 3, 4].map((index) => [index, 'gpu', 'H100', 81_920])]);
    const start = startOf(
      shell('echo "$CUDA_VISIBLE_DEVICES|$NVIDIA_VISIBLE_DEVICES"'),
      {},
      { devices: [0, 2, 4] },
    );
    await server.start(start);
    await server.ended(start.run);
    expect(await server.output(start.run)).toBe('1,3|1,3\n');
  });

  it('that the node does not have are refused', async () => {
    const server = await connected({ devices: declared });
    const done = await server.start(startOf(['true'], {}, { devices: [5] }));
    expect(done).toMatchObject({ outcome: 'refused', detail: expect.stringContaining('no device 5') });
  });
});

describe.runIf(isRoot)('an agent of root', () => {
  it('runs tasks as another user without any privilege, who cannot read what is ours', async () => {
    const server = await connected({ cgroups: true });
    const key = join(world.dir, 'agent', 'identity.json');
    const script = `id -u; id -g; grep CapEff /proc/self/status; cat /proc/self/oom_score_adj; cat ${key}; ls ${world.dir}; touch ${world.dir}/scratch/x`;
    const start = startOf(shell(script));
    await server.start(start);
    await server.ended(start.run);
    const text = await server.output(start.run);
    const [uid, gid, capabilities, oom] = text.split('\n');
    expect([uid, gid]).toEqual(['65534', '65534']);
    expect(capabilities).toMatch(/CapEff:\s0+$/);
    expect(oom).toBe('0');
    expect(text.match(/Permission denied/g)).toHaveLength(3);
    expect(text).not.toContain('PRIVATE');
    // Everybody is nobody: apart from the agent, but not from each other.
    expect(server.all('hello')[0]).toMatchObject({ isolation: false });
  });

  it('maps a submitter to his local user, and refuses root and one that does not exist', async () => {
    const server = await connected({ userMap: { ada: 'daemon', bob: 'nobody-at-all', eve: 'root' } });
    const start = startOf(['id', '-un']);
    await server.start(start);
    await server.ended(start.run);
    expect(await server.output(start.run)).toBe('daemon\n');
    expect(server.all('hello')[0]).toMatchObject({ isolation: true });
    expect(await server.start(startOf(['id'], { user: 'bob' }))).toMatchObject({
      outcome: 'refused',
      detail: expect.stringContaining('nobody-at-all'),
    });
    expect(await server.start(startOf(['id'], { user: 'eve' }))).toMatchObject({
      outcome: 'refused',
      detail: 'tasks do not run as root, and "root" is root here',
    });
  });

  it('runs no code of the user as root, whatever his environment asks for', async () => {
    const server = await connected({ cgroups: true });
    const marker = join(world.dir, 'as-root');
    const env = { BASH_ENV: marker, ENV: marker, LD_PRELOAD: '/no/such/library.so', UID: '0', IFS: 'x' };
    const start = startOf(shell('id -u'), {}, { env });
    await server.start(start);
    await server.ended(start.run);
    // The loader complains once in each program that runs with his environment: the shell and `id`, nothing before.
    const text = await server.output(start.run);
    expect(text.split('\n').at(-2)).toBe('65534');
    expect(text.match(/cannot be preloaded/g)).toHaveLength(2);
  });

  it('says who may not enter a working directory', async () => {
    const server = await connected();
    const workdir = join(world.dir, 'closed');
    mkdirSync(workdir, { mode: 0o700 });
    const start = startOf(['true'], {}, { workdir });
    await server.start(start);
    expect(await server.ended(start.run)).toMatchObject({
      class: 'user',
      code: 126,
      reason: { message: `the working directory "${workdir}" cannot be entered for user nobody` },
    });
    rmSync(workdir, { recursive: true });
  });

  it('tells a task that the kernel killed for memory from one that failed', async ({ skip }) => {
    const server = await connected({ cgroups: true });
    if (!world.log.some((line) => /enforce .*memory/.test(line)))
      skip('no memory control group on this machine');
    const hog = startOf(shell('head -c 200000000 /dev/zero | tail'), {}, { memoryMib: 32 });
    await server.start(hog);
    expect(await server.ended(hog.run)).toMatchObject({
      class: 'out-of-memory',
      reason: { code: 'out-of-memory', message: 'ran out of memory (limit 32MiB)' },
    });
  });

  it('leaves no control group behind', async () => {
    const server = await connected({ cgroups: true });
    const start = startOf(['true']);
    await server.start(start);
    await server.ended(start.run);
    const mounts = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '));
    const places = mounts.filter(([, , type]) => type?.startsWith('cgroup')).map(([, path = '']) => path);
    expect(places.filter((path) => existsSync(join(path, `muster-${world.node}`, `${start.run}.0`)))).toEqual(
      [],
    );
  });
});
