import { expect, test } from 'vitest';
import type { SeedReport } from './run-seed.ts';
import { runPool } from './seed-pool.ts';

/** Answers every seed, but hangs at 2 and dies at 4. */
const program = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', (seed) => {
    if (seed === null) return parentPort.close();
    if (seed === 2) for (;;);
    if (seed === 4) throw new Error('dead');
    parentPort.postMessage({ seed, failure: null });
  });
  parentPort.postMessage('ready');
`)}`,
);

test('a seed that hangs, or takes its worker down, is told as failed and holds up no other', async () => {
  const told = new Map<number, SeedReport['failure']>();
  let next = 1;
  await runPool({
    workers: 2,
    seedLimitMs: 500,
    template: null,
    program,
    next: () => (next > 8 ? null : next++),
    report: ({ seed, failure }) => told.set(seed, failure),
  });
  expect([...told.keys()].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(told.get(2)).toMatchObject({ rule: 'hangs' });
  expect(told.get(4)).toMatchObject({ rule: 'bug', message: expect.stringContaining('dead') });
  expect([...told.values()].filter((failure) => failure !== null)).toHaveLength(2);
});
