import { defaultPolicy, type JobId, type JobSpec, type Policy } from '@muster/model';
import type { EndedJob, EndedPlace } from '@muster/store';
import { describe, expect, test } from 'vitest';
import { startLearning } from './learning.ts';
import { virtualWorld } from './testing/virtual-world.ts';

const task = { tasks: 2, cpuMilli: null, memoryMib: null, topology: null, near: null };
const spec = (name: string) =>
  ({
    project: 'research',
    name,
    timeLimitMs: 86_400_000,
    groups: [{ demand: { ...task, name: 'main', accelerators: [{ kind: 'gpu', milli: 4000 }] } }],
  }) as unknown as JobSpec;

/** Ended jobs as the store tells them; how it finds them is tested in the store's suite. */
function setUp() {
  const world = virtualWorld();
  let runTimes: Policy['runTimes'] = { use: 'learned', first: 'shares', stop: 'nobody' };
  const ended: EndedJob[] = [];
  const asked: (EndedPlace | null)[] = [];
  const learning = startLearning({
    world,
    store: {
      policy: async () => ({ version: 1, policy: { ...defaultPolicy, runTimes } }),
      async endedJobs(after, limit) {
        asked.push(after);
        return ended.filter(({ endedMs }) => endedMs > (after?.endedMs ?? 0)).slice(0, limit);
      },
    },
    onBug: (error) => {
      throw error;
    },
  });
  return {
    world,
    learning,
    asked,
    use: (which: Policy['runTimes']['use']) => {
      runTimes = { ...runTimes, use: which };
    },
    end: (name: string, ranMs: number) =>
      ended.push({
        id: `job_${ended.length}` as JobId,
        endedMs: ended.length + 1,
        spec: spec(name),
        user: 'ada',
        ranMs,
        estimate: null,
      }),
  };
}

describe('run times', () => {
  test('are said of a job like those that have ended, in two digits', async () => {
    const { world, learning, end } = setUp();
    for (let i = 0; i < 20; i++) end('train', 1_234_567);
    await world.settle();
    expect(learning.estimate(spec('train'), 'ada')).toEqual({ expectedMs: 1_200_000, p90Ms: 1_200_000 });
    await learning.stop();
  });

  test('follow the jobs that end later, each of which is read once', async () => {
    const { world, learning, end, asked } = setUp();
    await world.settle();
    expect(learning.estimate(spec('train'), 'ada')).toBeUndefined();
    end('train', 60_000);
    await world.advance(5000);
    expect(learning.estimate(spec('train'), 'ada')).toMatchObject({ expectedMs: 60_000 });
    end('train', 1);
    await world.advance(5000);
    expect(asked.at(-1)).toEqual({ id: 'job_1', endedMs: 2 });
    await learning.stop();
  });

  test('are neither read nor said while the policy does not use them', async () => {
    const { world, learning, end, asked, use } = setUp();
    use('asked');
    end('train', 60_000);
    await world.advance(60_000);
    expect(asked.filter((place) => place !== null)).toEqual([]);
    expect(learning.estimate(spec('train'), 'ada')).toBeUndefined();
    use('learned');
    await world.advance(10_000);
    expect(learning.estimate(spec('train'), 'ada')).toBeDefined();
    await learning.stop();
  });

  test('are learned anew from the newest when the policy uses them again', async () => {
    const { world, learning, end, asked, use } = setUp();
    end('train', 60_000);
    await world.advance(10_000);
    use('asked');
    await world.advance(10_000);
    const before = asked.length;
    use('learned');
    await world.advance(10_000);
    expect(asked.slice(before)[0]).toBeNull();
    expect(learning.estimate(spec('train'), 'ada')).toMatchObject({ expectedMs: 60_000 });
    await learning.stop();
  });
});
