import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readTrace } from './read-trace.ts';
import { sampleFile, sampleText } from './sample.ts';
import { synthetic } from './synthetic.ts';

const made = synthetic({ seed: 3, jobs: 5000, devices: 256, load: 0.8 });

test('the sample is what the generator writes, and reads back whole', async () => {
  expect(readFileSync(sampleFile, 'utf8')).toBe(sampleText());
  const { trace, report } = await readTrace(sampleFile);
  expect(report).toMatchObject({ rows: 3000, jobs: 3000, badCount: 0, excluded: [] });
  expect(trace.machineDevices).toBe(128);
});

describe('a made trace', () => {
  test('is the same for a seed, and another for another', () => {
    const small = { jobs: 50, devices: 64, load: 0.8 };
    expect(synthetic({ seed: 1, ...small })).toEqual(synthetic({ seed: 1, ...small }));
    expect(synthetic({ seed: 1, ...small })).not.toEqual(synthetic({ seed: 2, ...small }));
  });

  test('asks for the load it was made for, over the time in which jobs come', () => {
    const workMs = made.reduce((sum, { runMs, size }) => sum + runMs * size, 0);
    const spanMs = made.at(-1)!.submitMs;
    expect(workMs / (256 * spanMs)).toBeGreaterThan(0.75);
    expect(workMs / (256 * spanMs)).toBeLessThan(0.85);
  });

  test('has run times spread as in Philly, round asked times that hold, and sizes in powers of two', () => {
    const logs = made.map(({ runMs }) => Math.log(runMs / 1000));
    const mean = logs.reduce((sum, x) => sum + x, 0) / logs.length;
    const deviation = Math.sqrt(logs.reduce((sum, x) => sum + (x - mean) ** 2, 0) / logs.length);
    expect(mean).toBeGreaterThan(5.3);
    expect(mean).toBeLessThan(8.3);
    expect(deviation).toBeGreaterThan(1.6);
    expect(deviation).toBeLessThan(2.7);
    expect(made.every(({ runMs, askedMs }) => askedMs >= runMs && askedMs % 3_600_000 === 0)).toBe(true);
    expect(made.every(({ size }) => Number.isInteger(Math.log2(size)) && size <= 64)).toBe(true);
  });

  test('comes more by day than by night, and mostly from few users', () => {
    const at = (from: number, to: number) =>
      made.filter(({ submitMs }) => {
        const hour = (submitMs / 3_600_000) % 24;
        return hour >= from && hour < to;
      }).length;
    expect(at(12, 18)).toBeGreaterThan(2 * at(0, 6));
    const counts = new Map<string, number>();
    for (const { user } of made) counts.set(user, (counts.get(user) ?? 0) + 1);
    const most = [...counts.values()].sort((a, b) => b - a).slice(0, 6);
    expect(most.reduce((sum, count) => sum + count, 0) / made.length).toBeGreaterThan(0.3);
  });
});
