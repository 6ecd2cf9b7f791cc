import type { RunId } from '@muster/model';
import { expect, test } from 'vitest';
import type { SlurmJob } from './listing.ts';
import { parseController, takenBy } from './sight.ts';

const run = 'run_000000000000000001_1' as RunId;
const uses = [{ node: 'n1', cpus: 2, memoryMib: 100, gres: 'gpu:h100:3(IDX:0-2),shard:4' }];
const job = (name: string, comment: string, more: Partial<SlurmJob> = {}): SlurmJob => {
  const states = { state: 'RUNNING', phase: 'holds', reason: 'None' } as const;
  return {
    id: 1,
    name,
    comment,
    ...states,
    submittedS: 1,
    eligibleS: 1,
    restarts: 0,
    endS: 0,
    partOf: null,
    user: 'ann',
    uses,
    ...more,
  };
};

test('what others hold is taken, and neither ours nor what waits is', () => {
  const ours = job(run, `${run} ours`);
  const jobs = [job('mine', ''), job(run, 'copied the name'), ours, job('x', '', { phase: 'waits' })];
  expect(takenBy(jobs, new Set([ours]))).toEqual(
    new Map([['n1', { cpus: 4, memoryMib: 200, devices: new Map([['h100', 6]]) }]]),
  );
});

const config = `Configuration data as of 2026-11-16T09:48:59
AccountingStorageBackupHost = (null)
BOOT_TIME               = 2026-11-16T09:48:39
SlurmdTimeout           = 300 sec
`;

test('how long the controller is up is read from its own answer', () => {
  expect(parseController(config)).toEqual({
    boot: '2026-11-16T09:48:39',
    bootS: Date.parse('2026-11-16T09:48:39Z') / 1000,
    nowS: Date.parse('2026-11-16T09:48:59Z') / 1000,
    upMs: 20_000,
    slurmdTimeoutMs: 300_000,
    hasAccounting: false,
  });
});

test('whether it keeps accounting is read there too', () => {
  const type = (word: string) => `${config}AccountingStorageType   = accounting_storage/${word}\n`;
  expect(parseController(type('slurmdbd')).hasAccounting).toBe(true);
  expect(parseController(type('none')).hasAccounting).toBe(false);
});

test.each(['BOOT_TIME', 'SlurmdTimeout', 'Configuration'])('an answer without %s is refused', (word) => {
  expect(() => parseController(config.replace(word, 'x'))).toThrow(/names no/);
  expect(() => parseController('')).toThrow(/names no/);
});
