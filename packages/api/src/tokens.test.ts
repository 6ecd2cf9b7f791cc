import { randomBytes } from 'node:crypto';
import { projectCovers, type Role } from '@muster/model';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthenticator, streamCheckMs } from './auth.ts';
import { createBuckets } from './rate-limit.ts';
import { openWorld, type World } from './testing/world.ts';
import { mintSecret } from './token-text.ts';
import { ensureAdminToken } from './tokens.ts';

let world: World;
let root: string;
const projects = ['a', 'a/b', 'a/b/c', 'a-b', 'b'];
const roles: readonly Role[] = ['viewer', 'member', 'admin'];

beforeAll(async () => {
  world = await openWorld();
  for (const project of projects) await world.project(project);
  root = await world.token('admin', null, { name: 'root' });
});
afterAll(() => world.close());

const create = (token: string, body: object) => world.ask('POST', '/v1/tokens', { token, body });

test('a property: no chain of tokens ever holds more than the one it began with', async () => {
  const scope = fc.constantFrom<string | null>(null, ...projects);
  const ask = fc.record({ role: fc.constantFrom(...roles), project: scope });
  await fc.assert(
    fc.asyncProperty(ask, fc.array(ask, { minLength: 1, maxLength: 4 }), async (first, chain) => {
      let token = await world.token(first.role, first.project);
      let holder = first;
      for (const wanted of chain) {
        const answer = await create(token, { name: 'x', ...wanted });
        const within =
          wanted.project === null
            ? holder.project === null
            : holder.project === null || projectCovers(holder.project, wanted.project);
        expect(answer.statusCode, `${JSON.stringify(holder)} -> ${JSON.stringify(wanted)}`).toBe(
          holder.role === 'admin' && within ? 201 : 403,
        );
        if (answer.statusCode !== 201) continue;
        expect(answer.json()).toMatchObject(wanted);
        token = answer.json().token;
        holder = wanted;
        expect((await world.ask('GET', '/v1/whoami', { token })).json()).toMatchObject(wanted);
      }
    }),
    { numRuns: 60 },
  );
});

test('a token does not outlive its maker', async () => {
  const expiresMs = Date.now() + 60_000;
  const short = await world.token('admin', null, { expiresMs });
  for (const body of [{}, { expiresIn: '30d' }]) {
    const { expiresAt } = (await create(short, { name: 'child', role: 'viewer', ...body })).json();
    expect(Date.parse(expiresAt)).toBeLessThanOrEqual(expiresMs);
  }
  expect((await create(root, { name: 'child', role: 'viewer' })).json().expiresAt).toBeNull();
});

test('the text is shown once and never listed', async () => {
  const made = (await create(root, { name: 'once', role: 'viewer', project: 'a' })).json();
  const listed = await world.ask('GET', '/v1/tokens', { token: root });
  expect(listed.body).toContain(made.id);
  expect(listed.body).not.toContain(made.token.slice(4, 30));
});

test('a revoked token is refused at once here, and within 5 s by a server that had it in its cache', async () => {
  const made = (await create(root, { name: 'gone', role: 'viewer' })).json();
  const who = () => world.ask('GET', '/v1/whoami', { token: made.token });
  expect((await who()).statusCode).toBe(200);
  const revoked = await world.ask('DELETE', `/v1/tokens/${made.id}`, { token: root });
  expect(revoked.json().revokedAt).not.toBeNull();
  expect((await who()).statusCode).toBe(401);

  // Revoked elsewhere: this server knows only its cache, for at most 5 s.
  const other = (await create(root, { name: 'elsewhere', role: 'viewer' })).json();
  const asOther = () => world.ask('GET', '/v1/whoami', { token: other.token });
  expect((await asOther()).statusCode).toBe(200);
  await world.store.revokeToken(other.id);
  world.clock.aheadMs += 5000;
  expect((await asOther()).statusCode).toBe(401);
  world.clock.aheadMs = 0;
});

test('a stream asks anew of its token often enough that a revoked one ends it within 5 s', async () => {
  const auth = createAuthenticator({
    store: world.store,
    clock: world.clock,
    buckets: createBuckets(world.clock),
  });
  const made = (await create(root, { name: 'streams', role: 'viewer' })).json();
  const caller = await auth.authenticate(`Bearer ${made.token}`, '/', 'here');
  await world.store.revokeToken(made.id);
  // The worst moment: known just before, and asked the first time just before that is too old.
  world.clock.aheadMs += streamCheckMs;
  expect(await auth.stillValid(caller)).toBe(false);
  expect(2 * streamCheckMs).toBeLessThanOrEqual(5000);
  world.clock.aheadMs = 0;
});

test('a flood of made-up tokens asks the database no more often than an address may', async () => {
  let asked = 0;
  const store = {
    tokenByHash: async () => {
      asked++;
      return null;
    },
  };
  const auth = createAuthenticator({
    store,
    clock: { nowMs: () => 0 },
    buckets: createBuckets({ nowMs: () => 0 }),
  });
  const tokens = Array.from({ length: 300 }, () => mintSecret('mst', randomBytes));
  const answers = await Promise.allSettled(
    tokens.map(async (token) => auth.authenticate(`Bearer ${token}`, '/', 'flood')),
  );
  expect(asked).toBe(100);
  const codes = answers.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'let in'));
  expect(codes.filter((code) => code === 'unauthenticated')).toHaveLength(100);
  expect(codes.filter((code) => code === 'too-many')).toHaveLength(200);
});

test('requests that come together with one token look it up once', async () => {
  const made = (await create(root, { name: 'together', role: 'viewer' })).json();
  let asked = 0;
  const store = {
    tokenByHash: (hash: string) => {
      asked++;
      return world.store.tokenByHash(hash);
    },
  };
  const auth = createAuthenticator({ store, clock: world.clock, buckets: createBuckets(world.clock) });
  const callers = await Promise.all(
    Array.from({ length: 300 }, () => auth.authenticate(`Bearer ${made.token}`, '/', 'here')),
  );
  expect(new Set(callers.map(({ token }) => token))).toEqual(new Set([made.id]));
  expect(asked).toBe(1);
});

test('a token that expires is refused from then on, cached or not', async () => {
  const token = await world.token('viewer', null, { expiresMs: Date.now() + 3_600_000 });
  const who = async () => (await world.ask('GET', '/v1/whoami', { token })).statusCode;
  expect(await who()).toBe(200);
  world.clock.aheadMs = 3_600_001;
  expect(await who()).toBe(401);
  world.clock.aheadMs = 0;
});

test('any token may revoke itself, and the last admin of everything may not be revoked', async () => {
  const viewer = await world.token('viewer', 'a');
  const { token: id } = (await world.ask('GET', '/v1/whoami', { token: viewer })).json();
  expect((await world.ask('DELETE', `/v1/tokens/${id}`, { token: viewer })).statusCode).toBe(200);
  const all = await world.store.tokens();
  const admins = all.filter((row) => row.role === 'admin' && row.project === null && row.revokedMs === null);
  const mine = (await world.ask('GET', '/v1/whoami', { token: root })).json().token;
  for (const { id } of admins) if (id !== mine) await world.store.revokeToken(id);
  const last = await world.ask('DELETE', `/v1/tokens/${mine}`, { token: root });
  expect(last.json()).toMatchObject({ status: 409, code: 'conflict' });
});

test('a token cannot be made for a project that does not exist', async () => {
  expect((await create(root, { name: 'x', role: 'viewer', project: 'nowhere' })).json().code).toBe(
    'unknown-project',
  );
});

test('the first start makes one admin token, and no later start does', async () => {
  const fresh = await openWorld();
  const minting = {
    clock: fresh.clock,
    random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
  const text = await ensureAdminToken(fresh.store, minting);
  expect((await fresh.ask('GET', '/v1/whoami', { token: text as string })).json()).toMatchObject({
    role: 'admin',
    project: null,
  });
  expect(await ensureAdminToken(fresh.store, minting)).toBeNull();
  await fresh.close();
});
