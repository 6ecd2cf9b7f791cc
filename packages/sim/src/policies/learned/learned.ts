// EASY backfill that knows from experience who will be short. Two differences to the textbook (`easy.ts`), and nobody is ever stopped:
//   Order: a job stands back by ten times the run time expected of it, two days at most. So the short pass the long, two jobs never change
//          their order while they wait, and nobody waits for more than the work that came within those two days.
//   Passing: a job may pass the reservation of the first when it ends in time with a chance of nine tenths.
// Reservations rest on asked times, because they are promises: a run is stopped at its asked time and never later.
import type { Coverage } from '@muster/predict';
import { onRoom, type Player, type Policy } from '../../replay/replay.ts';
import type { Shadow } from '../../replay/room.ts';
import type { Stage } from '../../replay/stage.ts';
import { askedMs } from '../beliefs.ts';
import { reservation } from '../reservation.ts';
import { RunningByEnd } from '../running-by-end.ts';
import { Learning } from './learning.ts';
import { earlier, OrderedLines, type Place } from './ordered-lines.ts';

/** A job may be slowed down so many times before it goes before everybody who comes later. */
const patience = 10;
const behindMaxMs = 48 * 3_600_000;

export const learned: Policy = {
  name: 'learned',
  about: 'EASY backfill with learned run times: who is expected to be short goes first, nobody is stopped',
  enter: onRoom((stage) => new Learned(stage)),
};

class Learned implements Player {
  readonly #stage: Stage;
  readonly #learning: Learning;
  readonly #lines = new OrderedLines();
  readonly #running = new RunningByEnd();

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#learning = new Learning(stage.trace);
  }

  readonly submitted = (job: number): void => {
    const { trace } = this.#stage;
    this.#learning.came(job);
    const behindMs = Math.min(behindMaxMs, patience * this.#learning.expectedMs(job));
    this.#lines.add(job, trace.size[job]!, trace.submitMs[job]! + behindMs);
  };

  readonly ended = (job: number): void => {
    this.#running.remove(job);
    this.#learning.ended(job);
  };

  readonly coverage = (): Coverage | null => this.#learning.coverage();

  readonly decide = (): void => {
    const { room } = this.#stage;
    let first = this.#lines.first();
    while (first && room.fits(first.line.size)) {
      this.#start(first, null);
      first = this.#lines.first();
    }
    if (first && this.#lines.waiting > 1 && room.free > 0) this.#backfill(first);
  };

  /** Starts it; beside the reservation when it may still run then. */
  #start(place: Place, beside: Shadow | null): void {
    const { nowMs, trace } = this.#stage;
    const job = this.#lines.take(place);
    if (beside) this.#stage.startBeside(job, beside);
    else this.#stage.start(job);
    this.#running.add(job, nowMs + askedMs(trace, job));
  }

  #backfill(first: Place): void {
    const { nowMs } = this.#stage;
    const { shadow, atMs } = reservation(this.#stage, this.#running, first.line.size);
    const inTime = (job: number): boolean => this.#learning.p90Ms(job) <= atMs - nowMs;
    for (;;) {
      const next = this.#next(first, shadow, inTime);
      if (!next) return;
      this.#start(next, inTime(next.line.jobAt(next.place)) ? null : shadow);
    }
  }

  /** Who passes next; never the first itself, which stays the first of its line. */
  #next(first: Place, shadow: Shadow, inTime: (job: number) => boolean): Place | null {
    const { room } = this.#stage;
    let best: Place | null = null;
    for (const line of this.#lines.lines) {
      if (line.size > room.free) break;
      if (!room.fits(line.size)) continue;
      const from = line === first.line ? 1 : 0;
      const place = line.firstFrom(from, room.fitsBeside(line.size, shadow) ? anybody : inTime);
      if (place >= 0) best = earlier({ line, place }, best);
    }
    return best;
  }
}

const anybody = (): boolean => true;
