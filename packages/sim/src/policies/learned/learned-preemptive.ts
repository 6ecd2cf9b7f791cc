// Least expected work first, with learned run times, stopping runs: whoever is expected to need least starts, and a job for which there is no
// place may stop runs that are expected to need at least twice as much still. What a run has done counts: the longer it has run, the longer
// it is expected to go on. A run is left alone until it has saved its work once, so that nobody is stopped in vain.
//
// Where devices are free but scattered, small runs are moved together first: each costs a restart and little work, and a job that needs whole
// nodes would otherwise wait until they happen to be free.
import type { Coverage } from '@muster/predict';
import { type Fleet, roomOf } from '../../replay/fleet.ts';
import type { Player, Policy } from '../../replay/replay.ts';
import { Stage } from '../../replay/stage.ts';
import { Learning } from './learning.ts';
import { NodeBooks } from './node-books.ts';
import { OrderedLines, type Place } from './ordered-lines.ts';

/** How many times its remaining work a job stands back: in effect the least goes first, and those who waited for months before the rest. */
const patience = 1000;
/** A stop must be worth its cost. */
const timesLonger = 2;
/** What is expected of a run is looked at again when it has run for a tenth longer. */
const laterBy = 1.1;

export const learnedPreemptive: Policy = {
  name: 'learned-preemptive',
  about: 'least expected work first with learned run times, stopping and moving runs',
  enter: ({ trace, fleet, costs }) => {
    const stage = new Stage(trace, roomOf(fleet, trace.count), costs);
    return { stage, player: new LearnedPreemptive(stage, fleet) };
  },
};

class LearnedPreemptive implements Player {
  readonly #stage: Stage;
  readonly #learning: Learning;
  readonly #books: NodeBooks;
  readonly #lines = new OrderedLines();
  /** Work that its earlier runs have saved. */
  readonly #savedMs: Float64Array;
  /** What is expected of each job still; of a run until the work it has done reaches `#untilMs`. */
  readonly #remainingMs: Float64Array;
  readonly #untilMs: Float64Array;
  #came = false;
  #lookAtMs = 0;

  constructor(stage: Stage, fleet: Fleet) {
    const { count } = stage.trace;
    this.#stage = stage;
    this.#learning = new Learning(stage.trace);
    this.#books = new NodeBooks(fleet);
    this.#savedMs = new Float64Array(count);
    this.#remainingMs = new Float64Array(count);
    this.#untilMs = new Float64Array(count);
  }

  readonly submitted = (job: number): void => {
    this.#came = true;
    this.#learning.came(job);
    this.#wait(job);
  };

  readonly ended = (job: number): void => {
    this.#books.ended(job);
    this.#learning.ended(job);
  };

  readonly coverage = (): Coverage | null => this.#learning.coverage();

  readonly decide = (): void => {
    this.#startWhatFits();
    if (this.#lines.waiting === 0) return;
    const { nowMs, costs } = this.#stage;
    // Runs come of age as time passes, not when something happens.
    if (this.#came || nowMs >= this.#lookAtMs) {
      this.#makeRoom();
      this.#came = false;
      this.#lookAtMs = nowMs + costs.checkpointMs;
    }
    this.#stage.wakeAt(this.#lookAtMs);
  };

  #wait(job: number): void {
    const { trace } = this.#stage;
    this.#remainingMs[job] = this.#learning.remainingMs(job, this.#savedMs[job]!);
    this.#untilMs[job] = this.#savedMs[job]! * laterBy;
    const key = trace.submitMs[job]! + patience * this.#remainingMs[job]!;
    this.#lines.add(job, trace.size[job]!, key);
  }

  #startWhatFits(): void {
    const { room } = this.#stage;
    for (;;) {
      const next = this.#lines.first(({ size }) => room.fits(size));
      if (!next) return;
      this.#start(this.#lines.take(next));
    }
  }

  /** In order; a line whose first finds no room is passed over, because the next of it needs at least as much. */
  #makeRoom(): void {
    const { room } = this.#stage;
    const passedOver = new Set<number>();
    for (;;) {
      const next = this.#lines.first(({ size }) => !passedOver.has(size));
      if (!next) return;
      const { size } = next.line;
      if (room.fits(size)) this.#start(this.#lines.take(next));
      else if (!this.#moveFor(next) && !this.#stopFor(next)) passedOver.add(size);
    }
  }

  #moveFor(place: Place): boolean {
    const { room, trace } = this.#stage;
    const { size } = place.line;
    if (room.free < size) return false;
    const runs = this.#books.movable(size, this.#isOfAge);
    if (!runs) return false;
    const job = this.#lines.take(place);
    for (const run of runs) this.#stop(run);
    this.#start(job);
    for (const run of runs.toSorted((a, b) => trace.size[b]! - trace.size[a]! || a - b)) {
      if (room.fits(trace.size[run]!)) this.#start(run);
      else this.#wait(run);
    }
    return true;
  }

  #stopFor(place: Place): boolean {
    const { trace, costs } = this.#stage;
    const job = place.line.jobAt(place.place);
    const leastMs = timesLonger * this.#remainingMs[job]!;
    const runs = this.#books.victims(place.line.size, {
      mayStop: (run) => this.#isOfAge(run) && this.#remainingOf(run) >= leastMs,
      rank: (run) => this.#remainingOf(run),
      damage: (run) => trace.size[run]! * (this.#unsavedMs(run) + costs.restartMs),
    });
    if (!runs) return false;
    this.#lines.take(place);
    for (const run of runs) this.#stop(run);
    this.#start(job);
    for (const run of runs) this.#wait(run);
    return true;
  }

  readonly #isOfAge = (run: number): boolean => this.#stage.workedMs(run) >= this.#stage.costs.checkpointMs;

  #remainingOf(run: number): number {
    const doneMs = this.#savedMs[run]! + this.#stage.workedMs(run);
    if (doneMs > this.#untilMs[run]!) {
      this.#remainingMs[run] = this.#learning.remainingMs(run, doneMs);
      this.#untilMs[run] = doneMs * laterBy;
    }
    return this.#remainingMs[run]!;
  }

  #unsavedMs(run: number): number {
    const { checkpointMs } = this.#stage.costs;
    return checkpointMs === 0 ? 0 : this.#stage.workedMs(run) % checkpointMs;
  }

  #start(job: number): void {
    const { trace, room } = this.#stage;
    this.#stage.start(job);
    this.#books.started(job, trace.size[job]!, room.nodesOf(job));
  }

  #stop(run: number): void {
    this.#savedMs[run]! += this.#stage.workedMs(run) - this.#unsavedMs(run);
    this.#books.ended(run);
    this.#stage.stop(run);
  }
}
