import { expect, test } from 'vitest';
import { othersPlace, ownershipOf } from './owner.ts';

const owner = { installation: 'ours', cluster: 'alpha', server: 'https://here.example' };

test('a place is our own under our name, or under one that our installation has no more', () => {
  const clusters = ['alpha', 'beta'];
  const { isOwn } = ownershipOf(owner, () => clusters, true);
  expect(isOwn({ ...owner, server: 'https://moved.example' })).toBe(true);
  expect(isOwn({ ...owner, installation: 'theirs' })).toBe(false);
  expect(isOwn({ ...owner, cluster: 'beta' })).toBe(false);
  clusters.pop();
  expect(isOwn({ ...owner, cluster: 'beta' })).toBe(true);
  expect(isOwn({ ...owner, installation: 'theirs', cluster: 'beta' })).toBe(false);
});

test("another's place says whose it is, and what to do", () => {
  const ownership = ownershipOf(owner, () => ['alpha', 'beta'], true);
  const told = (more: object) =>
    othersPlace('the directory /shared', { ...owner, ...more }, ownership, 'empty this one').message;
  expect(told({ installation: 'theirs', server: 'https://there.example' })).toBe(
    "the directory /shared holds the runs of another Muster: cluster alpha of the server at https://there.example (installation theirs), and the two would stop each other's; choose another one, or, once that cluster is removed there, empty this one",
  );
  expect(told({ cluster: 'beta' })).toContain('holds the runs of cluster beta, and the two');
});
