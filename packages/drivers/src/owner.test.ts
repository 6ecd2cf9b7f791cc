import { expect, test } from 'vitest';
import { checkClaim, othersPlace, ownershipOf } from './owner.ts';

const claims = { claims: true, runs: async () => 0 };
const owner = { installation: 'ours', cluster: 'alpha', server: 'https://here.example' };

test('a place is our own under our name, or under one that our installation has no more', () => {
  const clusters = ['alpha', 'beta'];
  const { isOwn } = ownershipOf(owner, () => clusters, claims);
  expect(isOwn({ ...owner, server: 'https://moved.example' })).toBe(true);
  expect(isOwn({ ...owner, installation: 'theirs' })).toBe(false);
  expect(isOwn({ ...owner, cluster: 'beta' })).toBe(false);
  clusters.pop();
  expect(isOwn({ ...owner, cluster: 'beta' })).toBe(true);
  expect(isOwn({ ...owner, installation: 'theirs', cluster: 'beta' })).toBe(false);
});

test("another's place says whose it is, and what to do", () => {
  const ownership = ownershipOf(owner, () => ['alpha', 'beta'], claims);
  const told = (more: object) =>
    othersPlace('the directory /shared', { ...owner, ...more }, ownership, 'empty this one').message;
  expect(told({ installation: 'theirs', server: 'https://there.example' })).toBe(
    "the directory /shared holds the runs of another Muster: cluster alpha of the server at https://there.example (installation theirs), and the two would stop each other's; choose another one, or, once that cluster is removed there, empty this one",
  );
  expect(told({ cluster: 'beta' })).toContain('holds the runs of cluster beta, and the two');
});

test('a place without a mark is not taken for a cluster that has runs somewhere', async () => {
  const having = (runs: number) =>
    checkClaim(
      'the directory /shared',
      ownershipOf(owner, () => ['alpha'], { claims: true, runs: async () => runs }),
      'write x to y',
    );
  await having(0);
  await expect(having(1)).rejects.toThrow(
    'bears no mark, and a run of cluster alpha is not known to be over',
  );
  await expect(having(2)).rejects.toThrow(
    'the directory /shared bears no mark, and 2 runs of cluster alpha are not known to be over: it is not the place that they are in (another API server, a directory that is not mounted?), so nothing is done; if it is the right one, write x to y, and if nothing of them runs anywhere, say so (muster clusters lost alpha)',
  );
});
