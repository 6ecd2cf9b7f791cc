// The real clock, timers and randomness. The only place in this package that has them.
import { performance } from 'node:perf_hooks';
import type { Log, World } from '../world.ts';

export function realWorld(log: Log): World {
  return {
    clock: { monotonicMs: () => performance.now() },
    timers: {
      after(ms, callback) {
        const timer = setTimeout(callback, ms);
        return () => clearTimeout(timer);
      },
    },
    random: Math.random,
    log,
  };
}
