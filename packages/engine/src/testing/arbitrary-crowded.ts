// Histories full of preemption: a node or two, jobs that fill them, and a policy that turns round who comes first, so that
// those who lost their room want it back from those who took it, again and again. In the worlds of arbitrary.ts that is rare.
import { defaultPolicy, type Quota } from '@muster/model';
import * as fc from 'fast-check';
import { arbitraryEstimate, arbitraryRunTimes, type Step } from './arbitrary.ts';
import { devices, node, oneTask } from './builders.ts';

const join = (name: string): Step => ({ do: 'join', node: node(name, { devices: devices(4) }) });

/** Half of what there is, for one of the two. */
const guarantee = (project: string): Quota => ({
  project,
  guaranteed: { gpu: 4000 },
  ceiling: {},
  userCeiling: {},
  weightMilli: 1000,
  preemptWithin: 'lower-priority',
});

const arbitraryPolicy: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('policy' as const),
  ranks: fc.constantFrom([1, 2], [2, 1]),
  minRunMs: fc.constantFrom(0, 0, 50),
  preemptionsMax: fc.constantFrom(1, 2, 3),
  guaranteed: fc.boolean(),
  power: fc.constant(null),
  cooling: fc.constant(null),
  prices: fc.constant(defaultPolicy.prices),
  backfill: fc.constant(defaultPolicy.backfill),
  runTimes: arbitraryRunTimes,
  quotas: fc.constantFrom([], [guarantee('p')], [guarantee('q')]),
});

const arbitrarySubmit: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('submit' as const),
  demand: fc.constantFrom(oneTask(4), oneTask(4), oneTask(2)),
  project: fc.constantFrom('p', 'q'),
  tier: fc.constantFrom('standard', 'critical'),
  priority: fc.constantFrom(0, 5),
  user: fc.constant('ada'),
  durationMs: fc.constant(null),
  deadlineInMs: fc.constant(null),
  estimate: arbitraryEstimate,
  restoreMs: fc.constantFrom(undefined, undefined, 3000),
  held: fc.constant(false),
  array: fc.constantFrom(undefined, undefined, undefined, { count: 3, parallel: null }),
});

const arbitraryChange: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: arbitraryPolicy },
  { weight: 3, arbitrary: arbitrarySubmit },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('finish' as const), run: fc.nat(4) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('checkpoint' as const), run: fc.nat(4) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('requeue' as const),
      run: fc.nat(4),
      delayMs: fc.constant(0),
      avoid: fc.constant(false),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(10, 60, 600) }),
  },
);

const cycle: Step = { do: 'cycle', dropEvery: 0 };
const few = [0, 1, 2, 3];
/** Victims end, those they made room for start, and of those three run at most. */
const goOn: readonly Step[] = [
  cycle,
  ...few.map((): Step => ({ do: 'stopped', run: 0 })),
  cycle,
  ...few.slice(1).map((run): Step => ({ do: 'running', run })),
];

export const arbitraryCrowdedSteps: fc.Arbitrary<readonly Step[]> = fc
  .record({
    nodes: fc.constantFrom(['a'], ['a', 'b']),
    policy: arbitraryPolicy,
    jobs: fc.array(arbitrarySubmit, { minLength: 2, maxLength: 4 }),
    changes: fc.array(arbitraryChange, { minLength: 3, maxLength: 12, size: 'max' }),
  })
  .map(({ nodes, policy, jobs, changes }) => [
    ...nodes.map(join),
    policy,
    ...jobs,
    ...goOn,
    ...changes.flatMap((change) => [change, ...goOn]),
  ]);
