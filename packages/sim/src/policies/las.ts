// Least attained service as in Tiresias (Gu et al. 2019) with two queues: a job that has used less than a threshold of device-time is in the
// first, later in the second. The first goes before the second and stops its runs; inside a queue it is first come first served among
// those that fit. It knows nothing of run times.
import { KeyedHeap } from '../replay/keyed-heap.ts';
import { onRoom, type Player, type Policy } from '../replay/replay.ts';
import type { Stage } from '../replay/stage.ts';
import { RunningByEnd } from './running-by-end.ts';
import { SizedQueues } from './sized-queues.ts';
import { victimsFor } from './victims.ts';

/** One device for an hour: Tiresias used 3,250 device-seconds on such jobs. */
const thresholdMs = 3_250_000;

export const las: Policy = {
  name: 'las',
  about: 'least attained service in two queues (Tiresias), stopping runs of the second for the first',
  enter: onRoom((stage) => new LeastAttained(stage)),
};

class LeastAttained implements Player {
  readonly #stage: Stage;
  readonly #young = new SizedQueues();
  readonly #old = new SizedQueues();
  /** Runs of the second queue, by arrival. */
  readonly #oldRunning = new RunningByEnd();
  /** When runs of the first queue reach the threshold; an entry of an earlier run has another time. */
  readonly #crossings = new KeyedHeap();
  readonly #crossesMs: Float64Array;
  /** Device-time used by earlier runs. */
  readonly #attainedMs: Float64Array;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#crossesMs = new Float64Array(stage.trace.count).fill(-1);
    this.#attainedMs = new Float64Array(stage.trace.count);
  }

  readonly submitted = (job: number): void => {
    const queue = this.#attainedMs[job]! < thresholdMs ? this.#young : this.#old;
    queue.push(this.#stage.trace.size[job]!, job, job);
  };

  readonly ended = (job: number): void => this.#leave(job);

  readonly decide = (): void => {
    this.#cross();
    this.#serveYoung();
    const { room } = this.#stage;
    for (let queue = this.#old.firstThatFits(room); queue; queue = this.#old.firstThatFits(room))
      this.#start(queue.pop());
    if (this.#crossings.size > 0) this.#stage.wakeAt(this.#crossings.topKey);
  };

  #serveYoung(): void {
    const { room, trace } = this.#stage;
    // Where all runs of the second queue are too few for a size, they are for every other job of that size.
    let tooFew = Number.POSITIVE_INFINITY;
    for (;;) {
      const queue = this.#young.first((size) => room.fits(size) || size < tooFew);
      if (!queue) return;
      const size = trace.size[queue.top]!;
      const victims = room.fits(size) ? [] : victimsFor(this.#stage, size, this.#youngestOld());
      if (!victims) {
        tooFew = size;
        continue;
      }
      const job = queue.pop();
      for (const victim of victims) this.#stop(victim);
      this.#start(job);
    }
  }

  *#youngestOld(): Generator<number> {
    for (let i = this.#oldRunning.size - 1; i >= 0; i--) yield this.#oldRunning.job(i);
  }

  #start(job: number): void {
    const { nowMs, trace } = this.#stage;
    this.#stage.start(job);
    const leftMs = thresholdMs - this.#attainedMs[job]!;
    if (leftMs <= 0) {
      this.#oldRunning.add(job, job);
      return;
    }
    this.#crossesMs[job] = nowMs + Math.ceil(leftMs / trace.size[job]!);
    this.#crossings.push(this.#crossesMs[job]!, job);
  }

  #stop(job: number): void {
    const { nowMs, startedMs, trace } = this.#stage;
    this.#attainedMs[job]! += (nowMs - startedMs[job]!) * trace.size[job]!;
    this.#leave(job);
    this.#stage.stop(job);
    this.submitted(job);
  }

  #leave(job: number): void {
    if (this.#crossesMs[job] === -1) this.#oldRunning.remove(job);
    this.#crossesMs[job] = -1;
  }

  /** Runs that have reached the threshold are of the second queue from now on. */
  #cross(): void {
    const { nowMs } = this.#stage;
    while (this.#crossings.size > 0) {
      const atMs = this.#crossings.topKey;
      const isOld = this.#crossesMs[this.#crossings.top] !== atMs;
      if (!isOld && atMs > nowMs) return;
      const job = this.#crossings.pop();
      if (isOld) continue;
      this.#crossesMs[job] = -1;
      this.#oldRunning.add(job, job);
    }
  }
}
