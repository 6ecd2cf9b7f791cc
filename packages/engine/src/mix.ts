// What the jobs that wait and run ask for together: how many devices go with a core. A node with fewer cores left for its
// free devices than that will strand some of them. Kept as whole sums over all jobs that are not over, so that it follows
// from rows; only tasks that name both their devices and their cores count, because the others take the share of their node.
import { type JobDemand, wholeDevice } from '@muster/model';
import type { Fleet } from './fleet.ts';
import type { ClassFit } from './match.ts';

/** Thousandths of devices that go with a core are kept in so many parts. */
const unit = 2 ** 20;
/** Four devices a core; beyond it products would not be exact. */
const ratioMax = 4 * unit;

export interface MixPart {
  /** Tasks of equal cores and devices are one kind. */
  readonly kind: string;
  readonly tasks: number;
  readonly cpuMilli: number;
  readonly milli: number;
}

export function mixParts(demand: JobDemand): readonly MixPart[] {
  return demand.groups.flatMap(({ tasks, cpuMilli, accelerators }): MixPart[] => {
    const milli = accelerators[0]?.milli;
    if (milli === undefined || cpuMilli === null) return [];
    return [{ kind: `${cpuMilli}/${milli}`, tasks, cpuMilli, milli }];
  });
}

export class Mix {
  #kinds = new Map<string, number>();
  #cpuMilli = 0;
  #milli = 0;
  #ratio = -1;
  /** Set when it changed since somebody looked and cleared it: single tasks may be placed elsewhere now. */
  moved = false;

  copy(): Mix {
    const other = new Mix();
    other.#kinds = new Map(this.#kinds);
    other.#cpuMilli = this.#cpuMilli;
    other.#milli = this.#milli;
    other.moved = this.moved;
    return other;
  }

  /** So many jobs more, or fewer. */
  add(parts: readonly MixPart[], jobs: number): void {
    if (jobs === 0) return;
    for (const { kind, tasks, cpuMilli, milli } of parts) {
      const left = (this.#kinds.get(kind) ?? 0) + jobs * tasks;
      if (left > 0) this.#kinds.set(kind, left);
      else this.#kinds.delete(kind);
      this.#cpuMilli += jobs * tasks * cpuMilli;
      this.#milli += jobs * tasks * milli;
      this.#ratio = -1;
      this.moved = true;
    }
  }

  /** Equal tasks strand nothing of each other's. */
  get isMixed(): boolean {
    return this.#kinds.size > 1;
  }

  /** Free thousandths of devices for which the free cores do not suffice. */
  stranded(freeMilli: number, freeCpu: number): number {
    if (this.#ratio < 0) this.#ratio = ratioOf(this.#milli, this.#cpuMilli);
    return Math.max(0, freeMilli - Math.floor((Math.min(freeCpu, cpuMax) * this.#ratio) / unit));
  }

  /** How much more is stranded on a node with one more task; below 0 when less is. */
  strands(fleet: Fleet, slot: number, fit: ClassFit): number {
    const milli = fleet.freeMilli[slot]!;
    const cpuMilli = fleet.freeCpu[slot]!;
    return (
      this.stranded(milli - fit.count * fit.milli, cpuMilli - fit.cpuMilli) - this.stranded(milli, cpuMilli)
    );
  }
}

const cpuMax = 2 ** 30;

function ratioOf(milli: number, cpuMilli: number): number {
  let [devices, cores] = [milli, cpuMilli];
  while (devices >= 2 ** 32) {
    devices = Math.floor(devices / 2);
    cores = Math.floor(cores / 2);
  }
  return cores === 0 ? ratioMax : Math.min(ratioMax, Math.floor((devices * unit) / cores));
}

/** Stranded devices in money for an hour; cut towards 0. */
export function strandedMicro(milli: number, deviceHourMicro: number): number {
  const whole = Math.trunc(milli / wholeDevice);
  return whole * deviceHourMicro + Math.trunc(((milli % wholeDevice) * deviceHourMicro) / wholeDevice);
}
