// Small worlds on real PostgreSQL: the production store under the same faults and checkers.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { onPostgres, type PostgresServer, startPostgres } from './postgres.ts';
import { runSeed } from './run-seed.ts';

const startMs = 60_000;
const worldMs = 300_000;
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, startMs);
afterAll(() => server.stop(), startMs);

test.each([17])('seed %i keeps every promise on PostgreSQL too', { timeout: worldMs }, async (seed) => {
  const backend = onPostgres(server.template, 1);
  const { failure, tail, events } = await runSeed(seed, { backend, small: true });
  const again = `npm run sim:faults -- --seeds 1 --from ${seed} --postgres`;
  expect(failure, `${failure?.message}\n${tail.join('\n')}\nagain: ${again}`).toBeNull();
  expect(events).toBeGreaterThan(20);
});
