// The parts of the policy that say where tasks go: what hardware is, how places nest, what they can give besides cores and
// devices, and what everything costs (prices.ts). Types, defaults and the document people write.
import * as z from 'zod';
import { defaultHardware, type Hardware } from './hardware.ts';
import { isLabelKey, isName, namePatterns, nameRule } from './names.ts';
import { completePrices, defaultPrices, type Prices, pricesDocument, pricesField } from './prices.ts';

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

export interface PlacingPolicy {
  /** What is known of accelerator models; the first row of a kind and model counts. */
  readonly hardware: readonly Hardware[];
  readonly topology: Topology;
  readonly prices: Prices;
}

export const defaultPlacing: PlacingPolicy = {
  hardware: defaultHardware,
  topology: { levels: ['region', 'zone', 'cluster', 'block', 'rack', 'nvlink-domain'], resources: [] },
  prices: defaultPrices,
};

const name = z.string().refine(isName, `must be ${nameRule}`).meta({ pattern: namePatterns.name });
const label = z.string().refine(isLabelKey, 'must be a label name').meta({ pattern: namePatterns.labelKey });
const amount = z.int().min(0).max(1_000_000_000_000);

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
  prices: pricesField,
};

const placing = z.strictObject(placingFields);
type RawPlacing = z.output<typeof placing>;
export type PlacingInput = z.input<typeof placing>;

export function completePlacing(raw: RawPlacing): PlacingPolicy {
  return {
    hardware: [...raw.hardware, ...defaultHardware],
    topology: raw.topology,
    prices: completePrices(raw.prices),
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
    prices: pricesDocument(prices),
  };
}
