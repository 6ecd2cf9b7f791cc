// Histories in which places differ in what they cost and jobs say where their data is: those of arbitrary.ts, with regions, instance types,
// prices by them, data and transfers put on. Apart from those, because the cases that the default run always tries are theirs.
import type { DataDemand, PriceRow, TransferRow } from '@muster/model';
import * as fc from 'fast-check';
import { arbitrarySteps, type Step } from './arbitrary.ts';

const rows = fc.array(
  fc.constantFrom<PriceRow>(
    { match: { region: 'u' }, deviceHourMicro: 700_000, coreHourMicro: 5000 },
    { match: { instanceType: 'big', model: 'A100' }, deviceHourMicro: 900_000, coreHourMicro: null },
    { match: { region: 'v', instanceType: 'big' }, deviceHourMicro: 1_100_000, coreHourMicro: null },
  ),
  { maxLength: 2 },
);

const transfers = fc.array(
  fc.constantFrom<TransferRow>(
    { from: 'u', gibMicro: 20_000, gibPerHour: null },
    { from: 'u', to: 'v', gibMicro: 0, gibPerHour: 16 },
    { to: 'main', gibMicro: 1000, gibPerHour: 2 },
    { gibMicro: 7, gibPerHour: null },
  ),
  { minLength: 1, maxLength: 2 },
);

/** Sizes that divide well: the reference counts in fractions. */
const data: fc.Arbitrary<DataDemand> = fc.record({
  parts: fc.array(
    fc.constantFrom(
      { region: 'u', sizeMib: 8 * 1024 },
      { region: 'v', sizeMib: 32 * 1024 },
      { cluster: 'main', sizeMib: 4 * 1024 },
      { cluster: 'elsewhere', sizeMib: 16 * 1024 },
    ),
    { minLength: 1, maxLength: 2 },
  ),
  overMs: fc.constantFrom(3_600_000, 1_800_000),
});

const labels = fc.constantFrom<Record<string, string>>(
  {},
  { region: 'u' },
  { region: 'u', 'instance-type': 'big' },
  { region: 'v', 'instance-type': 'big' },
);

interface Put {
  readonly labels: readonly Record<string, string>[];
  readonly data: readonly (DataDemand | null)[];
  readonly rows: readonly PriceRow[];
  readonly transfers: readonly TransferRow[];
}

export const arbitraryPlacedSteps: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    arbitrarySteps,
    fc.record({
      labels: fc.array(labels, { minLength: 4, maxLength: 4 }),
      data: fc.array(fc.option(data), { minLength: 3, maxLength: 3 }),
      rows,
      transfers,
    }),
  )
  .map(([steps, put]) => {
    const placed = steps.map((step, i) => placedStep(step, i, put));
    // Where the history has a policy at all it begins with it, so that its prices count from the first job on.
    const policy = placed.find((step) => step.do === 'policy');
    return policy ? [policy, ...placed] : placed;
  });

function placedStep(step: Step, i: number, put: Put): Step {
  const of = <T>(some: readonly T[]): T => some[i % some.length]!;
  switch (step.do) {
    case 'join': {
      const { inventory } = step.node;
      const more = { ...inventory.labels, ...of(put.labels) };
      return { ...step, node: { ...step.node, inventory: { ...inventory, labels: more } } };
    }
    case 'submit': {
      const read = of(put.data);
      return read ? { ...step, demand: { ...step.demand, data: read } } : step;
    }
    case 'policy': {
      const { prices } = step;
      const all = [...put.rows, ...prices.rows];
      return { ...step, prices: { ...prices, rows: all, transfers: put.transfers } };
    }
    default:
      return step;
  }
}
