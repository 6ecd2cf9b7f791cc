// Learns how long jobs run from those that have ended, and says it of jobs that have not started, as a distribution. No clock and no
// look into the future: the same runs in the same order give the same answers.
//
// The answer of a job is mixed from its kin, closest first. A kin with few runs is trusted little: it counts as much as its runs
// against `doubt` runs of the wider kin behind it, which is mixed in the same way. Newer runs count more than older ones, because
// people repeat what they did a moment ago.
import { Calibrated } from './calibrated.ts';
import { KinTable } from './kin-table.ts';
import { runsKept } from './recent-runs.ts';
import { type JobTraits, type Kin, kinKey, kins } from './traits.ts';
import { WeightedRuns } from './weighted-runs.ts';

export interface Estimate {
  /** The mean. */
  readonly expectedMs: number;
  /** It stays within these with a chance of one half and of nine tenths. */
  readonly p50Ms: number;
  readonly p90Ms: number;
  /** What it was learned from before all: the closest kin of which anybody ended, and how many recent runs of it. */
  readonly kin: Kin;
  readonly runs: number;
}

/** What is kept of an estimate to score it; the P50 is not always kept. */
export interface Quantiles {
  readonly p50Ms: number | null;
  readonly p90Ms: number;
}

/** Which part of the jobs that ended stayed within what was said of them before. */
export interface Coverage {
  readonly scored: number;
  readonly p50: number;
  readonly p90: number;
}

/** Runs of the wider kin that a closer one is weighed against. */
const doubt = 4;
/** What a run counts beside the next newer one of its kin. */
const fading = 0.8;
/** Wider kin that would count for less than this change nothing. */
const negligible = 0.05;

export class RunTimes {
  readonly #kin = new KinTable();
  readonly #mixed = new WeightedRuns();
  readonly #p50 = new Calibrated(0.5);
  readonly #p90 = new Calibrated(0.9);

  /** A job has run to its end, of which this had been said when it came. */
  observe(traits: JobTraits, ranMs: number, said: Quantiles | null): void {
    if (said && said.p50Ms !== null) this.#p50.score(said.p50Ms, ranMs);
    if (said) this.#p90.score(said.p90Ms, ranMs);
    for (let kin = 0; kin < kins.length; kin++) this.#kin.use(kinKey(kin, traits)).add(ranMs);
  }

  /** Null while nobody has ended. */
  estimate(traits: JobTraits): Estimate | null {
    const closest = this.#mix(traits);
    if (!closest) return null;
    const most = traits.askedMs ?? Number.MAX_SAFE_INTEGER;
    const p50Ms = this.#p50.answer(this.#mixed.quantile(0.5), most);
    const p90Ms = Math.max(p50Ms, this.#p90.answer(this.#mixed.quantile(0.9), most));
    return { expectedMs: Math.min(most, Math.ceil(this.#mixed.mean())), p50Ms, p90Ms, ...closest };
  }

  /**
   * How much longer a job will run that has run so long: what those of its kin did that ran longer still. Where there are none, as
   * long again, because the long tail of run times has no scale.
   */
  remainingMs(traits: JobTraits, ranMs: number): number | null {
    if (!this.#mix(traits)) return null;
    const totalMs = this.#mixed.meanAbove(ranMs);
    return totalMs === null ? ranMs : Math.ceil(totalMs - ranMs);
  }

  coverage(): Coverage | null {
    const [p50, p90] = [this.#p50.covered, this.#p90.covered];
    return p50 === null || p90 === null ? null : { scored: this.#p50.scored, p50, p90 };
  }

  #mix(traits: JobTraits): Pick<Estimate, 'kin' | 'runs'> | null {
    let closest: Pick<Estimate, 'kin' | 'runs'> | null = null;
    let left = 1;
    this.#mixed.clear();
    for (const [i, kin] of kins.entries()) {
      const runs = this.#kin.find(kinKey(i, traits));
      if (!runs) continue;
      closest ??= { kin, runs: runs.count };
      const all = sumOfFading[runs.count]!;
      const part = left * (all / (all + doubt));
      for (let before = 0, weight = part / all; before < runs.count; before++, weight *= fading)
        this.#mixed.add(runs.at(before), weight);
      left -= part;
      if (left < negligible) break;
    }
    return closest;
  }
}

/** What that many runs count together, the newest for 1. */
const sumOfFading: readonly number[] = Array.from({ length: runsKept + 1 }, (_, count) => {
  let sum = 0;
  for (let i = 0, weight = 1; i < count; i++, weight *= fading) sum += weight;
  return sum;
});
