// What everything costs: the one table of prices of a site. Devices and cores by where and what they are, and what it takes to bring a
// job's data from one place to another. Types, defaults, the document people write, and how a row is found.
import * as z from 'zod';
import { isName, namePatterns, nameRule } from './names.ts';

/** Money is in millionths of whatever unit the site counts in; the defaults count in hours of one device. */
export interface Prices {
  readonly deviceHourMicro: number;
  readonly coreHourMicro: number;
  /** What one point of an unmet preference costs an hour of one task. */
  readonly preferenceMicro: number;
  /** The first row that matches and says an amount counts. */
  readonly rows: readonly PriceRow[];
  /** The first row that matches counts; data that no row is about costs nothing to bring. */
  readonly transfers: readonly TransferRow[];
}

export interface PriceRow {
  readonly match: PriceMatch;
  readonly deviceHourMicro: number | null;
  readonly coreHourMicro: number | null;
}

/** What is left out matches anything. `capacity`, `region` and `instanceType` are labels of the node. */
export interface PriceMatch {
  readonly cluster?: string | undefined;
  readonly pool?: string | undefined;
  readonly capacity?: string | undefined;
  readonly region?: string | undefined;
  readonly instanceType?: string | undefined;
  readonly kind?: string | undefined;
  readonly model?: string | undefined;
}

/** Between places that are named by region or by cluster; a place that is left out is any. Inside one place nothing is brought. */
export interface TransferRow {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Once for every GiB. */
  readonly gibMicro: number;
  /** How much comes in an hour, while the job's devices wait; null: it takes no time. */
  readonly gibPerHour: number | null;
}

/** The labels of a node that a price can name, by the field that names them. */
export const pricedLabels = {
  cluster: 'cluster',
  pool: 'pool',
  capacity: 'capacity',
  region: 'region',
  instanceType: 'instance-type',
} as const satisfies Partial<Record<keyof PriceMatch, string>>;

export const defaultPrices: Prices = {
  deviceHourMicro: 1_000_000,
  coreHourMicro: 10_000,
  preferenceMicro: 10_000,
  rows: [],
  transfers: [],
};

type Labels = Readonly<Record<string, string>>;
type PricedDevice = { readonly kind: string; readonly model: string };

/** An hour of one device of a node with these labels, `cluster` and `pool` among them. */
export function deviceHourMicro(prices: Prices, labels: Labels, device: PricedDevice): number {
  const row = prices.rows.find((each) => each.deviceHourMicro !== null && matches(each, labels, device));
  return row?.deviceHourMicro ?? prices.deviceHourMicro;
}

/** An hour of one core there; rows about devices do not count. */
export function coreHourMicro(prices: Prices, labels: Labels): number {
  const row = prices.rows.find((each) => each.coreHourMicro !== null && matches(each, labels, null));
  return row?.coreHourMicro ?? prices.coreHourMicro;
}

function matches({ match }: PriceRow, labels: Labels, device: PricedDevice | null): boolean {
  for (const field of Object.keys(pricedLabels) as (keyof typeof pricedLabels)[])
    if (match[field] !== undefined && match[field] !== labels[pricedLabels[field]]) return false;
  return is(match.kind, device?.kind) && is(match.model, device?.model);
}

function is(wanted: string | undefined, value: string | undefined): boolean {
  return wanted === undefined || wanted === value;
}

/** The labels of nodes on which a price depends. Capacity is always one of them: every cluster has it. */
export function labelsPriced({ rows, transfers }: Prices): ReadonlySet<string> {
  const fields = Object.keys(pricedLabels) as (keyof typeof pricedLabels)[];
  const used = fields.filter((field) => rows.some(({ match }) => match[field] !== undefined));
  return new Set([
    pricedLabels.capacity,
    ...used.map((field) => pricedLabels[field]),
    ...(transfers.length > 0 ? [pricedLabels.region] : []),
  ]);
}

const name = z.string().refine(isName, `must be ${nameRule}`).meta({ pattern: namePatterns.name });
const micro = (n: number): number => Math.round(n * 1_000_000);
const money = z
  .number()
  .min(0)
  .max(1_000_000)
  .refine((n) => micro(n) / 1_000_000 === n, { message: 'must be in millionths' });
const word = z.string().max(63);

const priceRow = z.strictObject({
  cluster: word.optional(),
  pool: word.optional(),
  capacity: word.optional().meta({ description: 'the label capacity of the node' }),
  region: word.optional().meta({ description: 'the label region of the node' }),
  instanceType: word.optional().meta({ description: 'the label instance-type of the node' }),
  kind: name.optional(),
  model: word.optional(),
  device: money.optional().meta({ description: 'an hour of one device' }),
  core: money.optional().meta({ description: 'an hour of one core' }),
});

const transferRow = z.strictObject({
  from: word.optional().meta({ description: 'the region or cluster where the data is; any when left out' }),
  to: word.optional().meta({ description: 'the region or cluster of the node; any when left out' }),
  gib: money.default(0).meta({ description: 'what bringing one GiB costs, once' }),
  gibPerHour: z.int().min(1).max(1_000_000_000).optional().meta({
    description: 'how much comes in an hour, while the devices of the job wait; no time when left out',
  }),
});

/** Of the policy's document. */
export const pricesField = z
  .strictObject({
    device: money.default(1).meta({ description: 'an hour of one device' }),
    core: money.default(0.01).meta({ description: 'an hour of one core' }),
    preference: money.default(0.01).meta({ description: 'an hour of one task, for each point unmet' }),
    rows: z.array(priceRow).max(1000).default([]),
    transfers: z.array(transferRow).max(1000).default([]).meta({
      description: "what it costs to bring a job's data to where it runs; the first row that matches counts",
    }),
  })
  .prefault({});

export function completePrices(raw: z.output<typeof pricesField>): Prices {
  const { device, core, preference, rows, transfers } = raw;
  return {
    deviceHourMicro: micro(device),
    coreHourMicro: micro(core),
    preferenceMicro: micro(preference),
    rows: rows.map(({ device: each, core: ofCore, ...match }) => ({
      match,
      deviceHourMicro: each === undefined ? null : micro(each),
      coreHourMicro: ofCore === undefined ? null : micro(ofCore),
    })),
    transfers: transfers.map(({ gib, gibPerHour = null, ...between }) => ({
      ...between,
      gibMicro: micro(gib),
      gibPerHour,
    })),
  };
}

/** As people write it; reads back to the same. */
export function pricesDocument(prices: Prices): z.input<typeof pricesField> {
  return {
    device: prices.deviceHourMicro / 1_000_000,
    core: prices.coreHourMicro / 1_000_000,
    preference: prices.preferenceMicro / 1_000_000,
    rows: prices.rows.map((row) => ({
      ...row.match,
      ...(row.deviceHourMicro === null ? {} : { device: row.deviceHourMicro / 1_000_000 }),
      ...(row.coreHourMicro === null ? {} : { core: row.coreHourMicro / 1_000_000 }),
    })),
    transfers: prices.transfers.map(({ gibMicro, gibPerHour, ...between }) => ({
      ...between,
      gib: gibMicro / 1_000_000,
      ...(gibPerHour === null ? {} : { gibPerHour }),
    })),
  };
}
