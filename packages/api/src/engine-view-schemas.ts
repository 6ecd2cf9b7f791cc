// What the engine answers, as schemas: why a job waits and what would help, where it could go, what would change, and what
// a replay found.
import {
  type AheadJobView,
  type Change,
  type Constraint,
  type DivergenceView,
  type ExplanationView,
  explainBound,
  type HelpfulEndView,
  type LackCount,
  type LostWork,
  type NoHardware,
  type OrderRuleView,
  type OverCeiling,
  type PlannedStartView,
  type ReplayView,
  type RoomReport,
  rights,
  type ScoreRow,
  type ScoreView,
  type VerdictView,
  type WaitReasonView,
  type WhatIfCost,
  type WhatIfList,
  type WhatIfMove,
  type WhatIfPreemption,
  type WhatIfStart,
  type WhatIfStopView,
  type WhatIfVerdictView,
  type WhatIfView,
} from '@muster/model';
import * as z from 'zod';
import { durationMs, fields, kinds, milli, money, name, text, time, view, whole } from './schema-parts.ts';

const lackCount = fields<LackCount>({ lack: text, nodes: whole, note: text.optional() });
const roomShape = { group: text, tasks: whole, tasksFit: whole, nodes: whole, lacks: z.array(lackCount) };
const ceilingShape = {
  project: text,
  user: text.nullable(),
  key: text,
  ceiling: whole,
  use: whole,
  asks: whole,
};

const waitReason = kinds<WaitReasonView, 'code'>('code', {
  'no-room': roomShape,
  'not-before': { until: time, failures: whole },
  held: { by: text },
  parallel: { running: whole, parallel: whole },
  preempting: { victims: whole, left: whole },
  'near-end': { job: text, endsAt: time.nullable() },
  'over-ceiling': ceilingShape,
  reserved: { startsAt: time.nullable() },
  behind: { ahead: whole },
});
const impossibleReason = kinds<NoHardware | OverCeiling, 'code'>('code', {
  'no-node-fits': roomShape,
  'gang-too-large': roomShape,
  'no-nodes': roomShape,
  'over-ceiling': ceilingShape,
});
const plannedStart = fields<PlannedStartView>({
  startsAt: time,
  runs: whole,
  assumed: whole,
  overdue: whole,
});
export const verdictSchema = kinds<VerdictView, 'kind'>('kind', {
  placed: { nodes: z.array(text) },
  waits: { reasons: z.array(waitReason), planned: plannedStart.optional() },
  impossible: { reasons: z.array(impossibleReason), nearest: z.array(text) },
}).meta({ description: "the engine's answer for a waiting job" });
name(verdictSchema, 'Verdict');

const both = { theirs: text, yours: text };
const orderRule = kinds<OrderRuleView, 'rule'>('rule', {
  starved: { since: time },
  tier: both,
  guarantee: both,
  share: { ...both, theirShare: whole, yourShare: whole },
  'project-name': both,
  deadline: { latestStart: time },
  priority: { theirs: whole, yours: whole },
  expected: {
    theirMs: durationMs('how long it is expected to run').nullable(),
    yourMs: durationMs('how long yours is expected to run').nullable(),
  },
  'own-project': {},
  submitted: { submittedAt: time },
}).meta({ description: 'the first difference in the order, with both values where there are two' });
const aheadJob = fields<AheadJobView>({ job: text, project: text, because: orderRule });
const roomReport = fields<RoomReport>({
  group: text,
  key: text,
  tasks: whole,
  taskMilli: milli,
  freeMilli: milli,
  freeNodes: whole,
  taskNodes: whole.meta({ description: 'nodes that could take a task now' }),
  tasksFit: whole.meta({ description: 'the largest gang of the group that fits now' }),
  spread: z.array(z.object({ freeMilli: milli, nodes: whole })),
  place: z.object({ level: text, name: text, freeMilli: milli, tasksFit: whole }).nullable(),
});
export const constraintShape: Record<keyof Constraint, z.ZodType> = {
  label: text,
  op: z.enum(['in', 'not-in', 'exists', 'absent']),
  values: z.array(text),
};
const victims = whole.meta({
  description: 'runs that it would stop to start; with none it starts at once',
});
const alternative = { group: text, alternative: whole, victims };
const change = kinds<Change, 'kind'>('kind', {
  tasks: { group: text, from: whole, to: whole, victims },
  model: { ...alternative, from: text, to: text },
  devices: { ...alternative, from: whole, to: whole },
  property: { ...alternative, property: z.enum(['memory', 'interconnect', 'generation']) },
  constraint: { index: whole, rule: z.object(constraintShape), victims },
  topology: { group: text.nullable(), from: text, to: text.nullable(), victims },
  near: { group: text, from: text, to: text.nullable(), victims },
  exclusive: { victims },
  tier: { from: text, to: text, victims },
  'time-limit': {
    fromMs: durationMs('the time limit it has').nullable(),
    toMs: durationMs('the time limit with which it starts'),
    victims,
  },
  ceiling: {
    project: text,
    user: text.nullable(),
    key: text,
    from: whole,
    to: whole.nullable(),
    victims,
  },
});
const helpfulEnd = fields<HelpfulEndView>({
  job: text,
  project: text,
  run: text,
  endsAt: time.nullable().meta({ description: 'when it is expected to end; null before it has started' }),
});
export const explanationSchema = view<ExplanationView>('Explanation', {
  ahead: z
    .object({ count: whole, jobs: z.array(aheadJob) })
    .nullable()
    .meta({ description: 'who stands before it, as things stand; the first few that you may see' }),
  room: roomReport.nullable().meta({ description: 'how the devices that it waits for lie' }),
  changes: z.array(change).meta({ description: 'changes of which each alone would start it now' }),
  ends: z
    .object({ count: whole, runs: z.array(helpfulEnd) })
    .meta({ description: 'runs of which each alone, by ending, would let it start' }),
  complete: z.boolean().meta({
    description: `false when there may be more that would help: at most ${explainBound.changeSteps} steps are taken to try changes and ${explainBound.endSteps} to try the ends of the ${explainBound.runs} runs that end first`,
  }),
});

const scoreRow = fields<ScoreRow>({
  group: text,
  alternative: whole,
  cluster: text,
  pool: text,
  capacity: text.nullable(),
  region: text.nullable().meta({ description: 'where a price depends on it' }),
  instanceType: text.nullable().meta({ description: 'where a price depends on it' }),
  models: z.array(text),
  trustMilli: whole,
  how: z.enum(['now', 'preempts', 'waits', 'unknown', 'part']),
  waitMs: durationMs('until the last of the known ends that make room'),
  victims: whole,
  price: money,
  speed: money,
  preference: money,
  trust: money,
  fragmentation: money,
  waiting: money,
  preemption: money,
  transfer: money,
  total: money.meta({ description: 'the hourly terms over the work of one task, and the others' }),
  nodes: whole,
  tasksFit: whole,
  chosen: whole.meta({ description: 'tasks that would go there if the job were next' }),
});
export const scoreSchema = view<ScoreView>('Score', {
  sequence: whole,
  at: time,
  placed: text.nullable().meta({ description: 'where its tasks are; null when it has none anywhere now' }),
  workMs: durationMs('how long the work of a task is taken to last'),
  rows: z.array(scoreRow),
});

const ofJob = { job: text, project: text, name: text };
const lost: Record<keyof LostWork, z.ZodType> = {
  lostMs: durationMs('work that is lost: since the last checkpoint, or since the start'),
  lostMicro: whole.meta({ description: 'its price in millionths of money' }),
};
const nodeNames = z.array(text).meta({ description: 'nodes, by name' });
const start = fields<Item<WhatIfStart>>({
  ...ofJob,
  nodes: nodeNames,
  hourMicro: whole.meta({ description: 'what an hour of it costs there, in millionths of money' }),
});
const preemption = fields<Item<WhatIfPreemption>>({
  ...ofJob,
  ...lost,
  run: text,
  by: text.nullable().meta({ description: 'for which job; null when you may not see it' }),
  right: z.enum(rights),
});
type Item<T> = WhatIfList<T>['items'][number];

function list<T>(item: z.ZodType<T>): z.ZodType {
  return z.object({
    count: whole,
    items: z.array(item).meta({ description: 'the first of those that you may see' }),
  });
}

export const whatIfSchema = view<WhatIfView>('WhatIf', {
  sequence: whole,
  at: time,
  cycles: whole,
  settled: z.boolean(),
  starts: list(start),
  startsNot: list(start),
  moves: list(fields<Item<WhatIfMove>>({ ...ofJob, from: nodeNames, to: nodeNames })),
  stops: list(
    fields<Item<WhatIfStopView>>({
      ...ofJob,
      ...lost,
      run: text,
      requeued: z.boolean(),
      after: verdictSchema
        .nullable()
        .meta({ description: 'why its job waits in the end; null when it ends or starts again' }),
      afterText: text.nullable(),
    }),
  ),
  preempts: list(preemption),
  spares: list(preemption),
  verdicts: list(
    fields<Item<WhatIfVerdictView>>({
      ...ofJob,
      jobs: whole.meta({ description: 'how many jobs have this reason; `job` is the first of them' }),
      before: verdictSchema.nullable(),
      after: verdictSchema.nullable(),
      beforeText: text.nullable(),
      afterText: text.nullable(),
    }),
  ),
  cost: fields<WhatIfCost>({ lostMicro: whole, sparedMicro: whole, hourMicro: whole }).meta({
    description: 'lost and spared work, and what all that runs costs more an hour, in millionths of money',
  }),
});

const divergence = fields<DivergenceView>({
  decision: whole,
  sequence: whole,
  at: time,
  recordedVersion: text,
  recordedHash: text,
  hash: text,
  words: z.array(text),
  recorded: z.array(text),
  replayed: z.array(text),
  recordedVerdictsKnown: z.boolean(),
});
export const replaySchema = view<ReplayView>('Replay', {
  snapshot: whole,
  engineVersion: text,
  recordedVersions: z.array(text),
  from: whole.nullable(),
  to: whole.nullable(),
  decisions: whole,
  same: whole,
  leadIn: whole,
  divergence: divergence.nullable(),
  cut: z.boolean(),
});
