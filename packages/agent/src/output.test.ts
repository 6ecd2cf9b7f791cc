// Output from the process to the reader, with real processes.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { shell, startOf } from './testing/fake-server.ts';
import { until } from './testing/until.ts';
import { makeWorld, type World } from './testing/world.ts';

// Real processes on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.clean());

const mib = 1024 * 1024;

describe('the output of a task', () => {
  it('of one gigabyte is kept at its two ends, in bounded space and memory', async () => {
    await world.agent();
    const { server } = world;
    await server.welcomed();
    const totalBytes = 1024 * mib;
    const start = startOf(shell(`echo begin; head -c ${totalBytes} /dev/zero; echo; echo finish`), {
      outputLimitMib: 8,
    });
    await server.start(start);
    const { pid } = world.supervisor();
    let residentMib = 0;
    await until(
      'it ended',
      () => {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        residentMib = Math.max(residentMib, Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
        return server.ends(start.run)[0];
      },
      100_000,
    );
    expect(residentMib).toBeLessThan(250);
    const dir = join(world.dir, 'agent', 'output', `${start.run}.0`);
    const kept = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
    expect(kept).toBeLessThanOrEqual(8 * mib);
    expect(kept).toBeGreaterThan(6 * mib);
    const first = await server.read(start.run, 0, { max: 10 });
    const size = totalBytes + 'begin\n\nfinish\n'.length;
    expect(first).toMatchObject({ offset: 0, size, end: false });
    expect(first.text.slice(0, 6)).toBe('begin\n');
    // Asking for dropped bytes gives what comes after them, and its offset says how many are missing.
    const after = await server.read(start.run, 4 * mib, { max: 10 });
    expect(after.offset).toBeGreaterThan(size - 4 * mib - 1);
    expect(await server.read(start.run, size - 7)).toMatchObject({ text: 'finish\n', end: true, size });
  });

  it('that is not kept is passed over, so that a follower waits for news instead of asking for ever', async () => {
    await world.agent();
    const { server } = world;
    await server.welcomed();
    const start = startOf(shell('echo lost; while [ ! -e go ]; do sleep 0.01; done'), { outputLimitMib: 0 });
    await server.start(start);
    const first = await until('the line counted', async () => {
      const read = await server.read(start.run, 0, { waitMs: 1000 });
      return read.offset > 0 && read;
    });
    expect(first).toMatchObject({ offset: 5, text: '', size: 5, end: false });
    // Nothing new: it stays where it is.
    expect(await server.read(start.run, 5)).toMatchObject({ offset: 5, text: '', end: false });
    writeFileSync(join(world.dir, 'scratch', `${start.run}.0`, 'go'), '');
    await server.ended(start.run);
    expect(await server.read(start.run, 5)).toMatchObject({ text: '', end: true });
  });

  it('can be followed: a read waits for more, and goes on where the last one ended', async () => {
    const agent = await world.agent();
    const { server } = world;
    await server.welcomed();
    const script =
      'echo one; while [ ! -e two ]; do sleep 0.01; done; echo two; while [ ! -e end ]; do sleep 0.01; done';
    const start = startOf(shell(script));
    await server.start(start);
    expect(await server.read(start.run, 0, { waitMs: 10_000 })).toMatchObject({ text: 'one\n', end: false });
    const waiting = server.read(start.run, 4, { waitMs: 10_000 });
    writeFileSync(join(world.dir, 'scratch', `${start.run}.0`, 'two'), '');
    expect(await waiting).toMatchObject({ text: 'two\n', offset: 4, size: 8, end: false });
    expect(await server.read(start.run, 8, { waitMs: 50 })).toMatchObject({
      text: '',
      offset: 8,
      end: false,
    });
    // The reader goes on after the agent was restarted, and hears of the end.
    await agent.stop();
    await world.agent();
    await server.welcomed(2);
    expect(await server.read(start.run, 2)).toMatchObject({ text: 'e\ntwo\n', offset: 2, end: false });
    const last = server.read(start.run, 8, { waitMs: 10_000 });
    writeFileSync(join(world.dir, 'scratch', `${start.run}.0`, 'end'), '');
    expect(await last).toMatchObject({ text: '', end: true, size: 8 });
    await server.ended(start.run);
    expect(await server.read(start.run, 4)).toMatchObject({ text: 'two\n', end: true });
  });

  it('of a task that printed nothing is empty and complete; of an unknown one it is an error', async () => {
    await world.agent();
    const { server } = world;
    await server.welcomed();
    const start = startOf(['true']);
    await server.start(start);
    await server.ended(start.run);
    expect(await server.read(start.run)).toMatchObject({ text: '', size: 0, end: true, error: null });
    expect((await server.read(startOf(['true']).run)).error).toMatch(/never ran here/);
  });
});
