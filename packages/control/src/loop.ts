// A background loop: runs a step, sleeps until woken or for the time the step asked, and goes on. Wakes coalesce: a wake during
// a step means one more step, however many came. Steps take no input, so a lost wake costs time, never correctness.
// The world failing (OperationalError) is told and tried again with backoff; a bug ends the process through `onBug`.
import { OperationalError } from '@muster/model';
import type { World } from './world.ts';

export interface Loop {
  wake(): void;
  /** Resolves when no step is running and none will run again. */
  stop(): Promise<void>;
}

export interface LoopSpec {
  readonly name: string;
  /** Does the work due now; answers how long to sleep unless woken. */
  readonly step: () => Promise<number>;
  readonly onBug: (error: unknown) => void;
}

const firstBackoffMs = 100;
const maxBackoffMs = 2000;

export function startLoop(world: World, spec: LoopSpec): Loop {
  let stopped = false;
  let woken = false;
  let endSleep: () => void = () => {};

  function sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = world.timers.after(ms, resolve);
      endSleep = () => {
        cancel();
        resolve();
      };
    });
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopped) {
      woken = false;
      let sleepMs: number;
      try {
        sleepMs = await spec.step();
        failures = 0;
      } catch (error) {
        if (!(error instanceof OperationalError)) return spec.onBug(error);
        sleepMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** failures) * (0.5 + world.random() / 2);
        if (failures++ === 0)
          world.log.warn({ loop: spec.name, code: error.code }, `${spec.name}: ${error.message}`);
        // A wake does not shorten a backoff: the world is down, not idle.
        await sleep(sleepMs);
        continue;
      }
      if (!stopped && !woken) await sleep(sleepMs);
    }
  }

  const running = run();
  return {
    wake() {
      woken = true;
      endSleep();
    },
    async stop() {
      stopped = true;
      endSleep();
      await running;
    },
  };
}
