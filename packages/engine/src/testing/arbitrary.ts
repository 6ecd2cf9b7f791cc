// Random small worlds for the property tests: a list of steps, each meaningful in any state, so that fast-check can
// shorten a failing list. Small numbers on purpose: collisions are where the bugs are.
import {
  type AcceleratorDemand,
  type Amount,
  type Amounts,
  type ArraySize,
  type Constraint,
  type DomainResource,
  defaultPolicy,
  type GroupDemand,
  type JobDemand,
  type NearDemand,
  type NodeFacts,
  type Policy,
  type PriceRow,
  type Prices,
  parseMemberId,
  type Quota,
  type RunEstimate,
  type RunId,
  type TopologyDemand,
} from '@muster/model';
import * as fc from 'fast-check';
import { demand, devices, group, job, node, nodeId } from './builders.ts';
import type { World } from './world.ts';

export type Step =
  | { readonly do: 'join'; readonly node: NodeFacts }
  | { readonly do: 'state'; readonly node: number; readonly state: 'ready' | 'silent' | 'lost' | 'removed' }
  | { readonly do: 'drain'; readonly node: number; readonly draining: boolean }
  | {
      readonly do: 'submit';
      readonly demand: JobDemand;
      readonly project: string;
      readonly tier: string;
      readonly priority: number;
      readonly user: string;
      readonly durationMs: number | null;
      /** From now; null for none. */
      readonly deadlineInMs: number | null;
      readonly estimate: RunEstimate | undefined;
      readonly restoreMs: number | undefined;
      readonly held: boolean;
      readonly array: ArraySize | undefined;
    }
  | { readonly do: 'hold' | 'release' | 'cancel'; readonly job: number }
  | { readonly do: 'drop'; readonly job: number; readonly first: number }
  | { readonly do: 'cycle'; readonly dropEvery: number }
  | { readonly do: 'running' | 'finish' | 'checkpoint' | 'cancelRun' | 'stopped'; readonly run: number }
  | { readonly do: 'requeue'; readonly run: number; readonly delayMs: number; readonly avoid: boolean }
  | { readonly do: 'wait'; readonly ms: number }
  | {
      readonly do: 'policy';
      readonly ranks: readonly number[];
      readonly minRunMs: number;
      readonly preemptionsMax: number;
      readonly guaranteed: boolean;
      /** What a rack has, and what a node has; null for no limit. */
      readonly power: number | null;
      readonly cooling: number | null;
      readonly prices: Prices;
      readonly backfill: Policy['backfill'];
      readonly runTimes: Policy['runTimes'];
      readonly quotas: readonly Quota[];
    };

const projectNames = ['p', 'q', 'p/a', 'p/b', 'p/b/c'];
const nodeNames = ['a', 'b', 'c', 'd', 'e'];
const models = ['A100', 'H100'];

const arbitraryDevices = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...models).map((model) => devices(4, model, 1000)) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 2).map((count) => devices(count, 'H100', 2000)) },
  // A mixed node: two of each model, one kind of its own at the end.
  {
    weight: 2,
    arbitrary: fc.constant([
      ...devices(2, 'A100', 1000),
      ...devices(2, 'H100', 1000, 'gpu', 2).map((one) => ({ ...one, interconnect: 'nvlink' })),
      ...devices(1, 'v4', 500, 'tpu', 4),
    ]),
  },
);

const arbitraryNode: fc.Arbitrary<NodeFacts> = fc
  .record({
    name: fc.constantFrom(...nodeNames),
    devices: arbitraryDevices,
    cpuMilli: fc.constantFrom(4000, 4000, 8000, 3000),
    memoryMib: fc.constantFrom(1024, 1024, 512),
    labels: fc.constantFrom<Record<string, string>>(
      {},
      { zone: 'x', rack: 'r1' },
      { zone: 'x', rack: 'r2' },
      { zone: 'y', rack: 'r1' },
      { zone: 'y' },
      { disk: 'ssd', rack: 'r2' },
      { capacity: 'spot', zone: 'x' },
    ),
    capabilities: fc.constantFrom(['fractions' as const], ['fractions' as const], []),
    pool: fc.constantFrom('gpu', 'gpu', 'other'),
    trustMilli: fc.constantFrom(1000, 1000, 1000, 900),
    ports: fc.constantFrom(
      { first: 10, count: 8 },
      { first: 10, count: 2 },
      { first: 11, count: 1 },
      { first: 11, count: 0 },
    ),
  })
  .map(({ name, trustMilli, ...options }) => ({ ...node(name, options), trustMilli }));

const arbitraryAccelerator: fc.Arbitrary<AcceleratorDemand> = fc.record({
  kind: fc.constantFrom(...Array<string>(9).fill('gpu'), 'tpu'),
  model: fc.constantFrom(null, null, null, ...models),
  milli: fc.constantFrom(1000, 1000, 1000, 2000, 2000, 3000, 4000, 500, 500, 300, 700),
  memoryMib: fc.constantFrom(...Array<null>(9).fill(null), 1500),
  interconnect: fc.constantFrom(...Array<null>(9).fill(null), 'nvlink'),
  generation: fc.constantFrom(...Array<null>(9).fill(null), 85),
  speedMilli: fc.constantFrom(1000, 1000, 450),
});

const arbitraryTopology: fc.Arbitrary<TopologyDemand> = fc.record({
  level: fc.constantFrom('rack', 'rack', 'zone', 'node', 'cluster', 'no-such-level'),
  mode: fc.constantFrom('required', 'preferred', 'spread'),
});

const arbitraryPrices: fc.Arbitrary<Prices> = fc.record({
  deviceHourMicro: fc.constantFrom(1_000_000, 0),
  coreHourMicro: fc.constantFrom(10_000, 0),
  preferenceMicro: fc.constantFrom(10_000, 1),
  rows: fc.array(
    fc.constantFrom<PriceRow>(
      { match: { model: 'H100' }, deviceHourMicro: 3_000_001, coreHourMicro: null },
      { match: { pool: 'other' }, deviceHourMicro: 500_000, coreHourMicro: 20_000 },
      { match: { capacity: 'spot' }, deviceHourMicro: 300_000, coreHourMicro: null },
    ),
    { maxLength: 2 },
  ),
  transfers: fc.constant([]),
});

const arbitraryNear: fc.Arbitrary<NearDemand | null> = fc.constantFrom(
  null,
  { group: 'main', level: 'rack' },
  { group: 'main', level: 'node' },
);

const arbitraryGroup: fc.Arbitrary<GroupDemand> = fc
  .record({
    tasks: fc.constantFrom(1, 1, 1, 2, 3, 5),
    cpuMilli: fc.constantFrom(null, null, 500, 2000),
    memoryMib: fc.constantFrom(null, null, 100),
    accelerators: fc.array(arbitraryAccelerator, { maxLength: 2 }),
    topology: fc.oneof(
      { weight: 6, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: arbitraryTopology },
    ),
  })
  .map(({ accelerators, ...options }) => group(accelerators, options));

const arbitraryConstraint: fc.Arbitrary<Constraint> = fc.constantFrom<Constraint>(
  { label: 'zone', op: 'in', values: ['x'] },
  { label: 'zone', op: 'not-in', values: ['x'] },
  { label: 'zone', op: 'exists', values: [] },
  { label: 'disk', op: 'in', values: ['ssd'] },
  { label: 'rack', op: 'in', values: ['r1', 'r3'] },
  { label: 'node', op: 'in', values: ['a', 'b'] },
  { label: 'node', op: 'not-in', values: ['c'] },
);

export const arbitraryDemand: fc.Arbitrary<JobDemand> = fc
  .record({
    groups: fc.oneof(
      { weight: 4, arbitrary: arbitraryGroup.map((only) => [only]) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(arbitraryGroup, arbitraryGroup, arbitraryNear)
          .map(([one, two, near]) => [one, { ...two, near, name: 'second' }]),
      },
    ),
    constraints: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(arbitraryConstraint, { maxLength: 2 }) },
    ),
    topology: fc.oneof(
      { weight: 4, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: arbitraryTopology },
    ),
    preferences: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      {
        weight: 1,
        arbitrary: fc.array(
          fc
            .record({ rule: arbitraryConstraint, weight: fc.constantFrom(1, 5) })
            .map(({ rule, weight }) => ({ ...rule, weight })),
          { maxLength: 2 },
        ),
      },
    ),
    exclusive: fc.constantFrom(false, false, false, true),
  })
  .map(({ groups, ...options }) => demand(groups, options));

const someAmount = (...amounts: readonly Amount[]) => fc.constantFrom(undefined, undefined, ...amounts);

const arbitraryAmounts: fc.Arbitrary<Amounts> = fc
  .record({
    gpu: someAmount(0, 1000, 2000, 4000, 8000, { percentMilli: 50_000 }),
    'gpu/H100': someAmount(1000, 3000, { percentMilli: 25_000 }),
    cpu: someAmount(2000, 6000, { percentMilli: 30_000 }),
    memory: someAmount(512),
  })
  .map((amounts) =>
    Object.fromEntries(
      Object.entries(amounts).flatMap(([key, amount]) =>
        amount === undefined ? [] : [[key, amount] as const],
      ),
    ),
  );

const arbitraryQuota: fc.Arbitrary<Quota> = fc.record({
  project: fc.constantFrom(...projectNames),
  guaranteed: arbitraryAmounts,
  ceiling: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: arbitraryAmounts }),
  userCeiling: fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: arbitraryAmounts },
  ),
  weightMilli: fc.constantFrom(1000, 1000, 2000, 500),
  preemptWithin: fc.constantFrom('never', 'lower-priority'),
});

const arbitraryArray: fc.Arbitrary<ArraySize> = fc.constantFrom(
  { count: 1, parallel: null },
  { count: 3, parallel: null },
  { count: 3, parallel: 1 },
  { count: 4, parallel: 2 },
);

/** A few, so that entries fill; some are longer than what is asked for. */
export const arbitraryEstimate: fc.Arbitrary<RunEstimate | undefined> = fc.constantFrom(
  undefined,
  undefined,
  { expectedMs: 1, p90Ms: 5 },
  { expectedMs: 5, p90Ms: 40 },
  { expectedMs: 30, p90Ms: 400 },
);

export const arbitraryRunTimes: fc.Arbitrary<Policy['runTimes']> = fc.constantFrom(
  { use: 'asked', first: 'shares', stop: 'nobody' },
  { use: 'learned', first: 'shares', stop: 'nobody' },
  { use: 'learned', first: 'shares', stop: 'longer' },
  { use: 'learned', first: 'expected', stop: 'longer' },
);

/** A few demands shared by many jobs, so that entries fill. */
function arbitraryStep(demands: readonly JobDemand[]): fc.Arbitrary<Step> {
  const at = fc.nat(20);
  return fc.oneof(
    { weight: 2, arbitrary: arbitraryNode.map((facts): Step => ({ do: 'join', node: facts })) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('state' as const),
        node: at,
        state: fc.constantFrom('ready', 'ready', 'ready', 'silent', 'lost', 'removed'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('drain' as const), node: at, draining: fc.boolean() }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('submit' as const),
        demand: fc.constantFrom(...demands),
        project: fc.constantFrom(...projectNames),
        tier: fc.constantFrom('standard', 'standard', 'critical', 'gone'),
        priority: fc.constantFrom(0, 0, 5),
        user: fc.constantFrom('ada', 'ada', 'bob'),
        durationMs: fc.constantFrom(null, null, 50, 300),
        deadlineInMs: fc.constantFrom(null, null, 100, 1000),
        estimate: arbitraryEstimate,
        restoreMs: fc.constantFrom(undefined, undefined, undefined, 2000),
        held: fc.constantFrom(false, false, false, true),
        array: fc.oneof(
          { weight: 5, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: arbitraryArray },
        ),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('hold', 'release', 'cancel'), job: at }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), job: at, first: fc.nat(4) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('cycle' as const), dropEvery: fc.nat(4) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('running', 'running', 'finish'), run: at }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('stopped', 'stopped', 'stopped', 'checkpoint', 'cancelRun'),
        run: at,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('requeue' as const),
        run: at,
        delayMs: fc.constantFrom(0, 0, 100),
        avoid: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(10, 100, 2000) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('policy' as const),
        ranks: fc.constantFrom([1, 2], [1, 2], [2, 1], [1, 1]),
        minRunMs: fc.constantFrom(0, 0, 50),
        preemptionsMax: fc.constantFrom(1, 2, 3),
        guaranteed: fc.boolean(),
        power: fc.constantFrom(null, 1000, 2500),
        cooling: fc.constantFrom(null, null, 800, 1900),
        prices: arbitraryPrices,
        backfill: fc.constantFrom<Policy['backfill']>(
          { mode: 'easy', depth: 3 },
          { mode: 'conservative', depth: 3 },
          { mode: 'conservative', depth: 3 },
          { mode: 'skip', depth: 3 },
          { mode: 'strict', depth: 3 },
        ),
        runTimes: arbitraryRunTimes,
        quotas: fc.uniqueArray(arbitraryQuota, { selector: (quota) => quota.project, maxLength: 5 }),
      }),
    },
  );
}

export const arbitrarySteps: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.array(arbitraryNode, { minLength: 3, maxLength: 7 }),
    fc.array(arbitraryDemand, { minLength: 1, maxLength: 4 }),
  )
  .chain(([nodes, demands]) =>
    fc
      .array(arbitraryStep(demands), { minLength: 5, maxLength: 50, size: 'max' })
      .map((steps) => [...nodes.map((facts): Step => ({ do: 'join', node: facts })), ...steps]),
  );

/** What racks can supply; r2 has its own limit. */
function powerPerRack(capacity: number): DomainResource {
  const perDevice = { H100: 700, gpu: 400 };
  return {
    name: 'power',
    level: 'rack',
    unit: 'W',
    capacity: { default: capacity, r2: 1500 },
    perDevice,
    perTask: 10,
  };
}

/** What nodes can take away of the heat of their devices; a and b have their own limits, c none. */
function coolingPerNode(capacity: number): DomainResource {
  return {
    name: 'cooling',
    level: 'node',
    unit: 'W',
    capacity: { a: 700, b: 1500, d: capacity, e: capacity },
    perDevice: { H100: 700, gpu: 400 },
    perTask: 0,
  };
}

/** Takes a step in the world; one that makes no sense now does nothing. */
export function take(world: World, step: Step): void {
  switch (step.do) {
    case 'join': {
      const known = world.nodes.get(step.node.node);
      const { state, drain } = known ?? step.node;
      world.join({ ...step.node, state, drain, generation: (known?.generation ?? 0) + 1 });
      break;
    }
    case 'state':
      setNode(world, step);
      break;
    case 'drain': {
      const name = nodeNames[step.node % nodeNames.length]!;
      if (world.nodes.has(nodeId(name))) world.drain(nodeId(name), step.draining);
      break;
    }
    case 'submit': {
      const number = world.log.length + 1;
      const deadlineMs = step.deadlineInMs === null ? null : world.nowMs + step.deadlineInMs;
      world.submit(job(number, step.demand, { ...step, deadlineMs, submittedMs: world.nowMs }), step.held);
      break;
    }
    case 'hold':
    case 'release':
    case 'cancel':
      changeJob(world, step.do, step.job);
      break;
    case 'drop': {
      const arrays = [...world.arrays.keys()];
      const id = arrays[step.job % Math.max(1, arrays.length)];
      if (id) world.drop(id, [step.first, step.first + 1]);
      break;
    }
    case 'cycle': {
      let n = 0;
      world.commit(world.decide(), () => step.dropEvery === 0 || ++n % step.dropEvery !== 0);
      break;
    }
    case 'wait':
      world.nowMs += step.ms;
      break;
    case 'policy':
      world.setPolicy({
        ...defaultPolicy,
        tiers: ['standard', 'critical'].map((name, i) => ({
          ...defaultPolicy.tiers[0]!,
          name,
          rank: step.ranks[i]!,
          preempts: step.ranks[i]! > step.ranks[1 - i]! ? [['critical', 'standard'][i]!] : [],
          minRunMs: step.minRunMs,
          preemptionsMax: step.preemptionsMax,
          guaranteed: step.guaranteed || name === 'critical',
          durationMs: 20,
          starvesAfterMs: name === 'standard' ? 200 : null,
        })),
        prices: step.prices,
        topology: {
          ...defaultPolicy.topology,
          resources: [
            ...(step.power === null ? [] : [powerPerRack(step.power)]),
            ...(step.cooling === null ? [] : [coolingPerNode(step.cooling)]),
          ],
        },
        quotas: step.quotas,
        backfill: step.backfill,
        runTimes: step.runTimes,
        share: { halfLifeMs: 256_000 },
        ageing: { pointMs: 10 },
        deadline: { marginMs: 30 },
        preemption: { nearEndMs: 20, coolingMs: 50, windowMs: 500 },
      });
      break;
    default:
      changeRun(world, step);
  }
}

function setNode(world: World, step: Extract<Step, { do: 'state' }>): void {
  const id = nodeId(nodeNames[step.node % nodeNames.length]!);
  const known = world.nodes.get(id);
  if (!known) return;
  const used = [...world.runs.values()].some((run) => run.tasks.some((task) => task.node === id));
  if (step.state === 'removed' && used) return;
  if (step.state === 'silent' && known.state === 'lost') return;
  world.setNode(id, step.state);
}

function changeJob(world: World, what: 'hold' | 'release' | 'cancel', at: number): void {
  const rows = [...world.jobs.values()].filter(({ job, state }) =>
    what === 'cancel'
      ? state.state === 'queued' || state.state === 'held'
      : parseMemberId(job) === null && state.state === (what === 'hold' ? 'queued' : 'held'),
  );
  const arrays = [...world.arrays.values()].filter(({ state }) =>
    what === 'release' ? state.state === 'held' : state.state === 'queued' || state.state === 'running',
  );
  const able = [...rows, ...arrays];
  const row = able[at % Math.max(1, able.length)];
  if (row) world[what](row.job);
}

function changeRun(world: World, step: Extract<Step, { run: number }>): void {
  const able = [...world.runs.values()].filter(({ stopping }) => stopping || step.do !== 'stopped');
  const runs = able.map(({ run }) => run);
  const run: RunId | undefined = runs[step.run % Math.max(1, runs.length)];
  if (!run) return;
  if (step.do === 'stopped') world.preempted(run);
  else if (step.do === 'cancelRun') world.stop(run, world.runs.get(run)!.job, null);
  else if (step.do !== 'requeue') world[step.do](run);
  else world.requeue(run, step.delayMs, step.avoid ? [world.runs.get(run)!.tasks[0]!.node] : []);
}
