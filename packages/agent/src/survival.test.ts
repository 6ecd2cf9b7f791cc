// What must hold when parts of a node die or freeze: agent, supervisor, both.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setprivPath } from './supervisor/launch.ts';
import { isAlive } from './supervisor/processes.ts';
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

const scratchOf = (run: string): string => join(world.dir, 'scratch', `${run}.0`);
const waitForGo = 'while [ ! -e go ]; do sleep 0.01; done';

describe('when the agent is killed', () => {
  it('its job goes on, is adopted with its whole output, and its end is reported once', async () => {
    const { server } = world;
    const agent = await world.process();
    const start = startOf(shell(`echo one; ${waitForGo}; echo two; exit 4`));
    await server.start(start);
    await server.started(start.run);
    agent.kill('SIGKILL');
    const { pid } = world.supervisor();
    writeFileSync(join(scratchOf(start.run), 'go'), '');
    await until('the job ended unobserved', async () => (await pidsOf(`${start.run}.0`)).length === 0);
    await world.process();
    expect(world.supervisor().pid).toBe(pid);
    expect(server.all('hello').at(-1)?.tasks).toMatchObject([
      { run: start.run, state: 'ended', exit: { code: 4 } },
    ]);
    expect(await server.ended(start.run)).toMatchObject({ class: 'user', code: 4 });
    expect(await server.output(start.run)).toBe('one\ntwo\n');
    server.cut();
    await server.welcomed(3);
    expect(server.all('hello').at(-1)?.tasks).toEqual([]);
    expect(server.ends(start.run)).toHaveLength(1);
  });

  it('a start it had accepted and not begun begins after the next renewal', async () => {
    const { server } = world;
    server.renews = false;
    const agent = await world.process();
    const start = startOf(shell('echo once'));
    await server.start(start);
    agent.kill('SIGKILL');
    await world.process();
    expect(server.all('hello').at(-1)?.tasks).toMatchObject([{ run: start.run, state: 'accepted' }]);
    server.renews = true;
    server.cut();
    expect(await server.ended(start.run)).toEqual({ ok: true });
    expect(await server.output(start.run)).toBe('once\n');
  });
});

it('an agent whose node was removed while it was dead stops what still runs there, and then ends', async () => {
  const { server } = world;
  const dead = await world.process();
  const trap = `trap 'echo termed >> ends; exit 0' TERM; echo set; while :; do sleep 0.02; done`;
  const start = startOf(shell(trap), { stopAfterMs: null });
  await server.start(start);
  await until('the trap is set', async () => (await server.read(start.run)).text.includes('set'));
  dead.kill('SIGKILL');
  await until('the agent is dead', () => dead.signalCode !== null);
  server.removed = true;
  const agent = await world.agent();
  expect(await agent.done).toBe('removed');
  expect(await pidsOf(`${start.run}.0`)).toEqual([]);
  expect(readFileSync(join(scratchOf(start.run), 'ends'), 'utf8')).toBe('termed\n');
  expect(world.log.join('\n')).toContain(`because the node was removed: ${start.run}`);
  server.removed = false;
  await world.agent();
  await server.welcomed(2);
  expect(server.all('hello').at(-1)?.tasks).toEqual([]);
});

describe('when nobody renews', () => {
  it('the supervisor ends the job of a frozen agent inside the deadline, the signal first', async () => {
    const { server } = world;
    server.beatMs = 100;
    const agent = await world.process();
    const stopAfterMs = 3000;
    const trap = `trap 'date +%s%N > termed; sleep 1000' TERM; date +%s%N > begun; while :; do sleep 0.02; done`;
    const start = startOf(shell(trap), { stopAfterMs });
    await server.start(start);
    await until('the trap is set', () => existsSync(join(scratchOf(start.run), 'begun')));
    const beats = () => server.all('beat').length;
    const before = beats();
    await until('a renewal', () => beats() > before + 1);
    agent.kill('SIGSTOP');
    const frozenMs = performance.now();
    await until('the job is gone', async () => (await pidsOf(`${start.run}.0`)).length === 0);
    const livedMs = performance.now() - frozenMs;
    expect(livedMs).toBeLessThan(stopAfterMs);
    expect(existsSync(join(scratchOf(start.run), 'termed'))).toBe(true);
    agent.kill('SIGCONT');
    expect(await server.ended(start.run)).toMatchObject({
      class: 'infrastructure',
      signal: 'SIGKILL',
      reason: { code: 'lease-expired' },
    });
  });

  it('a run without a deadline goes on', async () => {
    const { server } = world;
    const agent = await world.process();
    const start = startOf(['sleep', '1000'], { stopAfterMs: null });
    const leased = startOf(['sleep', '1000'], { stopAfterMs: 1000 });
    await server.start(start);
    await server.start(leased);
    await server.started(start.run);
    await server.started(leased.run);
    agent.kill('SIGSTOP');
    await until('the leased one is gone', async () => (await pidsOf(`${leased.run}.0`)).length === 0);
    expect(await pidsOf(`${start.run}.0`)).toHaveLength(1);
    agent.kill('SIGCONT');
    await server.stop({ run: start.run, reason: 'x', class: 'cancelled', signal: 'KILL', graceMs: 0 });
    await server.ended(start.run);
  });
});

describe('when the supervisor is killed', () => {
  it('its tasks end as lost with everything they started, and new tasks run', async () => {
    await world.agent();
    const { server } = world;
    await server.welcomed();
    const start = startOf(shell('echo before; setsid sleep 1000 & sleep 1000'));
    await server.start(start);
    await server.started(start.run);
    await until('its output is kept', async () => (await server.read(start.run)).size > 0);
    await until('both run', async () => (await pidsOf(`${start.run}.0`)).length === 3);
    const { pid } = world.supervisor();
    process.kill(pid, 'SIGKILL');
    expect(await server.ended(start.run)).toMatchObject({
      class: 'infrastructure',
      reason: { code: 'supervisor-lost' },
    });
    expect(await pidsOf(`${start.run}.0`)).toEqual([]);
    expect(world.supervisor().pid).not.toBe(pid);
    expect(await server.output(start.run)).toBe('before\n');
    const next = startOf(['true']);
    await server.start(next);
    expect(await server.ended(next.run)).toEqual({ ok: true });
    expect(await server.start(start)).toMatchObject({ outcome: 'accepted' });
    expect(server.ends(start.run)).toHaveLength(1);
  });

  it.runIf(setprivPath)('a task dies with it even when no agent is there to notice', async () => {
    const { server } = world;
    const agent = await world.process();
    const start = startOf(shell('echo up; exec sleep 1000'));
    await server.start(start);
    await until('it is up', async () => (await server.read(start.run)).size > 0);
    agent.kill('SIGKILL');
    process.kill(world.supervisor().pid, 'SIGKILL');
    await until('the task died', async () => (await pidsOf(`${start.run}.0`)).length === 0);
    await world.process();
    expect(await server.ended(start.run)).toMatchObject({ reason: { code: 'supervisor-lost' } });
  });

  it('ends that were not acknowledged are reported by the next one', async () => {
    const { server } = world;
    server.acknowledges = false;
    await world.agent();
    await server.welcomed();
    const start = startOf(shell('exit 5'));
    await server.start(start);
    await until('it ended', () =>
      server.all('report').some(({ items }) => items.some(({ kind }) => kind === 'ended')),
    );
    const { pid } = world.supervisor();
    process.kill(pid, 'SIGKILL');
    await until('another supervisor', () => world.supervisor().pid !== pid);
    server.acknowledges = true;
    server.cut();
    expect(await server.ended(start.run)).toMatchObject({ code: 5 });
  });
});

describe('after a restart of the machine', () => {
  it('what had not ended is reported as lost to the restart, and not started again', async () => {
    const { server } = world;
    server.renews = false;
    const agent = await world.agent();
    await server.welcomed();
    const start = startOf(['true']);
    await server.start(start);
    await agent.stop();
    await until('the supervisor left', () => !existsSync(`/proc/${world.supervisor().pid}`));
    const journal = join(world.dir, 'agent', 'journal');
    const text = readFileSync(journal, 'utf8').replace(/"bootId":"[^"]+"/, '"bootId":"another"');
    writeFileSync(journal, text);
    server.renews = true;
    await world.agent();
    expect(await server.ended(start.run)).toMatchObject({
      class: 'infrastructure',
      reason: { code: 'node-restarted' },
    });
    expect(server.observed.filter(({ kind }) => kind === 'started')).toEqual([]);
  });
});

describe('when the supervisor hangs', () => {
  it('and a lease runs out, the task is ended without it', async () => {
    world.server.beatMs = 100;
    await world.agent();
    const { server } = world;
    await server.welcomed();
    const start = startOf(['sleep', '1000'], { stopAfterMs: 1500 });
    await server.start(start);
    await server.started(start.run);
    const { pid } = world.supervisor();
    process.kill(pid, 'SIGSTOP');
    // While renewals come, nothing happens to it.
    const beats = server.all('beat').length;
    await until('many renewals', () => server.all('beat').length > beats + 30);
    expect(await pidsOf(`${start.run}.0`)).toHaveLength(1);
    server.renews = false;
    await until('the task is gone', async () => (await pidsOf(`${start.run}.0`)).length === 0);
    server.renews = true;
    server.cut();
    expect(await server.ended(start.run)).toMatchObject({
      class: 'infrastructure',
      reason: { code: 'supervisor-lost' },
    });
  });
});

describe('when the disk is full', () => {
  it('a start is refused with a reason, running jobs go on, and starts work again when there is room', async ({
    skip,
  }) => {
    const { server, dir } = world;
    const inner = join(dir, 'agent');
    const identity = readFileSync(join(inner, 'identity.json'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', inner]);
    if (mounted.status !== 0) skip('mounting is not allowed here');
    try {
      writeFileSync(join(inner, 'identity.json'), identity);
      const agent = await world.agent();
      await server.welcomed();
      const running = startOf(shell(`${waitForGo}; seq 1000; exit 6`));
      await server.start(running);
      await server.started(running.run);
      const filler = join(inner, 'filler');
      spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'], { stdio: 'ignore' });
      // The last page of the journal may still have room for a few lines.
      const answers: string[] = [];
      await until('a refusal', async () => {
        const done = await server.start(startOf(['true'], {}, { env: { PADDING: 'x'.repeat(4096) } }));
        answers.push(`${done.outcome} ${done.detail}`);
        return done.outcome === 'refused';
      });
      expect(answers.at(-1)).toMatch(/ENOSPC|no space/);
      writeFileSync(join(scratchOf(running.run), 'go'), '');
      expect(await server.ended(running.run)).toMatchObject({ code: 6 });
      rmSync(filler);
      const next = startOf(['true']);
      expect(await server.start(next)).toMatchObject({ outcome: 'accepted' });
      expect(await server.ended(next.run)).toEqual({ ok: true });
      await agent.stop();
      const { pid, startTicks } = world.supervisor();
      await until('the supervisor left', () => !isAlive(pid, startTicks));
    } finally {
      spawnSync('umount', ['-l', inner]);
    }
  });
});
