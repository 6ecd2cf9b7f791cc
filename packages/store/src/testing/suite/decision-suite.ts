import type { DecisionTrace } from '@muster/model';
import { expect, test } from 'vitest';
import type { Store } from '../../contract.ts';
import { aPlan, aUnit, joinNode, lead, placement, submitted } from '../builders.ts';
import type { Harness } from './harness.ts';

const all = { after: 0, fromSequence: 0, limit: 100 };
const room = 1_000_000;

async function pieces(store: Store, sequence: number): Promise<string[]> {
  const found: string[] = [];
  for await (const piece of store.snapshotPieces(sequence)) found.push(piece);
  return found;
}

export function decisionSuite(harness: Harness): void {
  test('a committed decision is logged with what a replay needs, and a refused one is not', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const { node } = await joinNode(store);
    const [one, gone] = [await submitted(store), await submitted(store)];
    await store.cancel(gone, 'ada');
    const units = [aUnit(one, [placement(node)], { port: 1 }), aUnit(gone, [placement(node)], { port: 2 })];
    const trace: DecisionTrace = {
      life: 3,
      turn: 0,
      quiet: [
        [2, 1_700_000_000_001],
        [2, 1_700_000_001_001],
        [4, 1_700_000_001_002],
      ],
    };
    const plan = aPlan(units, { sequence: 5, nowMs: 1_700_000_001_500, hash: 'abc' });
    await store.commitPlan(epoch, plan, trace);
    await store.commitPlan(epoch - 1, plan, trace);
    await store.commitPlan(epoch, aPlan([], { policyVersion: 9 }), trace);
    const second = { life: 3, turn: 1, quiet: [] };
    await store.commitPlan(epoch, aPlan([], { sequence: 8, hash: 'def' }), second);
    const [first, then, ...rest] = await store.decisions(all);
    expect(rest).toEqual([]);
    const { policyVersion, engineVersion, sequence, nowMs } = plan;
    const made = { policyVersion, engineVersion, sequence, nowMs, hash: 'abc', epoch };
    expect(first).toEqual({ id: first?.id, ...made, ...trace, units: 2, verdicts: 0, applied: 1 });
    expect(then).toMatchObject({ sequence: 8, hash: 'def', units: 0, ...second });
    expect(await store.decisions({ ...all, after: first?.id ?? 0 })).toEqual([then]);
    expect(await store.decisions({ ...all, fromSequence: 6 })).toEqual([then]);
    expect(await store.decisions({ ...all, limit: 1 })).toEqual([first]);
    expect(await store.decisions({ ...all, fromMs: nowMs })).toEqual([first]);
    expect(await store.lifeAt(4)).toBeNull();
    expect(await store.lifeAt(5)).toEqual(first);
    expect(await store.lifeAt(99)).toEqual(first);
  });

  test('a decision without a trace is committed and offered to no replay', async () => {
    const store = await harness.store();
    expect(await store.commitPlan(await lead(store), aPlan([]))).toMatchObject({ outcome: 'committed' });
    expect(await store.decisions(all)).toEqual([]);
  });

  test('a snapshot is kept whole or not at all, and given back as it was', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const texts = ['{"a":1}', `["${'x'.repeat(5000)}"]`, '"ü"'];
    expect(await store.saveSnapshot(epoch - 1, 1, texts, room)).toMatchObject({ refusal: 'stale-epoch' });
    expect(await store.saveSnapshot(epoch, 1, texts, 30)).toMatchObject({ refusal: 'too-large' });
    expect(await store.snapshots()).toEqual([]);
    const saved = await store.saveSnapshot(epoch, 7, texts, room);
    expect(saved).toMatchObject({ outcome: 'committed', value: { sequence: 7 } });
    expect(await store.saveSnapshot(epoch, 7, ['other'], room)).toMatchObject({ value: null });
    await store.saveSnapshot(epoch, 3, ['earlier'], room);
    expect((await store.snapshots()).map(({ sequence }) => sequence)).toEqual([3, 7]);
    expect(await pieces(store, 7)).toEqual(texts);
    expect(await pieces(store, 8)).toEqual([]);
  });
}
