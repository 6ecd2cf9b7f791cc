// Plays a trace under a policy on a virtual clock. One moment after the other: first what ends then, then who comes then, then
// the policy is asked once. Nothing here knows how a policy chooses.
import type { Coverage } from '@muster/predict';
import type { Trace } from '../traces/trace.ts';
import { type Fleet, roomOf } from './fleet.ts';
import type { Holding } from './room.ts';
import { type Costs, Stage, usualCosts } from './stage.ts';
import type { Stretches } from './stretches.ts';

/** What a policy does on the stage. */
export interface Player {
  /** The job has come. */
  readonly submitted: (job: number) => void;
  /** Its run has come to its end by itself, and so has the job. */
  readonly ended: (job: number) => void;
  /** All that happens at this moment was told: start and stop what should be. */
  readonly decide: () => void;
  /** Jobs that it has not started although nothing more will happen: it knows better than their size why they never could. */
  readonly waiting?: () => readonly number[];
  /** How well what it learned of run times held; absent where it learns nothing. */
  readonly coverage?: () => Coverage | null;
}

export interface Policy {
  readonly name: string;
  readonly about: string;
  readonly enter: (setting: Setting) => Entrance;
}

export interface Setting {
  readonly trace: Trace;
  readonly fleet: Fleet;
  readonly costs: Costs;
}

export interface Entrance {
  readonly stage: Stage<Holding>;
  readonly player: Player;
}

/** How a policy enters that looks for places itself. */
export function onRoom(play: (stage: Stage) => Player): Policy['enter'] {
  return ({ trace, fleet, costs }) => {
    const stage = new Stage(trace, roomOf(fleet, trace.count), costs);
    return { stage, player: play(stage) };
  };
}

/** What came of it. Times of a job that could never start are -1. */
export interface Played {
  readonly policy: string;
  readonly trace: Trace;
  readonly devices: number;
  readonly firstStartMs: Float64Array;
  readonly endMs: Float64Array;
  readonly preemptions: Int32Array;
  readonly lostMs: Float64Array;
  readonly stretches: Stretches;
  /** Jobs that ask for more than the machine has; they are in no average. */
  readonly impossible: readonly number[];
  /** Free device-time on nodes that were partly in use, and all free device-time. */
  readonly scatteredMs: number;
  readonly freeMs: number;
  /** Null where nothing was learned. */
  readonly coverage: Coverage | null;
}

export interface ReplayOptions {
  readonly costs?: Costs;
  /** Called now and then with the part of the jobs that have ended. */
  readonly onProgress?: ((part: number) => void) | undefined;
}

const progressEvery = 4096;
/** A policy that only waits for its own clock does so for less; what still waits then waits for ever. */
const idleMaxMs = 30 * 24 * 3_600_000;

export function replay(trace: Trace, fleet: Fleet, policy: Policy, options: ReplayOptions = {}): Played {
  const { stage, player } = policy.enter({ trace, fleet, costs: options.costs ?? usualCosts });
  const { room } = stage;
  const impossible: number[] = [];
  let scatteredMs = 0;
  let freeMs = 0;
  let next = 0;
  let over = 0;
  let told = 0;
  let movedMs = 0;
  for (;;) {
    const comesMs = next < trace.count ? trace.submitMs[next]! : Number.POSITIVE_INFINITY;
    const atMs = Math.min(comesMs, stage.nextMs());
    if (atMs === Number.POSITIVE_INFINITY) break;
    if (stage.running > 0 || comesMs === atMs) movedMs = atMs;
    else if (atMs > movedMs + idleMaxMs) break;
    scatteredMs += room.scattered * (atMs - stage.nowMs);
    freeMs += room.free * (atMs - stage.nowMs);
    stage.nowMs = atMs;
    for (let job = stage.takeEnd(); job >= 0; job = stage.takeEnd()) {
      player.ended(job);
      over++;
    }
    for (; next < trace.count && trace.submitMs[next]! <= atMs; next++) {
      if (room.everFits(trace.size[next]!)) player.submitted(next);
      else impossible.push(next);
    }
    player.decide();
    if (over >= told + progressEvery) {
      told = over;
      options.onProgress?.(over / trace.count);
    }
  }
  // One by one: a whole cluster less may leave more of them than a call takes arguments.
  for (const job of player.waiting?.() ?? []) impossible.push(job);
  if (over + impossible.length !== trace.count)
    throw new Error(`${policy.name} left ${trace.count - over - impossible.length} jobs waiting for ever`);
  const { firstStartMs, endMs, preemptions, lostMs, stretches } = stage;
  const counts = { preemptions, lostMs, scatteredMs, freeMs };
  return {
    policy: policy.name,
    trace,
    devices: room.devices,
    firstStartMs,
    endMs,
    stretches,
    impossible,
    coverage: player.coverage?.() ?? null,
    ...counts,
  };
}
