// How the cost of one decision grows from 1,000 to 100,000 nodes; the same jobs on both.
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { gangPlaced, placements, warmUpsOf } from './place-rows.ts';
import { idleMs, oneChangeMs, sharedWorld } from './queue-rows.ts';
import { mediansMs } from './timing.ts';

const smallNodes = 1000;
const placed = 8000;
const queued = 50_000;
/** Below this a decision is too short to be told from the clock's noise. */
const noiseMs = 0.02;

export function growthRow({ quick, progress }: BenchOptions): ToldRow {
  const largeNodes = quick ? 10_000 : 100_000;
  const repetitions = quick ? 3 : 9;
  const sizes = [smallNodes, largeNodes];
  const ratios = new Map<string, number>();
  const compare = (name: string, smallMs: number, largeMs: number, noise = noiseMs): void => {
    ratios.set(name, Math.max(largeMs, noise) / Math.max(smallMs, noise));
    progress(
      `${name}: ${smallMs.toPrecision(3)} ms on ${smallNodes} nodes, ${largeMs.toPrecision(3)} ms on ${largeNodes}`,
    );
  };
  const [few, many] = mediansMs(
    sizes.map((nodes) => placements(nodes, placed)),
    { repetitions: quick ? 1 : 3 },
  );
  compare('placement', few! / placed, many! / placed, 0);
  for (const tasks of [8, 512]) {
    const gangs = sizes.map((nodes) => gangPlaced(nodes, tasks));
    const [smallMs, largeMs] = mediansMs(gangs, { repetitions, warmUps: warmUpsOf(tasks) });
    compare(`gang_${tasks}`, smallMs!, largeMs!);
  }
  const small = sharedWorld(smallNodes, queued);
  const large = sharedWorld(largeNodes, queued);
  compare('idle', idleMs(small, repetitions * 5), idleMs(large, repetitions * 5));
  compare('one change', oneChangeMs(small, repetitions * 5), oneChangeMs(large, repetitions * 5));
  const [worst, ratio] = [...ratios].reduce((a, b) => (b[1] > a[1] ? b : a));
  const told = [...ratios].map(([name, each]) => `${name} ${each.toPrecision(3)}`).join(', ');
  return row({
    name: 'growth_1k_100k',
    value: ratio,
    unit: 'x',
    reference: ['no growth', 1],
    about: `How much dearer a decision is on ${largeNodes} nodes than on ${smallNodes}, the worst (${worst}) of: ${told}`,
    aim: '< 3',
  });
}
