// The views of the model as schemas: the OpenAPI document is made from them, and tests hold every answer against them. `view`
// ties each to its type, so that a field added to a view and not here does not compile.
import {
  type ArrayView,
  type AuditView,
  type BatchItemView,
  type EventView,
  type ExplanationView,
  explainBound,
  type JobDetail,
  type JobView,
  jobSpecSchema,
  type LedgerView,
  type NodeView,
  type Page,
  type PolicyView,
  type Problem,
  type ProjectView,
  policySchema,
  type RunView,
  type ScoreView,
  type SubmittedView,
  strikeCodes,
  type TaskView,
  type TokenView,
  type UsageView,
  type VersionView,
  type WhyView,
} from '@muster/model';
import * as z from 'zod';

/** Schemas that get a name in the document. */
export const named = z.registry<{ id: string }>();
export const namedSchemas: z.ZodType[] = [];

function name(schema: z.ZodType, id: string): void {
  named.add(schema, { id });
  namedSchemas.push(schema);
}

/** A schema with exactly the fields of a view. */
function view<V extends object>(id: string, shape: Record<keyof V, z.ZodType>): z.ZodType<V> {
  const schema = z.object(shape);
  name(schema, id);
  return schema as unknown as z.ZodType<V>;
}

name(jobSpecSchema, 'JobSpec');

const text = z.string();
const whole = z.int();
const time = z.string().meta({ format: 'date-time', description: 'RFC 3339' });
const textMap = z.record(z.string(), z.string());
const open = z.record(z.string(), z.unknown());
const reason = z.object({ code: text, message: text });
const errorClass = z.enum(['user', 'out-of-memory', 'infrastructure', 'preemption', 'timeout', 'cancelled']);

const exit = z.union([
  z.object({ ok: z.literal(true) }),
  z.object({
    ok: z.literal(false),
    class: errorClass,
    code: whole.nullable(),
    signal: text.nullable(),
    reason,
  }),
]);

const result = z.union([
  z.object({ outcome: z.literal('succeeded') }),
  z.object({
    outcome: z.enum(['failed', 'cancelled']),
    class: errorClass,
    code: whole.nullable(),
    signal: text.nullable(),
    reason,
    rank: whole.nullable(),
    node: text.nullable(),
  }),
]);
name(exit, 'TaskExit');
name(result, 'Result');

const verdict = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('placed'), nodes: z.array(text) }),
    z.object({ kind: z.literal('waits'), reasons: z.array(open), planned: open.optional() }),
    z.object({ kind: z.literal('impossible'), reasons: z.array(open), nearest: z.array(text) }),
  ])
  .meta({ description: "the engine's answer for a waiting job" });
name(verdict, 'Verdict');

const arraySchema = view<ArrayView>('Array', {
  count: whole,
  parallel: whole.nullable(),
  waiting: whole,
  running: whole,
  succeeded: whole,
  failed: whole,
  cancelled: whole,
  notStarted: z
    .array(z.tuple([whole, whole]))
    .meta({ description: 'indices of those that never started and still will, as ranges: first and last' }),
});

const jobShape: Record<keyof JobView, z.ZodType> = {
  id: text,
  name: text,
  title: text.nullable(),
  project: text,
  tier: text,
  priority: whole,
  state: z.enum(['queued', 'held', 'starting', 'running', 'stopping', 'ended']),
  attempt: whole.meta({ description: 'attempts begun so far, or the one about to begin' }),
  tasks: whole,
  devices: whole,
  labels: textMap,
  submittedBy: text,
  submittedAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  notBefore: time.nullable(),
  plannedStart: time
    .nullable()
    .meta({ description: 'when it is expected to start; only of a queued job that room is kept for' }),
  result: result.nullable(),
  exitCode: whole.nullable(),
  verdict: verdict.nullable(),
  reason: text.nullable(),
  run: text.nullable(),
  array: arraySchema.nullable(),
  index: whole.nullable().meta({ description: 'of a member of an array: which' }),
  version: whole,
};
export const jobViewSchema = view<JobView>('Job', jobShape);

const taskSchema = view<TaskView>('Task', {
  rank: whole,
  group: text,
  node: text,
  nodeName: text,
  devices: z.array(whole),
  deviceMilli: whole,
  cpuMilli: whole,
  memoryMib: whole,
  state: z.enum(['planned', 'accepted', 'running', 'ended']),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  exit: exit.nullable(),
});

const runSchema = view<RunView>('Run', {
  id: text,
  job: text,
  attempt: whole,
  state: z.enum(['planned', 'starting', 'running', 'stopping', 'unknown', 'ended']),
  epoch: whole,
  plannedAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  unknownSince: time.nullable(),
  result: result.nullable(),
  checkpoint: z.object({ at: time, step: whole.nullable(), path: text.nullable() }).nullable(),
  tasks: z.array(taskSchema),
});

const completeSpec = open.meta({ description: 'the spec with every default filled in' });
export const jobDetailSchema = view<JobDetail>('JobDetail', {
  ...jobShape,
  spec: completeSpec,
  runs: z.array(runSchema),
});

export const submittedSchema = view<SubmittedView>('Submitted', {
  id: text,
  repeated: z.boolean().meta({ description: 'this idempotency key had already submitted the same body' }),
});

const aheadJob = z.object({
  job: text,
  project: text,
  because: z
    .object({
      rule: z.enum([
        'starved',
        'tier',
        'guarantee',
        'share',
        'project-name',
        'deadline',
        'priority',
        'submitted',
      ]),
    })
    .catchall(z.union([text, whole]))
    .meta({ description: 'the first difference in the order, with both values where there are two' }),
});
const milli = whole.meta({ description: 'thousandths of devices' });
const roomReport = z.object({
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
const change = z
  .object({
    kind: z.enum([
      'tasks',
      'model',
      'devices',
      'property',
      'constraint',
      'topology',
      'near',
      'exclusive',
      'tier',
      'time-limit',
      'ceiling',
    ]),
    victims: whole.meta({ description: 'runs that it would stop to start; with none it starts at once' }),
  })
  .catchall(z.union([text, whole, z.null(), open]));
export const explanationSchema = view<ExplanationView>('Explanation', {
  ahead: z
    .object({ count: whole, jobs: z.array(aheadJob) })
    .nullable()
    .meta({ description: 'who stands before it, as things stand; the first few that you may see' }),
  room: roomReport.nullable().meta({ description: 'how the devices that it waits for lie' }),
  changes: z.array(change).meta({ description: 'changes of which each alone would start it now' }),
  ends: z
    .object({
      count: whole,
      runs: z.array(z.object({ job: text, project: text, run: text, endMs: whole.nullable() })),
    })
    .meta({ description: 'runs of which each alone, by ending, would let it start' }),
  complete: z.boolean().meta({
    description: `false when there may be more that would help: at most ${explainBound.changeSteps} steps are taken to try changes and ${explainBound.endSteps} to try the ends of the ${explainBound.runs} runs that end first`,
  }),
});

export const dryRunSchema = z.object({
  valid: z.literal(true),
  spec: completeSpec,
  verdict: verdict.nullable(),
  reason: text.nullable(),
  explanation: explanationSchema.nullable(),
  sequence: whole,
});
name(dryRunSchema, 'DryRun');

export const whySchema = view<WhyView>('Why', {
  job: text,
  state: jobShape.state,
  sequence: whole.meta({ description: 'the event the answer stands at' }),
  verdict: verdict.nullable(),
  text,
  explanation: explanationSchema.nullable(),
  victims: z
    .array(z.object({ at: time, job: text.nullable(), right: z.enum(['tier', 'reclaim', 'priority']) }))
    .meta({ description: 'whose runs were stopped for it, the last of them, oldest first' }),
  preemptions: z.array(z.object({ at: time, by: text.nullable(), reason: text.nullable() })).meta({
    description: 'when its runs were stopped for other jobs, and for which; null where you may not see it',
  }),
});

export const nodeSchema = view<NodeView>('Node', {
  id: text,
  name: text,
  cluster: text,
  pool: text,
  state: z.enum(['ready', 'silent', 'lost', 'removed']),
  stateSince: time,
  stateReason: reason.nullable(),
  drain: z.object({ by: text, reason: text, since: time, quarantine: z.boolean() }).nullable(),
  trust: z.number().min(0).max(1),
  strikes: z
    .object({
      count: whole,
      code: z.enum(strikeCodes),
      detail: text,
      last: time,
      until: time,
      spared: z.boolean(),
    })
    .nullable(),
  labels: textMap,
  address: text,
  cpuMilli: whole,
  cpuMilliUsed: whole,
  memoryMib: whole,
  memoryMibUsed: whole,
  devices: z.array(
    z.object({
      index: whole,
      kind: text,
      model: text,
      memoryMib: whole,
      interconnect: text.optional(),
      generation: whole.optional(),
      uuid: text,
      used: z.boolean(),
    }),
  ),
  capabilities: z.array(text),
  renewedAt: time.nullable(),
  agentVersion: text.nullable(),
  isolation: z.boolean(),
  generation: whole,
});

export const projectSchema = view<ProjectView>('Project', { path: text, createdAt: time, createdBy: text });

const role = z.enum(['viewer', 'member', 'admin']);
const tokenShape: Record<keyof TokenView, z.ZodType> = {
  id: text,
  name: text,
  role,
  project: text.nullable().meta({ description: 'null: every project' }),
  createdAt: time,
  createdBy: text,
  expiresAt: time.nullable(),
  lastUsedAt: time.nullable(),
  revokedAt: time.nullable(),
};
export const tokenSchema = view<TokenView>('Token', tokenShape);
export const newTokenSchema = view<TokenView & { token: string }>('NewToken', {
  ...tokenShape,
  token: text.meta({ description: 'the token itself; shown this once' }),
});

export interface WhoamiView {
  readonly token: string;
  readonly name: string;
  /** How jobs, events and the audit name the caller. */
  readonly principal: string;
  readonly role: TokenView['role'];
  readonly project: string | null;
  readonly expiresAt: string | null;
}
export const whoamiSchema = view<WhoamiView>('Whoami', {
  token: text,
  name: text,
  principal: text,
  role,
  project: text.nullable(),
  expiresAt: time.nullable(),
});

export const eventSchema = view<EventView>('Event', { sequence: whole, at: time, kind: text, body: open });

export const auditSchema = view<AuditView>('AuditEntry', {
  id: whole,
  at: time,
  who: text,
  from: text,
  action: text,
  target: text,
  outcome: text,
  detail: open,
});

const fieldError = z.object({ path: text, code: text, message: text, value: text.nullable() });
export const problemSchema = z.object({
  type: text,
  title: text,
  status: whole,
  code: text,
  detail: text,
  errors: z.array(fieldError).optional(),
} satisfies Record<keyof Problem, z.ZodType>);
name(problemSchema, 'Problem');

const batchItem = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), id: text, repeated: z.boolean() }),
  z.object({ ok: z.literal(false), problem: problemSchema }),
]);
name(batchItem, 'BatchItem');
export const batchSchema = z.object({
  items: z.array(batchItem as unknown as z.ZodType<BatchItemView>),
});

export const enrolmentSchema = z.object({ token: text, expiresAt: time });
export const enrolledSchema = z.object({ node: text });
export const thawedSchema = z.object({ cluster: text, frozen: z.literal(false) });
export const versionSchema = view<VersionView>('Version', { version: text, commit: text, schema: whole });
name(policySchema, 'Policy');
export const policyViewSchema = view<PolicyView>('PolicyVersion', {
  version: whole,
  createdAt: time,
  createdBy: text,
  policy: policySchema,
});
const amount = whole.meta({ description: 'milli-cores, MiB or milli-devices' });
export const ledgerSchema = view<LedgerView>('Ledger', {
  sequence: whole,
  at: time,
  policyVersion: whole,
  healthy: z.record(text, amount).meta({ description: 'over nodes that are ready and not draining' }),
  projects: z.array(z.object({ project: text, weightMilli: whole, share: whole, waiting: whole })),
  lines: z.array(
    z.object({
      project: text,
      key: text,
      written: amount.nullable(),
      guaranteed: amount.nullable(),
      ceiling: amount.nullable(),
      use: amount,
      borrowed: amount,
      lent: amount,
      past: amount.nullable(),
    }),
  ),
  loans: z.array(z.object({ key: text, from: text.nullable(), to: text, amount })),
  users: z.array(z.object({ project: text, user: text, key: text, use: amount, ceiling: amount.nullable() })),
});
const money = z.number().meta({ description: 'money' });
export const scoreSchema = view<ScoreView>('Score', {
  sequence: whole,
  at: time,
  workMs: whole.meta({ description: 'how long the work of a task is taken to last' }),
  rows: z.array(
    z.object({
      group: text,
      alternative: whole,
      cluster: text,
      pool: text,
      capacity: text.nullable(),
      models: z.array(text),
      trustMilli: whole,
      how: z.enum(['now', 'preempts', 'waits', 'unknown', 'part']),
      waitMs: whole,
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
    }),
  ),
});
export const usageSchema = view<UsageView>('Usage', {
  from: time,
  until: time,
  lines: z.array(
    z.object({
      project: text,
      user: text,
      tier: text,
      key: text,
      hours: z.number().meta({ description: 'cores, devices or GiB times hours' }),
      runs: whole,
      cost: z.number().nullable(),
    }),
  ),
});
export const healthSchema = z.object({ ok: z.literal(true) });
export const readySchema = z.object({
  ready: z.boolean(),
  reasons: z.array(text).optional(),
  leading: z.boolean().optional(),
  epoch: whole.optional(),
  sequence: whole.optional(),
});

export function pageOf<T>(item: z.ZodType<T>): z.ZodType<Page<T>> {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().meta({ description: 'give it back as `cursor`; null on the last page' }),
  }) as unknown as z.ZodType<Page<T>>;
}
