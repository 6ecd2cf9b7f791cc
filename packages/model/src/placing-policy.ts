// The parts of the policy that say where tasks go: what hardware is, how places nest, what they can give besides cores and
// devices, and what everything costs. Types, defaults and the document people write.
import * as z from 'zod';
import { defaultHardware, type Hardware } from './hardware.ts';
import { isLabelKey, isName, namePatterns, nameRule } from './names.ts';

/**
 * Places nest by labels of nodes, from wide to narrow. `cluster` and `pool` are the node's own; every other level is a label.
 * Nodes without a label form a domain of their own below the level above. The node itself is the narrowest level, `node`.
 */
export interface Topology {
  readonly levels: readonly string[];
  readonly resources: readonly DomainResource[];
}

/** Something every domain of a level has so much of, such as power a rack or slots a node. Whole numbers in a unit of your own. */
export interface DomainResource {
  readonly name: string;
  readonly level: string;
  /** Shown behind amounts, for example W. */
  readonly unit: string;
  /** By the label's value, of a node by its name; `default` counts for the others. A domain without either has no limit. */
  readonly capacity: Readonly<Record<string, number>>;
  /** What a device in use takes, by model or, where the model is not listed, by kind. A part of a device takes its part. */
  readonly perDevice: Readonly<Record<string, number>>;
  readonly perTask: number;
}

/** Money is in millionths of whatever unit the site counts in; the defaults count in hours of one device. */
export interface Prices {
  readonly deviceHourMicro: number;
  readonly coreHourMicro: number;
  /** What one point of an unmet preference costs an hour of one task. */
  readonly preferenceMicro: number;
  /** The first row that matches and says an amount counts. */
  readonly rows: readonly PriceRow[];
}

export interface PriceRow {
  readonly match: PriceMatch;
  readonly deviceHourMicro: number | null;
  readonly coreHourMicro: number | null;
}

/** What is left out matches anything; `capacity` is the label of that name (on-demand, spot, reserved). */
export interface PriceMatch {
  readonly cluster?: string | undefined;
  readonly pool?: string | undefined;
  readonly capacity?: string | undefined;
  readonly kind?: string | undefined;
  readonly model?: string | undefined;
}

export interface PlacingPolicy {
  /** What is known of accelerator models; the first row of a kind and model counts. */
  readonly hardware: readonly Hardware[];
  readonly topology: Topology;
  readonly prices: Prices;
}

export const defaultPlacing: PlacingPolicy = {
  hardware: defaultHardware,
  topology: { levels: ['region', 'zone', 'cluster', 'block', 'rack', 'nvlink-domain'], resources: [] },
  prices: { deviceHourMicro: 1_000_000, coreHourMicro: 10_000, preferenceMicro: 10_000, rows: [] },
};

const name = z.string().refine(isName, `must be ${nameRule}`).meta({ pattern: namePatterns.name });
const label = z.string().refine(isLabelKey, 'must be a label name').meta({ pattern: namePatterns.labelKey });
const amount = z.int().min(0).max(1_000_000_000_000);
const micro = (n: number): number => Math.round(n * 1_000_000);
const money = z
  .number()
  .min(0)
  .max(1_000_000)
  .refine((n) => micro(n) / 1_000_000 === n, { message: 'must be in millionths' });

const hardwareRow = z.strictObject({
  kind: name.default('gpu'),
  model: z.string().max(63),
  interconnect: name.nullable().default(null).meta({ description: 'the link between the devices of a node' }),
  generation: z.int().min(0).max(1000).nullable().default(null),
});

const resource = z.strictObject({
  name,
  level: label.meta({ description: 'the level whose domains have it, or node' }),
  unit: z.string().max(16).default('').meta({ description: 'shown behind amounts, for example W' }),
  capacity: z
    .record(z.string().max(127), amount)
    .meta({ description: "by the domain's label or the node's name, and default for the others" }),
  perDevice: z.record(z.string().max(63), amount).default({}).meta({ description: 'by model or kind' }),
  perTask: amount.default(0),
});

const priceRow = z.strictObject({
  cluster: z.string().max(63).optional(),
  pool: z.string().max(63).optional(),
  capacity: z.string().max(63).optional().meta({ description: 'the label capacity of the node' }),
  kind: name.optional(),
  model: z.string().max(63).optional(),
  device: money.optional().meta({ description: 'an hour of one device' }),
  core: money.optional().meta({ description: 'an hour of one core' }),
});

/** Fields of the policy's document. */
export const placingFields = {
  hardware: z
    .array(hardwareRow)
    .max(1000)
    .default([])
    .meta({ description: 'what accelerator models are; these rows stand before the ones Muster knows' }),
  topology: z
    .strictObject({
      levels: z
        .array(label)
        .max(16)
        .default([...defaultPlacing.topology.levels])
        .meta({ description: 'labels from wide to narrow; the node itself is the last' }),
      resources: z.array(resource).max(32).default([]),
    })
    .prefault({}),
  prices: z
    .strictObject({
      device: money.default(1).meta({ description: 'an hour of one device' }),
      core: money.default(0.01).meta({ description: 'an hour of one core' }),
      preference: money.default(0.01).meta({ description: 'an hour of one task, for each point unmet' }),
      rows: z.array(priceRow).max(1000).default([]),
    })
    .prefault({}),
};

const placing = z.strictObject(placingFields);
type RawPlacing = z.output<typeof placing>;
export type PlacingInput = z.input<typeof placing>;

export function completePlacing(raw: RawPlacing): PlacingPolicy {
  const { device, core, preference, rows } = raw.prices;
  return {
    hardware: [...raw.hardware, ...defaultHardware],
    topology: raw.topology,
    prices: {
      deviceHourMicro: micro(device),
      coreHourMicro: micro(core),
      preferenceMicro: micro(preference),
      rows: rows.map(({ device: each, core: ofCore, ...match }) => ({
        match,
        deviceHourMicro: each === undefined ? null : micro(each),
        coreHourMicro: ofCore === undefined ? null : micro(ofCore),
      })),
    },
  };
}

type AddProblem = (path: readonly PropertyKey[], message: string) => void;

/** What only shows when fields are seen together. */
export function placingProblems({ topology }: PlacingPolicy, add: AddProblem): void {
  const { levels, resources } = topology;
  for (const [i, level] of levels.entries()) {
    if (level === 'node') add(['topology', 'levels', i], 'node is always the last level; leave it out');
    if (levels.indexOf(level) !== i) add(['topology', 'levels', i], `"${level}" is listed twice`);
  }
  for (const [i, { level, name: own }] of resources.entries()) {
    const at = ['topology', 'resources', i];
    if (level !== 'node' && !levels.includes(level))
      add([...at, 'level'], `"${level}" is no level; levels are ${[...levels, 'node'].join(', ')}`);
    if (resources.findIndex((other) => other.name === own) !== i)
      add([...at, 'name'], `"${own}" names two resources`);
  }
}

/** As people write it; reads back to the same. */
export function placingDocument({ hardware, topology, prices }: PlacingPolicy): PlacingInput {
  const own = hardware.slice(0, hardware.length - defaultHardware.length);
  return {
    hardware: own.map((row) => ({ ...row })),
    topology: {
      levels: [...topology.levels],
      resources: topology.resources.map((each) => ({
        ...each,
        capacity: { ...each.capacity },
        perDevice: { ...each.perDevice },
      })),
    },
    prices: {
      device: prices.deviceHourMicro / 1_000_000,
      core: prices.coreHourMicro / 1_000_000,
      preference: prices.preferenceMicro / 1_000_000,
      rows: prices.rows.map(({ match, deviceHourMicro, coreHourMicro }) => ({
        ...match,
        ...(deviceHourMicro === null ? {} : { device: deviceHourMicro / 1_000_000 }),
        ...(coreHourMicro === null ? {} : { core: coreHourMicro / 1_000_000 }),
      })),
    },
  };
}
