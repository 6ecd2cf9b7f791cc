// A block of tests on something real that is started for it and stopped behind it.
import { notRun } from '@muster/store/testing';
import { afterAll, beforeAll, describe } from 'vitest';

interface Stoppable {
  stop(): Promise<void>;
}

/** `missing`: why it cannot be started here. */
export function onStarted<Real extends Stoppable>(
  name: string,
  missing: string | null,
  start: () => Promise<Real>,
  body: (real: () => Real) => void,
): void {
  if (missing !== null) {
    notRun(missing);
    return;
  }
  describe(name, () => {
    let real: Real | null = null;
    beforeAll(async () => {
      real = await start();
    });
    afterAll(async () => {
      await real?.stop();
    });
    body(() => real as Real);
  });
}
