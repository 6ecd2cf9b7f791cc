// On a real Slurm that loses a start: tests/slurm/faults.test.ts. Here which jobs count as such.
import type { RunId } from '@muster/model';
import { expect, it } from 'vitest';
import type { SlurmJob } from './listing.ts';
import { isLostStart, overLostStarts } from './lost-starts.ts';
import type { Evidence } from './run-directory.ts';

const job = (more: Partial<SlurmJob>): SlurmJob =>
  ({ id: 7, phase: 'waits', partOf: null, restarts: 0, ...more }) as SlurmJob;
const claimedBy = (id: number | null): Evidence => ({ claim: { job: id } }) as Evidence;

it('takes a waiting job for a lost start when it, or what it is a part of, claimed the key', () => {
  expect(isLostStart(job({}), claimedBy(7))).toBe(true);
  expect(isLostStart(job({ partOf: 7, id: 8 }), claimedBy(7))).toBe(true);
  expect(isLostStart(job({ phase: 'holds' }), claimedBy(7))).toBe(false);
  // Put back into the queue by an outside hand.
  expect(isLostStart(job({ restarts: 1 }), claimedBy(7))).toBe(false);
  // Another submit of a gang that runs.
  expect(isLostStart(job({ partOf: 9, id: 9 }), claimedBy(7))).toBe(false);
  expect(isLostStart(job({ partOf: 9, id: 10 }), claimedBy(7))).toBe(false);
  // Another submit of the key; one that a stop keeps from beginning; one that nobody claimed.
  expect(isLostStart(job({ id: 8 }), claimedBy(7))).toBe(false);
  expect(isLostStart(job({}), claimedBy(null))).toBe(false);
  expect(isLostStart(job({}), { claim: null } as Evidence)).toBe(false);
});

it('gives up no lost start before all nodes have registered, nor while one of its own does not answer', () => {
  const tasks = ['n1', 'n2'].map((node, rank) => ({ rank, node, devices: [] }));
  const evidence = { ...claimedBy(7), tasks };
  const lost = [{ run: 'run_000000000000000001_1' as RunId, job: job({}), evidence }];
  const over = (settled: boolean, ...silent: string[]) =>
    overLostStarts(lost, { settled, silent: new Set(silent) }).length;
  expect([over(false), over(true, 'n2'), over(true, 'n3'), over(true)]).toEqual([0, 0, 1, 1]);
});
