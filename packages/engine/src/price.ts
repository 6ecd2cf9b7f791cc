// What a task costs on a node of a class, in micro-money for an hour of its work at the speed of the first alternative. Cores and
// memory that follow from the devices are in the devices' price; cores asked for, and those of tasks without devices,
// have their own.
import {
  type AcceleratorDemand,
  type Constraint,
  type GroupDemand,
  type JobDemand,
  type PriceRow,
  type Prices,
  wholeDevice,
} from '@muster/model';
import type { ClassDevice, NodeClass } from './classes.ts';

/** The terms of a score that are known of a class; their sum is at least 0. */
export interface ClassCost {
  readonly price: number;
  /** What the work costs more there because it takes longer than on the first alternative; below 0 when it is faster. */
  readonly speed: number;
  /** Points of preferences that the class does not meet, in money. */
  readonly preference: number;
  /** What its nodes are expected to lose, because they are not fully trusted. */
  readonly trust: number;
}

/** Above every sensible price, and small enough that sums over a gang stay exact. */
const costMax = 2 ** 32;

export function classCost(
  demand: JobDemand,
  group: GroupDemand,
  accelerator: AcceleratorDemand | undefined,
  cls: NodeClass,
  devices: readonly ClassDevice[],
  cpuMilli: number,
  prices: Prices,
  unmet: (rule: Constraint) => boolean,
): ClassCost {
  let rate = 0n;
  if (accelerator) {
    const dearest = devices.reduce((most, device) => Math.max(most, deviceHourMicro(prices, cls, device)), 0);
    rate += (BigInt(dearest) * BigInt(accelerator.milli)) / 1000n;
  }
  if (!accelerator || group.cpuMilli !== null)
    rate += (BigInt(coreHourMicro(prices, cls)) * BigInt(cpuMilli)) / 1000n;
  const work = capped((rate * 1000n) / BigInt(accelerator?.speedMilli ?? 1000));
  const price = capped(rate);
  const points = demand.preferences.reduce((sum, rule) => sum + (unmet(rule) ? rule.weight : 0), 0);
  return {
    price,
    speed: work - price,
    preference: capped(BigInt(points) * BigInt(prices.preferenceMicro)),
    trust: Math.floor((work * (wholeDevice - cls.trustMilli)) / wholeDevice),
  };
}

function capped(amount: bigint): number {
  return amount > BigInt(costMax) ? costMax : Number(amount);
}

/** An hour of one device of a class. */
export function deviceHourMicro(prices: Prices, cls: NodeClass, device: ClassDevice): number {
  const row = prices.rows.find((each) => each.deviceHourMicro !== null && matches(each, cls, device));
  return row?.deviceHourMicro ?? prices.deviceHourMicro;
}

/** An hour of one core of a class; rows about devices do not count. */
export function coreHourMicro(prices: Prices, cls: NodeClass): number {
  const row = prices.rows.find((each) => each.coreHourMicro !== null && matches(each, cls, null));
  return row?.coreHourMicro ?? prices.coreHourMicro;
}

function matches({ match }: PriceRow, cls: NodeClass, device: ClassDevice | null): boolean {
  const is = (wanted: string | undefined, value: string | undefined): boolean =>
    wanted === undefined || wanted === value;
  return (
    is(match.cluster, cls.labels.cluster) &&
    is(match.pool, cls.labels.pool) &&
    is(match.capacity, cls.labels.capacity) &&
    is(match.kind, device?.kind) &&
    is(match.model, device?.model)
  );
}
