// Time of something that is too short to be measured once. The first runs are for the compiler; the median of the rest counts.
import { median } from '../statistics.ts';

export interface Measured<T> {
  /** Made anew for each run, outside the measured time. */
  readonly prepare: () => T;
  readonly run: (world: T) => void;
}

interface Times {
  readonly repetitions: number;
  readonly warmUps?: number;
}

export function medianMs<T>({ prepare, run, ...times }: Measured<T> & Times): number {
  return mediansMs([{ prepare, run }], times)[0]!;
}

/** Taken in turns, so that what the compiler has learned by then and what the machine does beside count for all alike. */
export function mediansMs<T>(
  measured: readonly Measured<T>[],
  { repetitions, warmUps = 1 }: Times,
): readonly number[] {
  const times = measured.map((): number[] => []);
  for (let i = -warmUps; i < repetitions; i++)
    for (const [which, { prepare, run }] of measured.entries()) {
      const world = prepare();
      const beganMs = performance.now();
      run(world);
      const ms = performance.now() - beganMs;
      if (i >= 0) times[which]!.push(ms);
    }
  return times.map(median);
}

/** Many short runs in one measurement, for what takes less than the clock can tell. */
export function medianOfManyMs(run: () => void, each: number, repetitions: number): number {
  const times: number[] = [];
  for (let i = -1; i < repetitions; i++) {
    const beganMs = performance.now();
    for (let j = 0; j < each; j++) run();
    if (i >= 0) times.push((performance.now() - beganMs) / each);
  }
  return median(times);
}
