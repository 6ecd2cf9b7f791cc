// Time of something that is too short to be measured once. The first runs are for the compiler; the median of the rest counts.
import { median } from '../statistics.ts';

export interface Timed<T> {
  /** Made anew for each run, outside the measured time. */
  readonly prepare: () => T;
  readonly run: (world: T) => void;
  readonly repetitions: number;
  readonly warmUps?: number;
}

export function medianMs<T>({ prepare, run, repetitions, warmUps = 1 }: Timed<T>): number {
  const times: number[] = [];
  for (let i = -warmUps; i < repetitions; i++) {
    const world = prepare();
    const beganMs = performance.now();
    run(world);
    const ms = performance.now() - beganMs;
    if (i >= 0) times.push(ms);
  }
  return median(times);
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
