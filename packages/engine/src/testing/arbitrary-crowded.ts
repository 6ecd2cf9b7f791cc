// Histories full of preemption: a node or two, jobs that fill them, and a policy that turns round who comes first, so that
// those who lost their room want it back from those who took it, again and again. In the worlds of arbitrary.ts that is rare.
import { defaultPolicy, type JobDemand, type Quota } from '@muster/model';
import * as fc from 'fast-check';
import { arbitraryEstimate, arbitraryRunTimes, type Step } from './arbitrary.ts';
import { demand, devices, gpus, group, node, oneTask } from './builders.ts';

const join = (name: string): Step => ({ do: 'join', node: node(name, { devices: devices(4) }) });

const guarantee = (project: string, gpu: number): Quota => ({
  project,
  guaranteed: { gpu: gpu * 1000 },
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
  // Half of what there is, for one of the two.
  quotas: fc.constantFrom([], [guarantee('p', 4)], [guarantee('q', 4)]),
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

const many = Array.from({ length: 9 }, (_, run) => run);
/** The same of all runs; each saves its work as soon as it runs. */
const goOnAll: readonly Step[] = [
  cycle,
  ...few.map((): Step => ({ do: 'stopped', run: 0 })),
  cycle,
  ...many.flatMap((run): Step[] => [
    { do: 'running', run },
    { do: 'checkpoint', run },
  ]),
];

function smallOr(...demands: readonly [JobDemand, ...JobDemand[]]): fc.Arbitrary<Step> {
  return arbitrarySubmit.chain((step) =>
    fc.constantFrom(...demands).map((demand) => ({ ...step, demand }) as Step),
  );
}

function arbitraryPiece(): fc.Arbitrary<Step> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('finish' as const), run: fc.nat(8) }) },
    { weight: 3, arbitrary: smallOr(oneTask(4), oneTask(3), oneTask(1)) },
    { weight: 1, arbitrary: arbitraryChange },
  );
}

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

const lenders = ['p', 'q', 'r', 'q/s'];

/** Each is guaranteed something or nothing, so that some borrow one device, some several, of their siblings and beside their parent. */
const arbitraryGuarantees: fc.Arbitrary<Step> = fc
  .tuple(arbitraryPolicy, fc.tuple(...lenders.map(() => fc.nat(5))), fc.constantFrom(true, true, false))
  .map(([policy, amounts, guaranteed]) => ({
    ...policy,
    guaranteed,
    quotas: lenders.flatMap((project, i) => (amounts[i] === 0 ? [] : [guarantee(project, amounts[i]!)])),
  }));

const submitted = (...demands: readonly [JobDemand, ...JobDemand[]]): fc.Arbitrary<Step> =>
  fc
    .tuple(arbitrarySubmit, fc.constantFrom(...demands), fc.constantFrom(...lenders))
    .map(([step, asks, project]) => ({ ...step, demand: asks, project, array: undefined }) as Step);

const pairs = demand(group([gpus(2)], { tasks: 2 }));

/** Small runs of several projects on three nodes, whose guarantees move; jobs that need several of them come, and more than one at once. */
export const arbitraryLentSteps: fc.Arbitrary<readonly Step[]> = fc
  .record({
    policy: arbitraryGuarantees,
    jobs: fc.array(submitted(oneTask(1), oneTask(1), oneTask(2)), {
      minLength: 6,
      maxLength: 12,
      size: 'max',
    }),
    changes: fc.array(
      fc.oneof(
        { weight: 2, arbitrary: arbitraryGuarantees.map((policy): readonly Step[] => [policy]) },
        {
          weight: 4,
          arbitrary: fc.array(submitted(oneTask(2), oneTask(3), oneTask(1), pairs), {
            minLength: 2,
            maxLength: 4,
            size: 'max',
          }),
        },
        { weight: 1, arbitrary: arbitraryChange.map((step): readonly Step[] => [step]) },
      ),
      { minLength: 2, maxLength: 6, size: 'max' },
    ),
  })
  .map(({ policy, jobs, changes }) => [
    ...['a', 'b', 'c'].map(join),
    policy,
    ...jobs,
    ...goOn,
    ...changes.flatMap((steps) => [...steps, { do: 'wait', ms: 60 } as Step, ...goOn]),
  ]);

/** Many small runs on three nodes, most of which have saved their work, some of which end: room is left in pieces, and large jobs come. */
export const arbitraryScatteredSteps: fc.Arbitrary<readonly Step[]> = fc
  .record({
    policy: arbitraryPolicy.map((step) => ({
      ...step,
      minRunMs: 0,
      runTimes: { use: 'learned', first: 'expected', stop: 'longer' } as const,
    })),
    jobs: fc.array(smallOr(oneTask(2), oneTask(1), oneTask(3)), { minLength: 5, maxLength: 9, size: 'max' }),
    changes: fc.array(arbitraryPiece(), { minLength: 3, maxLength: 10, size: 'max' }),
  })
  .map(({ policy, jobs, changes }) => [
    ...['a', 'b', 'c'].map(join),
    policy as Step,
    ...jobs,
    ...goOnAll,
    ...changes.flatMap((change) => [change, ...goOnAll]),
  ]);
