// Fidelity first: figures that other simulators gave for the same jobs, machine and policy. They need the public traces beside
// the repository; without those the tests say what was not run.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { measure } from './metrics/measures.ts';
import { asked, exact } from './policies/beliefs.ts';
import { easy, easyShortest } from './policies/easy.ts';
import { inOrder } from './policies/in-order.ts';
import { learned } from './policies/learned/learned.ts';
import { fleetOf } from './replay/fleet.ts';
import { type Policy, replay } from './replay/replay.ts';
import { readTrace } from './traces/read-trace.ts';
import { shorterFirst, withTies } from './traces/ties.ts';
import type { Trace } from './traces/trace.ts';

const traces = join(import.meta.dirname, '../../../../shared/traces');
const kthFile = join(traces, 'swf/KTH-SP2-1996-2.1-cln.swf.gz');
const phillyFile = join(traces, 'philly/philly.csv.gz');

describe.skipIf(!existsSync(kthFile))('KTH-SP2 on 100 nodes', () => {
  let trace: Trace;
  beforeAll(async () => {
    trace = (await readTrace(kthFile)).trace;
  });

  test.each<[string, Policy, number, number]>([
    ['EASY on asked times', easy(asked), 6847, 91.3],
    ['EASY on exact run times', easy(exact), 6380, 72.3],
    ['EASY, shortest first, on exact run times', easyShortest(exact), 5475, 50.6],
  ])('%s waits and slows down as in the literature', (_name, policy, waitS, slowdown) => {
    const figures = measure(replay(trace, fleetOf(100, 1), policy));
    expect(figures.jobs).toBe(28_467);
    expect(Math.round(figures.avgWaitS)).toBe(waitS);
    expect(figures.boundedSlowdown).toBeCloseTo(slowdown, 1);
  });
});

describe.skipIf(!existsSync(kthFile))(
  'learned run times on KTH-SP2, without an oracle and without stopping anybody',
  () => {
    test('jobs wait less and are slowed down less than under EASY, and nobody waits more than twice as long', async () => {
      const { trace } = await readTrace(kthFile);
      const textbook = measure(replay(trace, fleetOf(100, 1), easy(asked)));
      const figures = measure(replay(trace, fleetOf(100, 1), learned));
      expect(figures.preemptions).toBe(0);
      expect(figures.avgWaitS).toBeLessThan(5400);
      expect(figures.boundedSlowdown).toBeLessThan(45);
      expect(figures.maxWaitS).toBeLessThanOrEqual(2 * textbook.maxWaitS);
    });
  },
);

describe.skipIf(!existsSync(phillyFile))('Philly on one pool of 8-GPU nodes', () => {
  let trace: Trace;
  beforeAll(async () => {
    trace = (await readTrace(phillyFile)).trace;
  });

  test.each([
    [512, 'sjf', 13_151],
    [512, 'ssf', 7938],
    [768, 'sjf', 676],
    [768, 'ssf', 608],
  ])('%i GPUs, %s: the average queue is that of an independent simulator', (gpus, name, waitS) => {
    const policy = inOrder.find((row) => row.name === name)!;
    const figures = measure(replay(trace, fleetOf(gpus / 8, 8), policy));
    expect(figures.jobs).toBe(82_247);
    expect(Math.round(figures.avgWaitS)).toBe(waitS);
  });

  test.each([
    [512, 803_348],
    [768, 2937],
  ])('%i GPUs, strict FIFO: so is it, once ties of arrival are broken as there', (gpus, waitS) => {
    const fifo = inOrder.find((row) => row.name === 'fifo')!;
    const played = replay(withTies(trace, shorterFirst), fleetOf(gpus / 8, 8), fifo);
    expect(Math.round(measure(played).avgWaitS)).toBe(waitS);
  });
});
