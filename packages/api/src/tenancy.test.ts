import { defaultPolicy } from '@muster/model';
import { expect, test } from 'vitest';
import { createTenancy } from './tenancy.ts';

test('a project made while an older load is under way is seen by who asks anew', async () => {
  const answers: ((paths: readonly string[]) => void)[] = [];
  const store = {
    clusters: async () => [],
    policy: async () => ({ version: 1, policy: defaultPolicy, createdMs: 0, createdBy: 'x' }),
    projects: () =>
      new Promise<{ path: string; createdMs: number; createdBy: string }[]>((resolve) =>
        answers.push((paths) => resolve(paths.map((path) => ({ path, createdMs: 0, createdBy: 'x' })))),
      ),
  };
  const tenancy = createTenancy(store, { nowMs: () => 0 });
  const older = tenancy.current();
  const [one, two] = [tenancy.refreshed(), tenancy.refreshed()];
  answers[0]?.([]);
  expect((await older).hasProject('new')).toBe(false);
  await Promise.resolve();
  answers[1]?.(['new']);
  expect((await one).hasProject('new')).toBe(true);
  expect(await two).toBe(await one);
  expect(answers).toHaveLength(2);
});
