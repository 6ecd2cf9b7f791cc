// F1: the control plane is killed at random moments, fifty times, under load. No acknowledged job is lost, none runs twice,
// and no restart needs repair.
import type { JobId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { MusterProcess } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';
import { expectAttemptsOnce, expectIdle, expectWholeLog, proofs, provenJob } from './proof.ts';

const kills = Number(process.env.MUSTER_KILLS ?? 50);
const submitters = 4;
/** A kill falls anywhere in a submit, a cycle, a dispatch or a report. */
const killWithinMs = 700;

let system: TestSystem;
let port: number;
let server: MusterProcess;

beforeAll(async () => {
  port = await freePort();
  system = await startSystem([{ name: 'server', port }]);
  server = system.server('server');
  await system.startAgent({ name: 'n1', devices: 'gpu=4:H100' });
  await system.startAgent({ name: 'n2', devices: 'gpu=4:H100' });
});

afterAll(() => system.close());

it(`killed ${kills} times under load: no acknowledged job is lost, none runs twice`, {
  timeout: 600_000,
}, async () => {
  const acknowledged = new Set<JobId>();
  let over = false;
  async function submitUntilOver(): Promise<void> {
    while (!over) {
      try {
        acknowledged.add(
          await system.submit(provenJob(system, 'true', { resources: { cpus: 1, memory: '64MiB' } })),
        );
      } catch {
        // The client gave up on a server that was down for long: not acknowledged, so nothing is promised.
      }
    }
  }
  const load = Array.from({ length: submitters }, submitUntilOver);
  for (let i = 0; i < kills; i++) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * killWithinMs));
    await server.end('SIGKILL');
    server = await system.startServer('server', port);
  }
  over = true;
  await Promise.all(load);
  for (const job of acknowledged) {
    const detail = await system.ended(job, 120_000);
    expect({ job, outcome: detail.result?.outcome }).toEqual({ job, outcome: 'succeeded' });
  }
  expect(acknowledged.size).toBeGreaterThan(kills);
  const ended = new Set(
    proofs(system)
      .filter((proof) => proof.word === 'end')
      .map((proof) => proof.job),
  );
  expect(
    [...acknowledged].filter((job) => !ended.has(job)),
    'acknowledged jobs that never ran',
  ).toEqual([]);
  expectAttemptsOnce(system);
  await expectIdle(system);
  await expectWholeLog(system);
});
