import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runAgent } from './agent.ts';
import { enrolAgent, serverUrl } from './enrol.ts';
import { readIdentity, tokenHash } from './identity.ts';
import { Epoch, openStateDir } from './state-dir.ts';
import { until } from './testing/until.ts';
import { makeWorld, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.clean());

const other = (): string => join(world.dir, 'other');
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

describe('enrolment', () => {
  it('keeps the key in a file that only its owner reads', () => {
    const dir = openStateDir(world.dir);
    expect(statSync(join(dir.private, 'identity.json')).mode & 0o777).toBe(0o600);
    expect(statSync(dir.private).mode & 0o777).toBe(0o700);
    expect(readIdentity(dir)).toMatchObject({ node: world.node, name: 'n1', server: world.server.url });
  });

  it.each([
    [{ token: 'wrong' }, 'unauthenticated', /does not accept this enrolment token/],
    [{ name: 'taken' }, 'already-exists', /does not take a node named taken/],
    [{ name: 'Not A Name' }, 'invalid-field', /is not a node name/],
    [{ server: 'nowhere' }, 'invalid-field', /is not a server address/],
    [{ server: 'ftp://x' }, 'invalid-field', /must begin with http/],
    [{ server: 'http://127.0.0.1:1' }, 'unavailable', /cannot reach http:\/\/127.0.0.1:1/],
    [{ caFile: '/no/such/ca.pem' }, 'invalid-field', /\/no\/such\/ca.pem cannot be read/],
  ])('with %o fails with a sentence, and can be tried again', async (parts, code, message) => {
    const right = { server: world.server.url, token: world.server.token, name: 'n2', dir: other() };
    const failed = enrolAgent({ ...right, ...parts });
    await expect(failed).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(await enrolAgent(right)).toMatchObject({ name: 'n2' });
  });

  it('forgets the epoch of the database it was enrolled in before', async () => {
    const dir = openStateDir(world.dir);
    new Epoch(dir).admit(9);
    rmSync(join(dir.private, 'identity.json'));
    const { url: server, token } = world.server;
    await enrolAgent({ server, token, name: 'n2', dir: world.dir });
    expect(new Epoch(dir).admit(1)).toBe(true);
  });

  it('refuses a directory that has an identity already', async () => {
    const again = enrolAgent({
      server: world.server.url,
      token: world.server.token,
      name: 'n2',
      dir: world.dir,
    });
    await expect(again).rejects.toMatchObject({ code: 'already-exists' });
  });

  it('makes another node of the directory of a removed one, with a key and an epoch of its own', async () => {
    const dir = openStateDir(world.dir);
    const before = readIdentity(dir);
    new Epoch(dir).admit(9);
    const { url: server, token } = world.server;
    const { node } = await enrolAgent({ server, token, name: 'n1', dir: world.dir, again: true });
    expect(node).not.toBe(before.node);
    expect(readIdentity(dir)).toMatchObject({ node, tokenHash: tokenHash(token) });
    expect(readIdentity(dir).privateKey).not.toBe(before.privateKey);
    expect(new Epoch(dir).admit(1)).toBe(true);
  });

  it('comes before running', async () => {
    const running = runAgent({ server: world.server.url, dir: other(), log: silent });
    await expect(running).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringContaining('not enrolled'),
    });
  });

  it('keeps a path that stands before ours, as behind a proxy', () => {
    expect(String(serverUrl('https://x.org/muster/', '/v1/enrol'))).toBe('https://x.org/muster/v1/enrol');
    expect(String(serverUrl('https://x.org', '/v1/agents/connect', true))).toBe(
      'wss://x.org/v1/agents/connect',
    );
  });
});

describe('an agent whose node was removed', () => {
  it('ends and says so, instead of being refused for ever', async () => {
    world.server.removed = true;
    const agent = await world.agent();
    expect(await agent.done).toBe('removed');
    expect(world.log.filter((line) => line.startsWith('error'))).toEqual([
      'error an operator removed node n1 {}',
    ]);
    expect(world.server.all('hello')).toHaveLength(1);
  });

  it('learns of it at its next connection', async () => {
    const agent = await world.agent();
    await world.server.welcomed();
    world.server.removed = true;
    world.server.cut();
    expect(await agent.done).toBe('removed');
  });

  it('ends as stopped when it is told to stop', async () => {
    const agent = await world.agent();
    await world.server.welcomed();
    await agent.stop();
    expect(await agent.done).toBe('stopped');
  });
});

describe('an agent whose server is away', () => {
  it('says so once and connects when it comes back', async () => {
    const { port } = new URL(world.server.url);
    await world.server.close();
    await world.agent();
    const warnings = () => world.log.filter((line) => line.startsWith('warn not connected'));
    await until('it said so', () => warnings()[0]);
    await world.server.listen(Number(port));
    await world.server.welcomed();
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).toMatch(/ECONNREFUSED.*trying again until it works/);
  });
});
