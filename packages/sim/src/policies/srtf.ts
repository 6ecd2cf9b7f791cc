// Shortest remaining time first, an oracle that stops runs: whoever waits with the least left to do takes the room of those with
// more left, the longest first. Those behind fill what is free. A stop costs what the stage says it costs; the oracle does not look at that.
import { onRoom, type Player, type Policy } from '../replay/replay.ts';
import type { Stage } from '../replay/stage.ts';
import { RunningByEnd } from './running-by-end.ts';
import { SizedQueues } from './sized-queues.ts';
import { victimsFor } from './victims.ts';

export const srtf: Policy = {
  name: 'srtf',
  about: 'oracle: shortest remaining time first, stopping those with more left',
  enter: onRoom((stage) => new Srtf(stage)),
};

class Srtf implements Player {
  readonly #stage: Stage;
  readonly #waiting = new SizedQueues();
  /** By when they will have done their work, which is also the order of what is left of it. */
  readonly #running = new RunningByEnd();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  readonly submitted = (job: number): void => {
    this.#waiting.push(this.#stage.trace.size[job]!, this.#stage.remainingMs[job]!, job);
  };

  readonly ended = (job: number): void => this.#running.remove(job);

  readonly decide = (): void => {
    const { room } = this.#stage;
    for (let queue = this.#waiting.first(() => true); queue; queue = this.#waiting.first(() => true)) {
      const victims = this.#victims(queue.top, queue.topKey);
      if (!victims) break;
      const job = queue.pop();
      for (const victim of victims) {
        this.#running.remove(victim);
        this.#stage.stop(victim);
        this.submitted(victim);
      }
      this.#start(job);
    }
    for (let queue = this.#waiting.firstThatFits(room); queue; queue = this.#waiting.firstThatFits(room))
      this.#start(queue.pop());
  };

  #start(job: number): void {
    this.#stage.start(job);
    this.#running.add(job, this.#stage.nowMs + this.#stage.remainingMs[job]!);
  }

  #victims(job: number, leftMs: number): readonly number[] | null {
    const { room, trace, nowMs } = this.#stage;
    const size = trace.size[job]!;
    if (room.fits(size)) return [];
    const longer: number[] = [];
    for (let i = this.#running.size - 1; i >= 0 && this.#running.endMs(i) - nowMs > leftMs; i--)
      longer.push(this.#running.job(i));
    return victimsFor(this.#stage, size, longer);
  }
}
