import { OperationalError } from '@muster/model';
import { expect, test } from 'vitest';
import { CommitUnknown } from './failure.ts';
import { groupCommit } from './group-commit.ts';

/** A commit that can be held back, and what it was called with. */
function recorder(
  answer: (items: readonly number[]) => readonly number[] = (items) => items.map((n) => n * 10),
) {
  const groups: number[][] = [];
  const gates: (() => void)[] = [];
  let held = false;
  return {
    groups,
    hold: () => {
      held = true;
    },
    letGo: () => {
      held = false;
      for (const gate of gates.splice(0)) gate();
    },
    commit: async (items: readonly number[]) => {
      groups.push([...items]);
      if (held) await new Promise<void>((resolve) => gates.push(resolve));
      return answer(items);
    },
  };
}

test('calls that arrive while a group is in flight become the next group', async () => {
  const record = recorder();
  const lane = groupCommit({ maxItems: 100 }, record.commit);
  record.hold();
  const first = lane.push([1]);
  await Promise.resolve();
  await Promise.resolve();
  const rest = [lane.push([2]), lane.push([3, 4])];
  record.letGo();
  expect(await first).toEqual([{ kind: 'done', result: 10 }]);
  expect(await Promise.all(rest)).toEqual([
    [{ kind: 'done', result: 20 }],
    [
      { kind: 'done', result: 30 },
      { kind: 'done', result: 40 },
    ],
  ]);
  expect(record.groups).toEqual([[1], [2, 3, 4]]);
});

test('a group is bounded, and a call larger than the bound goes alone', async () => {
  const record = recorder();
  const lane = groupCommit({ maxItems: 3 }, record.commit);
  await Promise.all([lane.push([1, 2]), lane.push([3, 4]), lane.push([5, 6, 7, 8]), lane.push([9])]);
  expect(record.groups).toEqual([[1, 2], [3, 4], [5, 6, 7, 8], [9]]);
});

/** What promises do in the meantime. */
async function turn(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

test('a group goes behind the one on its way once it is as large and large enough, and a third waits', async () => {
  const record = recorder();
  const lane = groupCommit({ maxItems: 100, behindFrom: 3 }, record.commit);
  record.hold();
  const calls = [lane.push([1, 2])];
  await turn();
  calls.push(lane.push([3, 4]));
  await turn();
  expect(record.groups).toEqual([[1, 2]]);
  calls.push(lane.push([5]));
  await turn();
  expect(record.groups).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
  calls.push(lane.push([6, 7, 8, 9]));
  await turn();
  expect(record.groups).toHaveLength(2);
  record.letGo();
  await Promise.all(calls);
  expect(record.groups.slice(2)).toEqual([[6, 7, 8, 9]]);
});

test('a group that is smaller than the one on its way waits for it', async () => {
  const record = recorder();
  const lane = groupCommit({ maxItems: 100, behindFrom: 2 }, record.commit);
  record.hold();
  const calls = [lane.push([1, 2, 3])];
  await turn();
  calls.push(lane.push([4, 5]));
  await turn();
  expect(record.groups).toEqual([[1, 2, 3]]);
  record.letGo();
  await Promise.all(calls);
});

test('the next group is on its way before the last one is answered', async () => {
  const seen: string[] = [];
  const lane = groupCommit({ maxItems: 2 }, async (items: readonly number[]) => {
    seen.push(`sent ${items}`);
    return items;
  });
  const calls = [lane.push([1, 2]), lane.push([3])];
  await Promise.all(calls.map((call, i) => call.then(() => seen.push(`answered ${i}`))));
  expect(seen).toEqual(['sent 1,2', 'sent 3', 'answered 0', 'answered 1']);
});

test('an item the database rejects stands alone in the end; its neighbours are committed', async () => {
  const record = recorder((items) => {
    if (items.includes(13)) throw new OperationalError('internal', 'bad item');
    return items.map((n) => n);
  });
  const lane = groupCommit({ maxItems: 100 }, record.commit);
  const settled = await lane.push([1, 2, 13, 4, 5, 6, 7]);
  expect(settled.map((one) => one.kind)).toEqual(['done', 'done', 'failed', 'done', 'done', 'done', 'done']);
});

test('a world that fails is not asked again for each item', async () => {
  const record = recorder(() => {
    throw new OperationalError('unavailable', 'down');
  });
  const lane = groupCommit({ maxItems: 100 }, record.commit);
  expect((await lane.push([1, 2, 3])).map((one) => one.kind)).toEqual(['failed', 'failed', 'failed']);
  expect(record.groups).toHaveLength(1);
});

test('a lost answer makes every item of its group unknown, and the lane goes on', async () => {
  let lose = true;
  const lane = groupCommit({ maxItems: 100 }, async (items: readonly number[]) => {
    if (lose) throw new CommitUnknown('lost');
    return items;
  });
  expect((await lane.push([1, 2])).map((one) => one.kind)).toEqual(['unknown', 'unknown']);
  lose = false;
  expect((await lane.push([3])).map((one) => one.kind)).toEqual(['done']);
});
