// An array from submit to end on real processes: members that fail once, members that are cancelled, and a control plane that is
// killed in the middle. Every member proves by a side file that it ran to its end exactly once.
import { memberId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectAttemptsOnce, expectIdle, expectWholeLog, proofs, provenJob } from '../faults/proof.ts';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';

const count = 200;
const sleeper = 5;
const dropped = 190;

let system: TestSystem;
let port: number;

beforeAll(async () => {
  port = await freePort();
  system = await startSystem([{ name: 'server', port }]);
  for (const name of ['n1', 'n2']) await system.startAgent({ name, devices: 'gpu=4:H100' });
});

afterAll(() => system.close());

it('every member ends exactly once, though some fail, some are cancelled and the control plane is killed', {
  timeout: 240_000,
}, async () => {
  const work = [
    `[ $MUSTER_ARRAY_INDEX = ${sleeper} ] && exec sleep 600`,
    '[ $((MUSTER_ARRAY_INDEX % 20)) = 3 ] && [ $MUSTER_ATTEMPT = 1 ] && exit 7',
    'echo "I am $SLURM_ARRAY_TASK_ID of $MUSTER_ARRAY_COUNT in $MUSTER_ARRAY_ID"',
  ].join('; ');
  const array = await system.submit(
    provenJob(system, work, {
      array: { count, parallel: 6 },
      retry: { user: 2 },
      resources: { cpus: 1, memory: '64MiB', accelerators: { model: 'H100', count: 1 } },
    }),
  );
  const { jobs } = system.client;
  const waits = await jobs.why(memberId(array, count - 1));
  expect(waits.verdict).toMatchObject({ kind: 'waits' });
  expect((await jobs.cancel(memberId(array, dropped))).state).toBe('ended');
  await system.inState(memberId(array, sleeper), 'running', 60_000);

  await system.server('server').end('SIGKILL');
  await system.startServer('server', port);

  await eventually('half of the members are over', 120_000, async () => {
    const { array: at } = await jobs.get(array);
    expect(at!.running).toBeLessThanOrEqual(6);
    return at!.succeeded > count / 2;
  });
  expect((await jobs.list({})).items.map(({ id }) => id)).toEqual([array]);
  await jobs.cancel(`${array}[${sleeper}-${sleeper}]`);

  const ended = await system.ended(array, 180_000);
  expect(ended).toMatchObject({
    array: { count, waiting: 0, running: 0, succeeded: count - 2, failed: 0, cancelled: 2 },
    result: { outcome: 'cancelled', reason: { message: '198 of 200 members succeeded, 2 were cancelled' } },
  });
  const ends = proofs(system).filter(({ word }) => word === 'end');
  const expected = Array.from({ length: count }, (_, index) => memberId(array, index) as string).filter(
    (_, index) => index !== sleeper && index !== dropped,
  );
  expect(ends.map(({ job }) => job).sort()).toEqual(expected.sort());
  expect(ends.filter(({ attempt }) => attempt === 2)).toHaveLength(count / 20);
  expectAttemptsOnce(system);

  const text = Buffer.from((await jobs.logs(memberId(array, 17))).data).toString();
  expect(text).toBe(`I am 17 of ${count} in ${array}\n`);
  const page = await jobs.members(array, { state: ['ended'], limit: 150 });
  const rest = await jobs.members(array, { state: ['ended'], limit: 150, cursor: page.next! });
  const listed = [...page.items, ...rest.items].map(({ index }) => index);
  expect(listed).toEqual(Array.from({ length: count }, (_, i) => i).filter((index) => index !== dropped));
  expect((await jobs.get(memberId(array, 23))).runs).toHaveLength(2);
  await expectIdle(system);
  await expectWholeLog(system);
});
