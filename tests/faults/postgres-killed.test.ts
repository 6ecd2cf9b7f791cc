// F4: PostgreSQL is killed and comes back. The API says 503 meanwhile, nothing acknowledged is lost, running work is not touched.
import type { JobId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';
import { expectAttemptsOnce, expectIdle, expectWholeLog, provenJob } from './proof.ts';

let system: TestSystem;

beforeAll(async () => {
  system = await startSystem([{ name: 'server', port: await freePort() }]);
  await system.startAgent({ name: 'n1', devices: 'gpu=4:H100' });
});

afterAll(() => system.close());

it('PostgreSQL killed and restarted three times: acknowledged jobs all finish, once', {
  timeout: 300_000,
}, async () => {
  const acknowledged: JobId[] = [];
  for (let round = 0; round < 3; round++) {
    const long = await system.submit(provenJob(system, 'sleep 4'));
    await system.inState(long, 'running', 20_000);
    for (let i = 0; i < 10; i++) acknowledged.push(await system.submit(provenJob(system, 'true')));
    acknowledged.push(long);
    await system.postgres.kill();
    const during = await fetch(`${system.client.url}/v1/jobs`, {
      headers: { authorization: `Bearer ${system.adminToken}` },
    });
    expect(during.status).toBe(503);
    expect(during.headers.get('retry-after')).not.toBeNull();
    expect(during.headers.get('content-type')).toContain('application/problem+json');
    await system.postgres.start();
    await eventually(
      'the API answers again',
      20_000,
      async () => (await fetch(`${system.client.url}/readyz`)).ok,
    );
  }
  for (const job of acknowledged) {
    const detail = await system.ended(job, 60_000);
    expect({ job, result: detail.result }).toEqual({ job, result: { outcome: 'succeeded' } });
    // A node may be called silent meanwhile, which takes back what it was not told yet: proven not to have run.
    const others = detail.runs.filter(({ result }) => result?.outcome !== 'succeeded');
    expect(detail.runs).toHaveLength(others.length + 1);
    for (const { result } of others) expect(result).toMatchObject({ reason: { code: 'never-started' } });
  }
  expectAttemptsOnce(system);
  await expectIdle(system);
  await expectWholeLog(system);
});
