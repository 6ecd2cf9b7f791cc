// Somebody who looks at a cluster all the time and notes what is new.
import { setTimeout as pause } from 'node:timers/promises';
import type { ListedReport } from '@muster/drivers';
import type { Observation } from '@muster/model';

const lookEveryMs = 100;

export interface Watched {
  readonly observed: () => readonly Observation[];
  readonly close: () => Promise<void>;
}

export function watched(driver: { look(): Promise<{ readonly reports: readonly ListedReport[] }> }): Watched {
  const observed: Observation[] = [];
  const told = new Map<string, string>();
  let over = false;

  async function look(): Promise<void> {
    const { reports } = await driver.look();
    for (const { run, rank, began, state, exit } of reports) {
      const task = `${run}/${rank}`;
      const before = told.get(task);
      if (before === state || state === 'accepted') continue;
      told.set(task, state);
      if (before === undefined && began) observed.push({ kind: 'started', run, rank, pid: 0 });
      if (exit) observed.push({ kind: 'ended', run, rank, exit });
    }
  }

  async function lookOn(): Promise<void> {
    while (!over) {
      // A cluster that does not answer is what some tests are about.
      await look().catch(() => {});
      await pause(lookEveryMs);
    }
  }

  const looking = lookOn();
  return {
    observed: () => observed,
    async close() {
      over = true;
      await looking;
    },
  };
}
