import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  freshId,
  isId,
  isRunId,
  type JobId,
  memberId,
  parseMemberId,
  parseMemberRange,
  parseRunId,
  runId,
  runPrefix,
  submittedJob,
} from './ids.ts';

const bytes = fc.uint8Array({ minLength: 9, maxLength: 16 });
const time = fc.integer({ min: 0, max: 2 ** 45 - 1 });
const kinds = ['job', 'node', 'token', 'server', 'enrolment'] as const;

describe('fresh ids', () => {
  test('are of their own kind and of no other', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), time, bytes, (kind, nowMs, random) => {
        const id = freshId(kind, nowMs, random);
        expect(kinds.filter((other) => isId(other, id))).toEqual([kind]);
      }),
    );
  });

  test('made later sort later', () => {
    fc.assert(
      fc.property(time, time, bytes, bytes, (a, b, x, y) => {
        fc.pre(a !== b);
        expect(freshId('job', a, x) < freshId('job', b, y)).toBe(a < b);
      }),
    );
  });

  test('differ when the random bits differ', () => {
    const id = (byte: number) => freshId('job', 1, new Uint8Array(9).fill(byte));
    expect(new Set(Array.from({ length: 32 }, (_, i) => id(i))).size).toBe(32);
  });

  test.each([Number.NaN, -1, 0.5, 2 ** 45])('are not made at time %d', (nowMs) => {
    expect(() => freshId('job', nowMs, new Uint8Array(9))).toThrow('not a time');
  });

  test('are not made from too little randomness', () => {
    expect(() => freshId('job', 1, new Uint8Array(8))).toThrow('9 random bytes');
  });
});

describe('run ids', () => {
  test('tell their job and attempt', () => {
    fc.assert(
      fc.property(time, bytes, fc.integer({ min: 1, max: 999_999 }), (nowMs, random, attempt) => {
        const job = freshId('job', nowMs, random);
        const run = runId(job, attempt);
        expect(isRunId(run)).toBe(true);
        expect(parseRunId(run)).toEqual({ job, attempt });
        expect(isId('job', run)).toBe(false);
      }),
    );
  });

  const good = runId(freshId('job', 1, new Uint8Array(9)), 1);
  test.each([
    '',
    'run_',
    good.slice(0, -2),
    `${good.slice(0, -2)}_0`,
    `${good.slice(0, -2)}_01`,
    `${good.slice(0, -2)}_-1`,
    `${good.slice(0, -2)}_1000000`,
    `${good}\n`,
    ` ${good}`,
    good.toUpperCase(),
    good.replace('run_', 'job_'),
    `${good}/../x`,
  ])('%j is none', (text) => {
    expect(isRunId(text)).toBe(false);
    expect(parseRunId(text)).toBeNull();
  });

  test('equal decisions name equal runs', () => {
    const job = 'job_000000001000000000' as JobId;
    expect(runId(job, 3)).toBe('run_000000001000000000_3');
    expect(runId(job, 3)).toBe(runId(job, 3));
  });
});

test('an id of another kind, a prefix of an id and an id with letters outside the alphabet are none', () => {
  const id = freshId('job', 1, new Uint8Array(9));
  for (const text of [
    '',
    'job_',
    id.slice(0, -1),
    `${id}0`,
    `${id}\n`,
    id.replace('job_', 'jab_'),
    `${id.slice(0, -1)}u`,
  ])
    expect(isId('job', text)).toBe(false);
});

describe('members of arrays', () => {
  const array = freshId('job', 1, new Uint8Array(9));

  test('have ids of their own, and their runs ids that begin with the array’s', () => {
    for (const index of [0, 7, 999_999]) {
      const id = memberId(array, index);
      expect(id).toBe(`${array}[${index}]`);
      expect(parseMemberId(id)).toEqual({ array, index });
      expect(submittedJob(id)).toBe(array);
      expect(isId('job', id)).toBe(false);
      const run = runId(id, 3);
      expect(isRunId(run)).toBe(true);
      expect(parseRunId(run)).toEqual({ job: id, attempt: 3 });
      expect(run.startsWith(runPrefix(id)) && run.startsWith(runPrefix(array))).toBe(true);
      // As the database finds them.
      expect(run > runPrefix(array) && run < `${runPrefix(array)}:`).toBe(true);
      expect(run).toMatch(/^[\w-]+$/);
    }
    expect(runId(memberId(array, 1), 11)).not.toBe(runId(memberId(array, 11), 1));
    expect(submittedJob(array)).toBe(array);
    expect(parseMemberId(array)).toBeNull();
  });

  test.each([
    '[]',
    '[-1]',
    '[01]',
    '[1',
    '1]',
    '[1]x',
    '[1][2]',
    '[1-2]',
    '[10000000]',
    '[a]',
    '[1.5]',
    '[1]\n',
  ])('%j behind an id names no member', (text) => expect(parseMemberId(`${array}${text}`)).toBeNull());

  test('ranges have both ends in order', () => {
    expect(parseMemberRange(`${array}[3-10]`)).toEqual({ array, range: [3, 10] });
    expect(parseMemberRange(`${array}[3-3]`)).toEqual({ array, range: [3, 3] });
    for (const text of ['[10-3]', '[3-]', '[-3]', '[3]', '[3-10', '[3-10-12]', '[a-b]'])
      expect(parseMemberRange(`${array}${text}`)).toBeNull();
  });
});
