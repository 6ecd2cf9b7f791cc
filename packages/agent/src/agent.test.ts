import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shell, startOf } from './testing/fake-server.ts';
import { until } from './testing/until.ts';
import { makeWorld, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.clean());

describe('an agent', () => {
  it('runs a task, reports its start and end, and gives its output', async () => {
    await world.agent();
    const start = startOf(shell('echo hello; echo trouble >&2; exit 3'));
    await world.server.welcomed();
    expect(await world.server.start(start)).toMatchObject({ outcome: 'accepted' });
    await world.server.started(start.run);
    expect(await world.server.ended(start.run)).toEqual({
      ok: false,
      class: 'user',
      code: 3,
      signal: null,
      reason: { code: 'exit-code', message: 'exited with code 3' },
    });
    expect(await world.server.output(start.run)).toBe('hello\ntrouble\n');
  });

  it('starts only after a renewal that names the run, for a beat sent after the start arrived', async () => {
    world.server.beatMs = 20;
    await world.agent();
    await world.server.welcomed();
    world.server.renews = false;
    const before = await until('a beat in flight', () => world.server.all('beat').at(-1));
    const start = startOf(['true']);
    await world.server.start(start);
    // The answer to the older beat names the run too, and must not count.
    world.server.send({
      type: 'renewed',
      beat: before.beat,
      live: [{ run: start.run, stopAfterMs: null }],
      beatMs: 20,
    });
    const naming = await until('a beat that names the run', () =>
      world.server.all('beat').find(({ keys }) => keys.includes(start.run)),
    );
    expect(naming.beat).toBeGreaterThan(before.beat);
    await world.server.read(start.run);
    expect(world.server.observed).toEqual([]);
    world.server.renew(naming);
    await world.server.ended(start.run);
  });
});
