import { afterAll, beforeAll, expect, test } from 'vitest';
import { aJob, openWorld, type World } from './testing/world.ts';
import { mintSecret } from './token-text.ts';

let world: World;
let admin: string;

beforeAll(async () => {
  world = await openWorld({ rateLimit: { perSecond: 50, burst: 200 } });
  admin = await world.token('admin', null, { name: 'op' });
});
afterAll(() => world.close());

interface Entry {
  readonly who: string;
  readonly from: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly detail: { readonly count?: number };
}

/** Entries are written in batches a moment later. */
async function entries(action: string, count: number): Promise<Entry[]> {
  let found: Entry[] = [];
  await expect
    .poll(
      async () => {
        const rows = await world.store.auditSince(0, 1000);
        found = rows.filter((row) => row.action === action) as unknown as Entry[];
        return found.length;
      },
      { timeout: 5000 },
    )
    .toBeGreaterThanOrEqual(count);
  return found;
}

test('unsafe requests and refusals are audited with who, from, what and outcome', async () => {
  const member = await world.token('member', 'default', { name: 'mia' });
  await world.ask('POST', '/v1/tokens', { token: admin, body: { name: 'bot', role: 'viewer' } });
  await world.ask('POST', '/v1/tokens', { token: member, body: { name: 'bot', role: 'viewer' } });
  await world.ask('POST', '/v1/tokens', { body: { name: 'bot', role: 'viewer' } });
  const found = await entries('createToken', 3);
  expect(found.map(({ who, outcome }) => [who, outcome])).toEqual([
    ['op', 'ok'],
    ['mia@default', 'forbidden'],
    ['nobody', 'unauthenticated'],
  ]);
  expect(found[0]).toMatchObject({ from: '127.0.0.1', target: expect.stringMatching(/^tok_\w+ bot viewer/) });
  expect(JSON.stringify(found)).not.toContain('mst_');
});

test('enrolments and cancels are audited by name', async () => {
  const { id } = (await world.ask('POST', '/v1/jobs', { token: admin, body: aJob })).json();
  await world.ask('POST', `/v1/jobs/${id}/cancel`, { token: admin });
  expect((await entries('cancelJob', 1))[0]).toMatchObject({ who: 'op', target: id, outcome: 'ok' });
  await world.ask('POST', '/v1/enrolments', { token: admin, body: { cluster: 'east' } });
  expect((await entries('createEnrolment', 1))[0]?.target).toMatch(/^enr_\w+ east\/default$/);
  await world.ask('POST', '/v1/enrol', { body: { token: 'mse_no', name: 'n', publicKey: 'x' } });
  expect((await entries('enrolNode', 1))[0]).toMatchObject({ who: 'nobody', outcome: 'invalid-field' });
});

test('an accepted submit is in the event log, not in the audit; a refused one is in the audit', async () => {
  const viewer = await world.token('viewer', null, { name: 'vic' });
  await world.ask('POST', '/v1/jobs', { token: admin, body: aJob });
  await world.ask('POST', '/v1/jobs', { token: viewer, body: aJob });
  const found = await entries('submitJob', 1);
  expect(found.map(({ who, outcome }) => [who, outcome])).toEqual([['vic', 'forbidden']]);
  const jobs = [
    { spec: aJob },
    { spec: { ...aJob, project: 'nowhere' } },
    { spec: { ...aJob, project: 'there' } },
  ];
  await world.ask('POST', '/v1/jobs/batch', { token: admin, body: { jobs } });
  expect((await entries('submitBatch', 1)).map(({ outcome }) => outcome)).toEqual(['unknown-project']);
});

test('a flood of equal refusals becomes few rows with a count', async () => {
  const before = (await world.store.auditSince(0, 1000)).length;
  await Promise.all(
    Array.from({ length: 100 }, () => world.ask('POST', '/v1/projects', { body: { path: 'x' } })),
  );
  const total = async (): Promise<number> =>
    (await entries('createProject', 1)).reduce((sum, { detail }) => sum + (detail.count ?? 1), 0);
  await expect.poll(total, { timeout: 5000 }).toBe(100);
  expect((await world.store.auditSince(0, 1000)).length - before).toBeLessThan(10);
});

test('the audit is read page by page, by admins of everything only', async () => {
  const first = (await world.ask('GET', '/v1/audit?limit=2', { token: admin })).json();
  const second = (await world.ask('GET', `/v1/audit?limit=2&cursor=${first.next}`, { token: admin })).json();
  const ids = [...first.items, ...second.items].map(({ id }: { id: number }) => id);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
});

test('one token cannot take the server from the others: its bucket empties, theirs do not', async () => {
  const greedy = await world.token('viewer', null, { name: 'greedy' });
  const answers = await Promise.all(
    Array.from({ length: 400 }, () => world.ask('GET', '/v1/whoami', { token: greedy })),
  );
  const refused = answers.filter(({ statusCode }) => statusCode === 429);
  expect(refused.length).toBeGreaterThan(100);
  expect(refused[0]?.headers['retry-after']).toBe('1');
  expect(refused[0]?.json().code).toBe('too-many');
  expect((await world.ask('GET', '/v1/whoami', { token: admin })).statusCode).toBe(200);
  world.clock.aheadMs += 1000;
  expect((await world.ask('GET', '/v1/whoami', { token: greedy })).statusCode).toBe(200);
});

test('an address that guesses tokens is slowed down, and made-up ones never reach the database', async () => {
  const lookUp = world.store.tokenByHash;
  let lookups = 0;
  world.store.tokenByHash = async (hash) => {
    lookups++;
    return lookUp(hash);
  };
  const guess = (token: string) => world.ask('GET', '/v1/whoami', { token });
  await Promise.all(
    Array.from({ length: 20 }, (_, i) => guess(`mst_${'A'.repeat(47)}${String(i).padStart(2, '0')}`)),
  );
  expect(lookups).toBe(0);
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const answers = await Promise.all(Array.from({ length: 200 }, () => guess(mintSecret('mst', random))));
  world.store.tokenByHash = lookUp;
  const codes = new Set(answers.map(({ statusCode }) => statusCode));
  expect([...codes].sort()).toEqual([401, 429]);
  expect((await world.ask('GET', '/v1/whoami', { token: admin })).statusCode).toBe(200);
});
