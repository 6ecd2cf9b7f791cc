// A block of tests on something real that is started for it and stopped behind it.
import { notRun } from '@muster/store/testing';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { lastWords } from './last-words.ts';

/** With the logs of its programs. */
interface Logged {
  readonly dir: string;
}

/** One cluster, or several things that were started together. */
interface Stoppable extends Partial<Logged> {
  readonly slurm?: Logged;
  readonly kubernetes?: Logged;
  readonly system?: Logged;
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
    afterEach(({ task }) => {
      if (real && task.result?.state === 'fail')
        for (const dir of logsOf(real)) console.error(lastWords(dir));
    });
    afterAll(async () => {
      await real?.stop();
    });
    body(() => real as Real);
  });
}

function logsOf({ dir, slurm, kubernetes, system }: Stoppable): string[] {
  return [dir, slurm?.dir, kubernetes?.dir, system?.dir].filter((one) => one !== undefined);
}
