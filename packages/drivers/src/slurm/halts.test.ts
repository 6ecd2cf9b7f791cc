import type { RunId } from '@muster/model';
import { expect, test } from 'vitest';
import { haltOf } from './halts.ts';
import type { SlurmJob } from './listing.ts';
import { slurmJob } from './testing/slurm-job.ts';

const run = 'run_000000000000000001_1' as RunId;
const waits = { state: 'PENDING', phase: 'waits' } as const;
const nowS = Date.parse('2026-11-18T12:00:00Z') / 1000;
const told = (more: Partial<SlurmJob>): string => haltOf(slurmJob(run, more), nowS)?.message ?? 'nothing';

test.each([
  [
    { reason: 'JobHeldAdmin' },
    'held in Slurm by an administrator of it, not through Muster; scontrol release 7 ',
  ],
  [{ reason: 'JobHeldUser' }, 'held in Slurm by muster (the account that it runs as) or in that name, '],
  [{ reason: 'JobHoldMaxRequeue' }, 'held in Slurm by itself, because its job began too often, '],
  [{ reason: 'JobHeldUser', restarts: 1 }, 'ended, put back into the queue and held in Slurm by muster '],
  [{ reason: 'BeginTime', eligibleS: nowS + 60 }, 'delayed in Slurm until 2026-11-18T12:01:00Z, not through'],
  // The reason is written at Slurm's next pass.
  [{ reason: 'Resources', eligibleS: nowS + 60 }, 'delayed in Slurm until 2026-11-18T12:01:00Z, not through'],
  [{ reason: 'BeginTime', eligibleS: 9e15 }, 'delayed in Slurm until 9999-12-31T23:59:59Z, not through'],
  [{ reason: 'Dependency', eligibleS: 0 }, 'made to wait for another job in Slurm, not through Muster; '],
  [{ reason: 'DependencyNeverSatisfied', eligibleS: 0 }, 'made to wait for another job in Slurm, '],
] as const)('a job that waits with %j is %s', (more, text) => {
  expect(told({ ...waits, ...more })).toContain(text);
});

test('a job that is suspended or stopped says what lets it go on', () => {
  expect(told({ state: 'SUSPENDED' })).toBe(
    'suspended in Slurm, not through Muster; scontrol resume 7 lets it go on',
  );
  expect(told({ state: 'STOPPED' })).toContain('scancel --signal=CONT 7 lets it go on');
});

test('nobody keeps a job that waits for room, runs, or is over', () => {
  expect(told({ ...waits, reason: 'Resources' })).toBe('nothing');
  expect(told({ ...waits, reason: 'BeginTime', eligibleS: nowS })).toBe('nothing');
  // It was held once; Slurm leaves the word there.
  expect(told({ reason: 'JobHeldAdmin' })).toBe('nothing');
  expect(told({ state: 'CANCELLED', phase: 'over', reason: 'JobHeldAdmin' })).toBe('nothing');
});
