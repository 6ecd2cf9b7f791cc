// A background loop: runs a step, sleeps until woken or for the time the step asked, and goes on. Wakes coalesce: a wake during
// a step or a rest means one more step, however many came. Steps take no input, so a lost wake costs time, never correctness.
// The world failing (OperationalError) is told and tried again with backoff, and when it goes on it is the loop's trouble,
// which /readyz shows; a bug ends the process through `onBug`.
import { OperationalError } from '@muster/model';
import type { World } from './world.ts';

export interface Loop {
  wake(): void;
  /** What its step has failed with for a while; null while it works. */
  trouble(): string | null;
  /** Resolves when no step is running and none will run again. */
  stop(): Promise<void>;
}

export interface Rest {
  readonly restMs: number;
}

export interface LoopSpec {
  readonly name: string;
  /** Does the work due now; answers how long to sleep unless woken, or how long to rest, woken or not. */
  readonly step: () => Promise<number | Rest>;
  readonly onBug: (error: unknown) => void;
}

const firstBackoffMs = 100;
const maxBackoffMs = 2000;
/** Failures in a row, about two seconds, before a loop is called in trouble: a database that restarts is weather. */
const troubleAfter = 5;

export function startLoop(world: World, spec: LoopSpec): Loop {
  let stopped = false;
  let woken = false;
  let resting = false;
  let endSleep: () => void = () => {};
  let trouble: string | null = null;

  function sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = world.timers.after(ms, resolve);
      endSleep = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Ended by `stop` only. */
  async function rest(ms: number): Promise<void> {
    resting = true;
    await sleep(ms);
    resting = false;
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopped) {
      woken = false;
      let pause: number | Rest;
      try {
        pause = await spec.step();
        failures = 0;
        trouble = null;
      } catch (error) {
        if (!(error instanceof OperationalError)) return spec.onBug(error);
        const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** failures) * (0.5 + world.random() / 2);
        if (failures++ === 0)
          world.log.warn({ loop: spec.name, code: error.code }, `${spec.name}: ${error.message}`);
        if (failures >= troubleAfter) trouble = `${spec.name}: ${error.message}`;
        // A wake does not shorten a backoff: the world is down, not idle.
        await rest(backoffMs);
        continue;
      }
      if (stopped) return;
      if (typeof pause !== 'number') await rest(pause.restMs);
      else if (!woken) await sleep(pause);
    }
  }

  const running = run();
  return {
    wake() {
      woken = true;
      if (!resting) endSleep();
    },
    trouble: () => trouble,
    async stop() {
      stopped = true;
      endSleep();
      await running;
    },
  };
}
