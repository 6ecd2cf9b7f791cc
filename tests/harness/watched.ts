// Somebody who looks at a cluster all the time and notes what is new.

import { setTimeout as pause } from 'node:timers/promises';
import { observations, type Told, toldOf } from '@muster/control';
import type { ListedReport } from '@muster/drivers';
import type { Seen } from '@muster/store';

const lookEveryMs = 100;

export interface Watched {
  readonly observed: () => readonly Seen[];
  readonly close: () => Promise<void>;
}

export function watched(driver: { look(): Promise<{ readonly reports: readonly ListedReport[] }> }): Watched {
  const observed: Seen[] = [];
  const told = new Map<string, Told>();
  let over = false;

  async function look(): Promise<void> {
    const { reports } = await driver.look();
    observed.push(...reports.flatMap((report) => observations(told, report)));
    // What was told is remembered also of what is not listed for a moment.
    for (const report of reports) told.set(`${report.run}/${report.rank}`, toldOf(report));
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
