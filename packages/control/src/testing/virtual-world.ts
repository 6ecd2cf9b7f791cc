// A world whose clock moves only when told: for tests of the loops. Work between timers is done in microtasks, so `advance`
// lets every promise settle before it looks for the next timer.
import type { World } from '../world.ts';

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

export interface VirtualWorld extends World {
  /** Runs everything that falls due in the next `ms`. */
  advance(ms: number): Promise<void>;
  /** Lets what is due now happen. */
  settle(): Promise<void>;
  readonly logged: string[];
}

const settleTurns = 50;

export function virtualWorld(): VirtualWorld {
  let nowMs = 1000;
  let order = 0;
  const timers = new Set<Timer>();
  const logged: string[] = [];
  const note = (_fields: object, message: string): void => {
    logged.push(message);
  };

  async function settle(): Promise<void> {
    for (let i = 0; i < settleTurns; i++) await Promise.resolve();
  }

  return {
    clock: { monotonicMs: () => nowMs },
    timers: {
      after(ms, callback) {
        const timer = { atMs: nowMs + ms, order: order++, callback };
        timers.add(timer);
        return () => timers.delete(timer);
      },
    },
    random: () => 0.5,
    log: { debug: note, info: note, warn: note, error: note },
    logged,
    settle,
    async advance(ms) {
      const untilMs = nowMs + ms;
      await settle();
      for (;;) {
        const next = [...timers].sort((a, b) => a.atMs - b.atMs || a.order - b.order)[0];
        if (!next || next.atMs > untilMs) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.callback();
        await settle();
      }
      nowMs = untilMs;
    },
  };
}
