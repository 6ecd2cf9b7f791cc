import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { shell, startOf } from './testing/fake-server.ts';
import { until } from './testing/until.ts';
import { makeWorld, pidsOf, type World } from './testing/world.ts';

// Real processes on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => {
  vi.unstubAllEnvs();
  return world.clean();
});

const gate = 'while [ ! -e go ]; do sleep 0.01; done';

async function connected() {
  await world.agent();
  await world.server.welcomed();
  return world.server;
}

describe('an agent', () => {
  it('runs a task, reports its start and end, and gives its output', async () => {
    const server = await connected();
    const start = startOf(shell('echo hello; echo trouble >&2; exit 3'));
    expect(await server.start(start)).toMatchObject({ outcome: 'accepted' });
    await server.started(start.run);
    expect(await server.ended(start.run)).toEqual({
      ok: false,
      class: 'user',
      code: 3,
      signal: null,
      reason: { code: 'exit-code', message: 'exited with code 3' },
    });
    expect(await server.output(start.run)).toBe('hello\ntrouble\n');
  });

  it('leaves a server that takes its connection and never welcomes it', async () => {
    world.server.welcomes = false;
    await world.agent({ welcomeWithinMs: 200 });
    await until('a second hello', () => world.server.all('hello')[1]);
    world.server.welcomes = true;
    await world.server.welcomed();
  });

  it('starts only after a renewal that names the run, for a beat sent after the start arrived', async () => {
    world.server.beatMs = 20;
    const server = await connected();
    server.renews = false;
    const before = await until('a beat in flight', () => server.all('beat').at(-1));
    const start = startOf(['true']);
    await server.start(start);
    // The answer to the older beat names the run too, and must not count.
    server.send({
      type: 'renewed',
      beat: before.beat,
      live: [{ run: start.run, stopAfterMs: null }],
      beatMs: 20,
    });
    const naming = await until('a beat that names the run', () =>
      server.all('beat').find(({ keys }) => keys.includes(start.run)),
    );
    expect(naming.beat).toBeGreaterThan(before.beat);
    await server.read(start.run);
    expect(server.observed).toEqual([]);
    server.renew(naming);
    await server.ended(start.run);
  });

  it('starts a key once however often the command comes, before and after its end', async () => {
    const server = await connected();
    const start = startOf(shell(`echo ran; ${gate}`));
    await server.start(start);
    expect(await server.start(start)).toMatchObject({ outcome: 'accepted' });
    await until('it has printed', async () => (await server.read(start.run)).size > 0);
    await server.start(start);
    await server.stop({ run: start.run, reason: 'enough', class: 'cancelled', signal: 'KILL', graceMs: 0 });
    await server.ended(start.run);
    expect(await server.start(start)).toMatchObject({ outcome: 'accepted' });
    await until('a beat after that', () => server.all('beat').at(-1)?.keys.length === 0);
    expect(server.observed.filter(({ run }) => run === start.run)).toHaveLength(2);
    expect(await server.output(start.run)).toBe('ran\n');
  });

  it('refuses commands of an older epoch, also after a restart', async () => {
    const agent = await world.agent();
    const { server } = world;
    await server.welcomed();
    expect(await server.start(startOf(['true']), { epoch: 9 })).toMatchObject({ outcome: 'accepted' });
    const late = startOf(['true']);
    expect(await server.start(late, { epoch: 8 })).toMatchObject({ outcome: 'stale-epoch' });
    await agent.stop();
    await world.agent();
    await server.welcomed(2);
    expect(server.all('hello').at(-1)?.epoch).toBe(9);
    const stop = { run: late.run, reason: '', class: 'cancelled', signal: 'TERM', graceMs: 0 } as const;
    expect(await server.stop(stop, 8)).toMatchObject({ outcome: 'stale-epoch' });
    expect(server.observed.filter(({ run }) => run === late.run)).toEqual([]);
  });

  it('ends a task that was stopped before it started, and never starts it', async () => {
    world.server.renews = false;
    const server = await connected();
    const start = startOf(['true']);
    await server.start(start);
    await server.stop({
      run: start.run,
      reason: 'changed my mind',
      class: 'cancelled',
      signal: 'TERM',
      graceMs: 0,
    });
    expect(await server.ended(start.run)).toMatchObject({
      class: 'cancelled',
      reason: { message: 'changed my mind' },
    });
    server.renews = true;
    server.cut();
    await server.welcomed(2);
    expect(await server.start(start)).toMatchObject({ outcome: 'accepted' });
    await until('a beat without it', () => server.all('beat').at(-1)?.keys.length === 0);
    expect(server.observed.filter(({ kind }) => kind === 'started')).toEqual([]);
  });

  it('accepts a stop of a run it does not know', async () => {
    const server = await connected();
    const { run } = startOf(['true']);
    const stop = { run, reason: 'x', class: 'cancelled', signal: 'TERM', graceMs: 0 } as const;
    expect(await server.stop(stop)).toMatchObject({ outcome: 'accepted' });
  });

  it('stops what a renewal no longer lists', async () => {
    const server = await connected();
    const start = startOf(['sleep', '1000']);
    await server.start(start);
    await server.started(start.run);
    server.live.delete(start.run);
    expect(await server.ended(start.run)).toMatchObject({
      class: 'infrastructure',
      reason: { code: 'lease-lost' },
    });
  });

  it('holds a run across a cut connection and tells what it holds on the next', async () => {
    const server = await connected();
    const start = startOf(shell(`${gate}; echo done`));
    await server.start(start);
    await server.started(start.run);
    server.cut();
    await server.welcomed(2);
    expect(server.all('hello').at(-1)?.tasks).toEqual([
      { run: start.run, rank: 0, state: 'running', exit: null },
    ]);
    await server.stop({ run: start.run, reason: 'x', class: 'preemption', signal: 'TERM', graceMs: 1000 });
    expect(await server.ended(start.run)).toMatchObject({ class: 'preemption', signal: 'SIGTERM' });
  });

  it('reports an end again on every connection until it is acknowledged', async () => {
    world.server.acknowledges = false;
    const server = await connected();
    const start = startOf(['false']);
    await server.start(start);
    const reports = () =>
      server.all('report').filter(({ items }) => items.some(({ kind }) => kind === 'ended'));
    await until('the first report', () => reports()[0]);
    server.cut();
    await server.welcomed(2);
    expect(server.all('hello').at(-1)?.tasks).toMatchObject([
      { run: start.run, state: 'ended', exit: { code: 1 } },
    ]);
    await until('the same again', () => reports()[1]);
    server.acknowledges = true;
    server.cut();
    await server.ended(start.run);
    server.cut();
    await server.welcomed(4);
    expect(server.all('hello').at(-1)?.tasks).toEqual([]);
    expect(server.ends(start.run)).toHaveLength(1);
  });

  it('drops a connection whose messages are out of order, and comes back', async () => {
    const server = await connected();
    server.sendRaw(JSON.stringify({ type: 'reported', n: 77, report: 1 }));
    await server.welcomed(2);
    server.sendRaw('{');
    await server.welcomed(3);
  });

  it('reports three hundred quick tasks, each started and ended once', async () => {
    const server = await connected();
    const starts = Array.from({ length: 300 }, () => startOf(['true']));
    await Promise.all(starts.map((start) => server.start(start)));
    await Promise.all(starts.map(({ run }) => server.ended(run, 0, 30_000)));
    expect(server.observed).toHaveLength(600);
    expect(server.observed.filter((item) => item.kind === 'ended' && item.exit.ok)).toHaveLength(300);
  });

  it('runs all tasks of a run on this node, each by its rank', async () => {
    const server = await connected();
    const { tasks, ...rest } = startOf(shell('echo rank $RANK'));
    const three = [0, 3, 7].map((rank) => ({ ...tasks[0]!, rank, env: { RANK: String(rank) } }));
    const start = { ...rest, tasks: three };
    await server.start(start);
    for (const { rank } of three) {
      expect(await server.ended(start.run, rank)).toEqual({ ok: true });
      expect(await server.output(start.run, rank)).toBe(`rank ${rank}\n`);
    }
  });

  it('leaves tasks running when it is stopped, and finds them again', async () => {
    const first = await world.agent();
    const { server } = world;
    await server.welcomed();
    const start = startOf(['sleep', '1000']);
    await server.start(start);
    await server.started(start.run);
    await first.stop();
    expect(await pidsOf(`${start.run}.0`)).toHaveLength(1);
    await world.agent();
    await server.welcomed(2);
    expect(server.all('hello').at(-1)?.tasks).toMatchObject([{ run: start.run, state: 'running' }]);
    await server.stop({ run: start.run, reason: 'x', class: 'cancelled', signal: 'TERM', graceMs: 1000 });
    await server.ended(start.run);
  });

  it('connects again to tell that its inventory has changed, and not otherwise', async () => {
    const devices = [{ kind: 'gpu', count: 2, model: 'H100', memoryMib: 0 }];
    const agent = await world.agent({ devices });
    const { server } = world;
    await server.welcomed();
    await agent.recheck();
    devices[0]!.count = 1;
    await agent.recheck();
    await server.welcomed(2);
    expect(server.all('hello').map(({ inventory }) => inventory.devices.length)).toEqual([2, 1]);
  });

  it('keeps its GPUs when nvidia-smi fails once, and gives them up when it fails again and again', async () => {
    const list = join(world.dir, 'gpus');
    writeFileSync(join(world.dir, 'nvidia-smi'), `#!/bin/sh\nexec cat ${list}\n`, { mode: 0o755 });
    writeFileSync(list, '0, GPU-1, NVIDIA H100 80GB HBM3, 81559, 550.1, 9.0\n');
    vi.stubEnv('PATH', `${world.dir}:${process.env.PATH}`);
    const agent = await world.agent();
    const { server } = world;
    await server.welcomed();
    renameSync(list, `${list}.away`);
    await agent.recheck();
    await agent.recheck();
    renameSync(`${list}.away`, list);
    await agent.recheck();
    expect(server.all('hello')).toHaveLength(1);
    rmSync(list);
    for (let i = 0; i < 3; i++) await agent.recheck();
    await server.welcomed(2);
    expect(server.all('hello').map(({ inventory }) => inventory.devices.length)).toEqual([1, 0]);
  });

  it('refuses a directory that another agent uses', async () => {
    await connected();
    await expect(world.agent()).rejects.toMatchObject({ code: 'conflict' });
  });
});
