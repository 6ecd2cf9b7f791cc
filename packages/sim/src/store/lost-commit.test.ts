import { OperationalError } from '@muster/model';
import { CommitUnknown, unavailable } from '@muster/store/rules';
import { aPlan, aSubmit, aUnit, joinNode, lead, placement, submitted } from '@muster/store/testing';
import { expect, test } from 'vitest';
import { MemoryDatabase } from './database.ts';
import { directLine, type Line, openMemoryStore } from './memory-store.ts';

type Fate = 'answered' | 'applied' | 'dropped' | 'unreached';

/** A database whose next write has this fate; the other store's line is whole. */
function world() {
  let nowMs = 1000;
  let fate: Fate = 'answered';
  const database = new MemoryDatabase({ nowMs: () => ++nowMs, random: () => 0.5 });
  const line: Line = {
    ...directLine,
    async write(work) {
      const now = fate;
      fate = 'answered';
      if (now === 'unreached') throw unavailable(new Error('cut'));
      const value = now === 'dropped' ? null : work();
      if (now !== 'answered') throw new CommitUnknown('no answer to COMMIT');
      return value as ReturnType<typeof work>;
    },
  };
  const next = (coming: Fate) => {
    fate = coming;
  };
  return { store: openMemoryStore(database, line), whole: openMemoryStore(database), next };
}

test.each(['applied', 'dropped'] as const)(
  'a lost COMMIT answer (%s) makes every item of its group unknown',
  async (fate) => {
    const { store, whole, next } = world();
    const items = [aSubmit({ key: 'a' }), aSubmit({ key: 'b' }), aSubmit({ key: 'c' })];
    next(fate);
    const answers = await Promise.all(items.map((item) => store.submit(item)));
    expect(answers).toEqual([{ outcome: 'unknown' }, { outcome: 'unknown' }, { outcome: 'unknown' }]);
    for (const item of items)
      expect(await whole.jobByKey('default', 'ada', item.key as string)).toBe(
        fate === 'applied' ? item.id : null,
      );
    // Looking is what settles it: the same item sent again is the same job.
    const again = await store.submit(items[0]!);
    expect(again).toMatchObject({
      outcome: 'committed',
      value: { job: items[0]?.id, repeated: fate === 'applied' },
    });
  },
);

test('a database that is not reached says so, and nothing happened', async () => {
  const { store, whole, next } = world();
  next('unreached');
  await expect(store.submit(aSubmit())).rejects.toThrow(OperationalError);
  expect(await whole.head()).toMatchObject({ sequence: 0 });
});

test('rows of a take whose COMMIT was not answered are taken again by the same store', async () => {
  const { store, whole, next } = world();
  const epoch = await lead(whole);
  const node = await joinNode(whole);
  await whole.commitPlan(epoch, aPlan([aUnit(await submitted(whole), [placement(node.node)])]));
  next('applied');
  await expect(store.takeOutbox([node], 10)).rejects.toThrow(OperationalError);
  expect(await whole.takeOutbox([node], 10)).toEqual([]);
  expect(await store.takeOutbox([node], 10)).toMatchObject([{ kind: 'start' }]);
  expect(await store.takeOutbox([node], 10)).toEqual([]);
});
