import { expect, test } from 'vitest';
import { testBench } from './testing/bench.ts';
import { jobId, jobView } from './testing/sample-views.ts';

const bench = testBench();
const id = jobId('a');

test('a move says where the job goes, and what it will wait for', async () => {
  bench.logIn();
  const job = jobView({ id, move: { place: 'to cluster west', by: 'ada', reason: null } });
  bench.server.on(`POST /v1/jobs/${id}/move`, { json: { job, waits: 'waits: no room' } });
  const { stdout, stderr, code } = await bench.user.run(['move', id, '--to', 'west', '--reason', 'power']);
  expect(stdout).toBe(`${id} is being moved to cluster west\n`);
  expect(stderr).toContain('it will have to wait there: no room');
  expect(code).toBe(0);
  const { body } = bench.server.requests[0]!;
  expect(JSON.parse(body!)).toEqual({ to: 'west', reason: 'power' });
});

test('a move is taken back', async () => {
  bench.logIn();
  bench.server.on(`DELETE /v1/jobs/${id}/move`, { json: jobView({ id, state: 'queued' }) });
  const { stdout } = await bench.user.run(['move', id, '--cancel']);
  expect(stdout).toBe(`${id} may start anywhere; it is queued\n`);
  const odd = await bench.user.run(['move', id, '--cancel', '--to', 'west']);
  expect(odd).toMatchObject({ code: 2, stderr: expect.stringContaining('--cancel takes a move back') });
});
