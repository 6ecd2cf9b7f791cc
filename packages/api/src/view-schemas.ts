// The views of the model as schemas: the OpenAPI document is made from them, and tests hold every answer against them. What the
// engine answers is in engine-view-schemas.ts, the job spec in spec-view-schema.ts.
import {
  type ArrayView,
  type AuditView,
  type BatchItemView,
  type ClusterLostView,
  type EventView,
  type JobDetail,
  type JobView,
  jobSpecSchema,
  type LedgerView,
  type MoveAnswerView,
  type MovedView,
  type NodeView,
  type Page,
  type PolicyView,
  type Problem,
  type ProjectView,
  policySchema,
  type RunView,
  rights,
  type SubmittedView,
  strikeCodes,
  type TaskView,
  type TokenView,
  type UsageView,
  type VersionView,
  type WhyView,
} from '@muster/model';
import * as z from 'zod';
import { explanationSchema, verdictSchema } from './engine-view-schemas.ts';
import { durationMs, name, open, reason, text, textMap, time, view, whole } from './schema-parts.ts';
import { specViewSchema } from './spec-view-schema.ts';

name(jobSpecSchema, 'JobSpec');

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
  devices: z.number().meta({
    description: 'those its run has; without one, those of the first alternative it asks for',
  }),
  labels: textMap,
  submittedBy: text,
  submittedAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  notBefore: time.nullable(),
  plannedStart: time
    .nullable()
    .meta({ description: 'when it is expected to start; only of a queued job that room is kept for' }),
  estimate: z
    .object({
      expectedMs: durationMs('the mean'),
      p90Ms: durationMs('nine in ten such jobs stay within it'),
    })
    .nullable()
    .meta({ description: 'how long it will run by what was learned of jobs that ended before it came' }),
  result: result.nullable(),
  exitCode: whole.nullable(),
  verdict: verdictSchema.nullable(),
  reason: text.nullable(),
  run: text.nullable(),
  move: z
    .object({ place: text, by: text, reason: text.nullable() })
    .nullable()
    .meta({ description: 'where it is to go, as somebody asked, until it has started there' }),
  array: arraySchema.nullable(),
  index: whole.nullable().meta({ description: 'of a member of an array: which' }),
  version: whole,
};
export const jobViewSchema = view<JobView>('Job', jobShape);

export const moveAnswerSchema = view<MoveAnswerView>('MoveAnswer', {
  job: jobViewSchema,
  waits: text
    .nullable()
    .meta({ description: 'why it will wait for its place, as things are now; null when it can start there' }),
});

export const movedSchema = view<MovedView>('Moved', {
  job: text,
  moves: z.boolean(),
  detail: text.nullable().meta({ description: 'why it stays, or why it will wait' }),
});

export const clusterLostSchema = view<ClusterLostView>('ClusterLost', {
  cluster: text,
  nodes: whole.meta({ description: 'nodes that count as gone by it' }),
  jobs: z.array(text).meta({ description: 'jobs whose runs there count as ended' }),
  done: z.boolean().meta({ description: 'false: it was only asked what it would do' }),
});

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
  halt: z.object({ code: text, message: text }).nullable().meta({
    description: 'what an outside hand did in its cluster, so that it does not begin or go on',
  }),
  tasks: z.array(taskSchema),
});

export const jobDetailSchema = view<JobDetail>('JobDetail', {
  ...jobShape,
  spec: specViewSchema,
  runs: z.array(runSchema),
});

export const submittedSchema = view<SubmittedView>('Submitted', {
  id: text,
  repeated: z.boolean().meta({ description: 'this idempotency key had already submitted the same body' }),
});

export const dryRunSchema = z.object({
  valid: z.literal(true),
  spec: specViewSchema,
  verdict: verdictSchema.nullable(),
  reason: text.nullable(),
  explanation: explanationSchema.nullable(),
  sequence: whole,
});
name(dryRunSchema, 'DryRun');

export const whySchema = view<WhyView>('Why', {
  job: text,
  state: jobShape.state,
  sequence: whole.meta({ description: 'the event the answer stands at' }),
  verdict: verdictSchema.nullable(),
  text,
  explanation: explanationSchema.nullable(),
  victims: z
    .array(z.object({ at: time, job: text.nullable(), right: z.enum(rights) }))
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

export const eventSchema = view<EventView>('Event', {
  sequence: whole,
  at: time,
  kind: text,
  body: open.meta({
    description:
      'the fact as it is stored; moments in it are milliseconds since 1970, in fields that end in Ms',
  }),
});

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
  guaranteedKeys: z
    .array(text)
    .meta({ description: 'resources of which some project is guaranteed any; nothing else is borrowed' }),
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
