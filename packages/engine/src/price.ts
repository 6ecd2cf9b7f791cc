// What a task costs on a node of a class, in micro-money for an hour of its work at the speed of the first alternative. Cores and
// memory that follow from the devices are in the devices' price; cores asked for, and those of tasks without devices,
// have their own.
import {
  type AcceleratorDemand,
  type Constraint,
  coreHourMicro,
  type DataDemand,
  type DataPart,
  deviceHourMicro,
  type GroupDemand,
  type JobDemand,
  type Prices,
  taskCount,
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
  /** What bringing the job's data there costs, once: the task's part of the money, and its own hours until it has come. */
  readonly transfer: number;
  /** The same, spread over the hours of its work. */
  readonly transferHour: number;
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
    const dearest = devices.reduce(
      (most, device) => Math.max(most, deviceHourMicro(prices, cls.labels, device)),
      0,
    );
    rate += (BigInt(dearest) * BigInt(accelerator.milli)) / 1000n;
  }
  if (!accelerator || group.cpuMilli !== null)
    rate += (BigInt(coreHourMicro(prices, cls.labels)) * BigInt(cpuMilli)) / 1000n;
  const work = capped((rate * 1000n) / BigInt(accelerator?.speedMilli ?? 1000));
  const price = capped(rate);
  const points = demand.preferences.reduce((sum, rule) => sum + (unmet(rule) ? rule.weight : 0), 0);
  return {
    price,
    speed: work - price,
    preference: capped(BigInt(points) * BigInt(prices.preferenceMicro)),
    trust: Math.floor((work * (wholeDevice - cls.trustMilli)) / wholeDevice),
    ...(demand.data ? transferCost(demand, demand.data, cls, prices, rate) : noTransfer),
  };
}

function capped(amount: bigint): number {
  return amount > BigInt(costMax) ? costMax : Number(amount);
}

const hourMs = 3_600_000n;
const noTransfer = { transfer: 0, transferHour: 0 } as const;

/** `rate`: what an hour of the task costs there, which it waits for its data as it would work. */
function transferCost(
  demand: JobDemand,
  { parts, overMs }: DataDemand,
  { labels }: NodeClass,
  { transfers }: Prices,
  rate: bigint,
): Pick<ClassCost, 'transfer' | 'transferHour'> {
  let [money, waitMs] = [0n, 0n];
  for (const part of parts) {
    if (isThere(part, labels)) continue;
    const row = transfers.find(
      ({ from, to }) =>
        (from === undefined || from === part.region || from === part.cluster) &&
        (to === undefined || to === labels.region || to === labels.cluster),
    );
    if (!row) continue;
    const mib = BigInt(part.sizeMib);
    money += (mib * BigInt(row.gibMicro)) / 1024n;
    if (row.gibPerHour !== null) waitMs += (mib * hourMs) / (1024n * BigInt(row.gibPerHour));
  }
  const once = money / BigInt(taskCount(demand)) + (rate * waitMs) / hourMs;
  const spread = capped((once * hourMs) / BigInt(overMs));
  return { transfer: Math.min(Number(once), onceMax), transferHour: spread };
}

/** For showing it: a sum of a few of these is still exact. */
const onceMax = 2 ** 50;

function isThere({ region, cluster }: DataPart, labels: NodeClass['labels']): boolean {
  return region === undefined ? cluster === labels.cluster : region === labels.region;
}
