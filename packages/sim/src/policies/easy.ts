// EASY backfill as in the textbook (Lifka 1995; Mu'alem and Feitelson 2001): first come first served; when the first in line does
// not fit, it gets a reservation at the earliest moment at which believed ends leave room for it; behind it, in order, whoever fits
// now and ends by that moment, or leaves the room that the first needs then, passes.
//
// EASY++ (Tsafrir, Etsion and Feitelson 2007) tries those behind the first by believed run time, shortest first.
//
// As room only shrinks while others pass, somebody who was passed over once is not asked again before the next moment: so the
// first of each line of equal size that may pass stands for all of its line.
import { onRoom, type Player, type Policy } from '../replay/replay.ts';
import type { Shadow } from '../replay/room.ts';
import type { Stage } from '../replay/stage.ts';
import type { Beliefs, BeliefsMaker } from './beliefs.ts';
import { reservation } from './reservation.ts';
import { correctOutlived, RunningByEnd } from './running-by-end.ts';
import type { SizedLine } from './sized-line.ts';
import { SizedLines, type Waiting } from './sized-lines.ts';

export function easy(believe: BeliefsMaker): Policy {
  return {
    name: 'easy',
    about: 'EASY backfill: the first in line has a reservation, others pass in order of arrival',
    enter: onRoom((stage) => new Easy(stage, believe(stage.trace), false)),
  };
}

export function easyShortest(believe: BeliefsMaker): Policy {
  return {
    name: 'easy-sjbf',
    about: 'EASY backfill in which the shortest pass first (EASY++ when run times are learned)',
    enter: onRoom((stage) => new Easy(stage, believe(stage.trace), true)),
  };
}

class Easy implements Player {
  readonly #stage: Stage;
  readonly #beliefs: Beliefs;
  readonly #shortestFirst: boolean;
  readonly #lines = new SizedLines();
  readonly #running = new RunningByEnd();

  constructor(stage: Stage, beliefs: Beliefs, shortestFirst: boolean) {
    this.#stage = stage;
    this.#beliefs = beliefs;
    this.#shortestFirst = shortestFirst;
  }

  readonly submitted = (job: number): void =>
    this.#lines.push(job, this.#stage.trace.size[job]!, this.#beliefs.runMs(job));

  readonly ended = (job: number): void => {
    this.#running.remove(job);
    this.#beliefs.ended(job);
  };

  readonly decide = (): void => {
    const { room } = this.#stage;
    let first = this.#lines.first();
    while (first && room.fits(first.line.size)) {
      this.#start(first, null);
      first = this.#lines.first();
    }
    if (first && this.#lines.waiting > 1 && room.free > 0) this.#backfill(first);
  };

  /** Starts it; beside the reservation when it will still run then. */
  #start(waiting: Waiting, beside: Shadow | null): void {
    const believedMs = waiting.line.believedMsAt(waiting.place);
    const job = this.#lines.take(waiting);
    if (beside) this.#stage.startBeside(job, beside);
    else this.#stage.start(job);
    this.#running.add(job, this.#stage.nowMs + believedMs);
  }

  #backfill(first: Waiting): void {
    const { nowMs } = this.#stage;
    correctOutlived(this.#running, this.#beliefs, this.#stage);
    const { shadow, atMs } = reservation(this.#stage, this.#running, first.line.size);
    // While others pass, the first is not one of them.
    first.line.takeAt(first.place);
    for (let next = this.#next(shadow, atMs - nowMs); next; next = this.#next(shadow, atMs - nowMs))
      this.#start(next, next.line.believedMsAt(next.place) <= atMs - nowMs ? null : shadow);
    first.line.putBack(first.place);
  }

  /** Who passes next. */
  #next(shadow: Shadow, withinMs: number): Waiting | null {
    const { room } = this.#stage;
    let best: Waiting | null = null;
    for (const line of this.#lines.lines) {
      if (line.size > room.free) break;
      if (line.waiting === 0 || !room.fits(line.size)) continue;
      const limitMs = room.fitsBeside(line.size, shadow) ? Number.POSITIVE_INFINITY : withinMs;
      const place = this.#shortestFirst ? within(line, line.shortest(), limitMs) : line.firstWithin(limitMs);
      if (place >= 0 && (!best || this.#before(line, place, best))) best = { line, place };
    }
    return best;
  }

  #before(line: SizedLine, place: number, other: Waiting): boolean {
    const shorter = line.believedMsAt(place) - other.line.believedMsAt(other.place);
    if (this.#shortestFirst && shorter !== 0) return shorter < 0;
    return line.jobAt(place) < other.line.jobAt(other.place);
  }
}

function within(line: SizedLine, place: number, limitMs: number): number {
  return place >= 0 && line.believedMsAt(place) <= limitMs ? place : -1;
}
