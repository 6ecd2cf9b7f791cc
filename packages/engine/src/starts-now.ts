// Whether a job would start in this cycle, found out by the walk that `decide` makes; and how much trying is allowed. Steps
// count what a walk does (shapes and lanes in line, tasks placed), never time.
import { taskCount } from '@muster/model';
import { type Pass, type Stop, undoPass, walk } from './pass.ts';
import { mightPreempt } from './rights.ts';
import type { State } from './state.ts';

export class Steps {
  left: number;
  /** Set once something was not tried for want of steps. */
  ranOut = false;

  constructor(left: number) {
    this.left = left;
  }

  take(steps: number): boolean {
    if (this.left < steps) {
      this.ranOut = true;
      return false;
    }
    this.left -= steps;
    return true;
  }
}

export interface Started {
  /** Runs that are stopped for it; with none it starts at once. */
  readonly victims: number;
}

/** Walks until the job had its turn or can no longer have one; `look` sees the walk before it is undone. */
export function walkTo(
  state: State,
  job: number,
  steps: Steps | null,
  look: (pass: Pass, reached: boolean) => void,
): void {
  const { queue } = state;
  const { lane } = queue.entryOf(job);
  const { shape } = lane;
  let reached = false;
  // What is only supposed is no ground to stop anybody's run.
  const preempts = steps === null;
  const may = preempts && mightPreempt(state, job);
  const stop: Stop = (next, { failed, over }) => {
    if (reached || (failed.has(shape) && !may) || over.has(lane)) return true;
    if (steps && !steps.take(1 + taskCount(queue.entryOf(next).lane.shape.demand))) return true;
    reached = next === job;
    return false;
  };
  const pass = walk(state, stop, preempts);
  look(pass, reached);
  undoPass(state, pass);
}

/** Null when it would not, or when the steps did not last; `look` is called while it counts as started. */
export function startsNow(
  state: State,
  job: number,
  steps: Steps,
  look: () => void = () => {},
): Started | null {
  const { queue } = state;
  const { lane } = queue.entryOf(job);
  if (lane.shape.blocked !== null || lane.gated !== null) return null;
  let inLine = 1;
  for (const shape of queue.open) inLine += 1 + shape.lanes.size;
  if (!steps.take(inLine)) return null;
  let started: Started | null = null;
  walkTo(state, job, steps, ({ placed }) => {
    if (placed.at(-1)?.job !== job) return;
    started = { victims: 0 };
    look();
  });
  return started;
}
