import { describe, expect, it } from 'vitest';
import { specOf } from '../testing/spec.ts';
import { type Ending, exitOf, exitOfSpawnError } from './exit.ts';
import { leaseStop, timeLimitStop } from './time-limits.ts';

const spec = specOf(['/bin/true'], { words: { memory: '4GiB', timeLimit: '10m' } });
const ended = (parts: Partial<Ending>): Ending => ({
  code: null,
  signal: null,
  stop: null,
  oomKilled: false,
  launchFailure: null,
  ...parts,
});
const failed = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`spawn ${code}`), { code });

describe('the exit of a task', () => {
  it('is success only by code 0 without a stop', () => {
    expect(exitOf(ended({ code: 0 }), spec)).toEqual({ ok: true });
    // A job that saves its work on SIGTERM and exits with 0 was preempted all the same.
    const stop = { class: 'preemption', reason: { code: 'preemption', message: 'm' }, how: null } as const;
    expect(exitOf(ended({ code: 0, stop }), spec)).toMatchObject({ ok: false, class: 'preemption', code: 0 });
  });

  it('says in words what happened', () => {
    const message = (parts: Partial<Ending>) => {
      const exit = exitOf(ended(parts), spec);
      return exit.ok ? '' : `${exit.class}: ${exit.reason.message}`;
    };
    expect(message({ code: 3 })).toBe('user: exited with code 3');
    expect(message({ signal: 'SIGSEGV' })).toBe('user: killed by SIGSEGV');
    expect(message({ signal: 'SIGKILL', oomKilled: true })).toBe(
      'out-of-memory: ran out of memory (limit 4GiB)',
    );
    expect(message({ code: 125, launchFailure: '/cg' })).toMatch(/^infrastructure: .*\/cg$/);
    expect(message({ code: 127 })).toBe('user: exited with code 127');
  });

  it('ignores a child lost to memory when the task itself succeeded', () => {
    expect(exitOf(ended({ code: 0, oomKilled: true }), spec)).toEqual({ ok: true });
  });

  it('blames the node when it has no room for a process, and the user when there is no program', () => {
    expect(exitOfSpawnError(failed('EAGAIN'), spec)).toMatchObject({ class: 'infrastructure' });
    expect(exitOfSpawnError(failed('ENOMEM'), spec)).toMatchObject({ class: 'infrastructure' });
    expect(exitOfSpawnError(failed('E2BIG'), spec)).toMatchObject({ class: 'user', code: 126 });
    const missing = specOf(['nope'], { env: { PATH: '/bin' } });
    expect(exitOfSpawnError(failed('ENOENT'), missing)).toMatchObject({
      class: 'user',
      code: 127,
      reason: { code: 'no-program', message: 'there is no program "nope" in the PATH' },
    });
  });
});

describe('a lease', () => {
  it('signals a grace before the kill, and kills inside the deadline', () => {
    const stop = leaseStop({ deadlineMs: 300_000, stopAfterMs: 300_000 }, 30_000);
    expect(stop).toMatchObject({ killAtMs: 299_500, signalAtMs: 269_500 });
  });

  it('takes at most a third of the time for a long grace', () => {
    const stop = leaseStop({ deadlineMs: 25_000, stopAfterMs: 25_000 }, 60_000)!;
    expect(stop.killAtMs).toBe(24_500);
    expect(stop.signalAtMs).toBeCloseTo(24_500 - 25_000 / 3);
  });

  it('that has no end stops nothing', () => {
    expect(leaseStop({ deadlineMs: null, stopAfterMs: null }, 1)).toBeNull();
    expect(timeLimitStop(spec, 0)).toBeNull();
  });
});
