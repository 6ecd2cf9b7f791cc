// Conservative backfill as in the textbook: everybody who waits has a reservation, found in order of arrival, and nobody may start who
// would delay one of them. When a run ends earlier than believed, all reservations are found anew in the same order.
//
// Two limits, both stated where it is reported. Only the first `depth` of the line have a reservation; who is behind them starts where that
// delays none of theirs. And reservations count devices: on nodes of several devices a start may wait beyond its reservation until the
// devices also lie together.
import { onRoom, type Player, type Policy } from '../replay/replay.ts';
import type { Stage } from '../replay/stage.ts';
import type { Beliefs, BeliefsMaker } from './beliefs.ts';
import { Profile } from './profile.ts';
import { correctOutlived, RunningByEnd } from './running-by-end.ts';
import { SizedLines, type Waiting } from './sized-lines.ts';

/** More than ever wait at once in the logs of the archive that we know, and a bound on the work where more do. */
export const defaultDepth = 256;

export function conservative(believe: BeliefsMaker, depth = defaultDepth): Policy {
  return {
    name: 'conservative',
    about: `conservative backfill: the first ${depth} in line have reservations`,
    enter: onRoom((stage) => new Conservative(stage, believe(stage.trace), depth)),
  };
}

class Conservative implements Player {
  readonly #stage: Stage;
  readonly #beliefs: Beliefs;
  readonly #depth: number;
  readonly #lines = new SizedLines();
  readonly #running = new RunningByEnd();
  readonly #profile = new Profile();

  constructor(stage: Stage, beliefs: Beliefs, depth: number) {
    this.#stage = stage;
    this.#beliefs = beliefs;
    this.#depth = depth;
  }

  readonly submitted = (job: number): void =>
    this.#lines.push(job, this.#stage.trace.size[job]!, this.#beliefs.runMs(job));

  readonly ended = (job: number): void => {
    this.#running.remove(job);
    this.#beliefs.ended(job);
  };

  readonly decide = (): void => {
    if (this.#lines.waiting === 0) return;
    if (this.#stage.room.free === 0) return;
    this.#profileOfRunning();
    const reserved: Waiting[] = [];
    for (let i = 0; i < this.#depth && this.#someoneMayStart(); i++) {
      const next = this.#lines.first();
      if (!next) break;
      if (!this.#reserve(next)) reserved.push(next);
    }
    for (let next = this.#mayPass(); next; next = this.#mayPass()) this.#start(next);
    for (const { line, place } of reserved) {
      line.putBack(place);
      this.#lines.waiting++;
    }
  };

  /** Reservations matter only as long as somebody behind them could still start now. */
  #someoneMayStart(): boolean {
    return this.#lines.smallest <= Math.min(this.#profile.freeNow, this.#stage.room.free);
  }

  /** Runs past their believed end are believed to end now; to the millisecond, so that their room is not sold yet. */
  #profileOfRunning(): void {
    const { room, nowMs, trace } = this.#stage;
    correctOutlived(this.#running, this.#beliefs, this.#stage);
    this.#profile.reset(nowMs, room.free);
    for (let i = 0; i < this.#running.size; i++) {
      const size = trace.size[this.#running.job(i)]!;
      this.#profile.comesFree(Math.max(nowMs + 1, this.#running.endMs(i)), size);
    }
  }

  /** Starts it when its reservation is now; otherwise it is taken out of the line until the others have been asked. */
  #reserve(waiting: Waiting): boolean {
    const { nowMs, room } = this.#stage;
    const { line, place } = waiting;
    const believedMs = line.believedMsAt(place);
    const atMs = this.#profile.earliest(line.size, believedMs);
    if (atMs === nowMs && room.fits(line.size)) {
      this.#start(waiting);
      return true;
    }
    this.#lines.take(waiting);
    this.#profile.take(line.size, atMs, atMs + believedMs);
    return false;
  }

  #start(waiting: Waiting): void {
    const { nowMs } = this.#stage;
    const { line, place } = waiting;
    const believedMs = line.believedMsAt(place);
    const job = this.#lines.take(waiting);
    this.#profile.take(line.size, nowMs, nowMs + believedMs);
    this.#stage.start(job);
    this.#running.add(job, nowMs + believedMs);
  }

  /** The first behind those with a reservation who delays none of them. */
  #mayPass(): Waiting | null {
    const { room } = this.#stage;
    let best: Waiting | null = null;
    for (const line of this.#lines.lines) {
      if (line.size > room.free) break;
      if (line.waiting === 0 || !room.fits(line.size)) continue;
      const place = line.firstWithin(this.#profile.freeFor(line.size));
      if (place >= 0 && (!best || line.jobAt(place) < best.line.jobAt(best.place))) best = { line, place };
    }
    return best;
  }
}
