// An agent that is not root: tasks run as its own user, and it says so. Tests run as root, or as whoever runs them.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { shell, startOf } from './testing/fake-server.ts';
import { makeWorld, pidsOf, type World } from './testing/world.ts';

// Real processes on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: World;
beforeEach(async () => {
  world = await makeWorld();
  await world.process({}, process.getuid?.() === 0 ? 65_534 : undefined);
});
afterEach(() => world.clean());

describe('an agent that is not root', () => {
  it('tells that there is no isolation between users', () => {
    expect(world.server.all('hello')[0]).toMatchObject({ isolation: false });
    expect(world.log.join('')).toMatch(/no isolation between users/);
  });

  it('runs tasks as itself, cleanly, whoever submitted them', async () => {
    const { server } = world;
    const start = startOf(
      shell('id -u; pwd; echo "$GREETING"; setsid sleep 1000 & exit 3'),
      {},
      { env: { GREETING: 'hi' } },
    );
    await server.start(start);
    expect(await server.ended(start.run)).toMatchObject({ class: 'user', code: 3 });
    const [uid, cwd, greeting] = (await server.output(start.run)).split('\n');
    expect(uid).not.toBe('0');
    expect(cwd).toBe(`${world.dir}/scratch/${start.run}.0`);
    expect(greeting).toBe('hi');
    expect(await pidsOf(`${start.run}.0`)).toEqual([]);
  });

  it.each([
    [['no-such-program'], null, 127, /no program "no-such-program" in the PATH/],
    [['/etc/passwd'], null, 126, /"\/etc\/passwd" cannot be executed/],
    [['true'], '/no/such/dir', 126, /"\/no\/such\/dir" does not exist/],
    [['true'], '/root', 126, /the working directory "\/root" cannot be entered/],
  ])('says why %o in %s cannot start', async (command, workdir, code, message) => {
    const { server } = world;
    const start = startOf(command, {}, { workdir });
    await server.start(start);
    const exit = await server.ended(start.run);
    expect(exit).toMatchObject({ class: 'user', code });
    expect(exit.ok ? '' : exit.reason.message).toMatch(message);
  });
});
