// The way of one server's calls to the database and back. A request that has left gets there even when its process has died
// meanwhile; an answer reaches the process only if it still lives. What the weather does to a write is one of: nothing, no
// connection, or a COMMIT that is never answered and was applied, was not, or is applied later than the caller is told.
import { CommitUnknown, unavailable } from '@muster/store/rules';
import type { Random } from '../random.ts';
import type { Line } from '../store/memory-store.ts';
import type { VirtualProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';

/** Between one server and the database, as it is now. */
export interface DatabaseWeather {
  /** refused: at once. hangs: until the caller's own timeout. */
  reach: 'up' | 'refused' | 'hangs';
  /** Each way takes up to this long. */
  delayMs: number;
  /** Chances of a write whose COMMIT is not answered, and of a hint that is lost. */
  lostCommit: number;
  lostHint: number;
}

export function fairWeather(): DatabaseWeather {
  return { reach: 'up', delayMs: 4, lostCommit: 0, lostHint: 0 };
}

export const callTimeoutMs = 5000;
/** So long after it was sent a COMMIT may still take effect. */
export const latestCommitMs = 8000;

export interface LineDeps {
  readonly scheduler: Scheduler;
  readonly process: VirtualProcess;
  readonly random: Random;
  readonly weather: DatabaseWeather;
}

type Settle<T> = { readonly resolve: (value: T) => void; readonly reject: (error: unknown) => void };

export function databaseLine({ scheduler, process, random, weather }: LineDeps): Line {
  const hop = (): number => 1 + random.below(weather.delayMs);
  const answer = (ms: number, callback: () => void): void => {
    scheduler.after(ms, () => process.deliver(callback));
  };

  function fail<T>(ms: number, settle: Settle<T>): void {
    answer(ms, () => settle.reject(unavailable(new Error('no connection'))));
  }

  /** The request is at the database. */
  function arrive<T>(work: () => T, settle: Settle<T>, lost: boolean): void {
    if (weather.reach !== 'up') {
      fail(weather.reach === 'refused' ? 1 : callTimeoutMs, settle);
      return;
    }
    if (lost) {
      loseCommit(work, settle);
      return;
    }
    try {
      const value = work();
      answer(hop(), () => settle.resolve(value));
    } catch (error) {
      answer(hop(), () => settle.reject(error));
    }
  }

  function loseCommit<T>(work: () => T, settle: Settle<T>): void {
    const fate = random.below(3);
    if (fate === 0) work();
    if (fate === 1) scheduler.after(random.below(latestCommitMs), work);
    answer(hop() + random.below(callTimeoutMs), () =>
      settle.reject(new CommitUnknown('no answer to COMMIT')),
    );
  }

  function call<T>(work: () => T, lost: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      scheduler.after(hop(), () => arrive(work, { resolve, reject }, lost));
    });
  }

  return {
    read: (work) => call(work, false),
    write: (work) => call(work, random.chance(weather.lostCommit)),
    hint(callback) {
      if (!random.chance(weather.lostHint)) answer(hop(), callback);
    },
  };
}
