// Jobs: submit, list, look, and change. What a token may not see is answered as what does not exist.
import {
  entryFacts,
  idempotencyKeyRule,
  isArray,
  isIdempotencyKey,
  isName,
  isProjectPath,
  type JobId,
  type JobRefusal,
  type JobSpec,
  type JobState,
  jobDemand,
  jobSpecSchema,
  submittedJob,
  verdictText,
} from '@muster/model';
import type { ChangeRefusal, JobRow } from '@muster/store';
import * as z from 'zod';
import type { Caller } from './auth.ts';
import { cursorParam, defaultLimit, flagParam, limitParam } from './check-input.ts';
import type { Api } from './deps.ts';
import { verdictView } from './engine-views.ts';
import { findJob, findRange } from './find-job.ts';
import { ifMatch } from './if-match.ts';
import { detailFor, jobFor } from './of-others.ts';
import { committed, outcomeUnknown } from './outcome.ts';
import { notFound, type RefusedError, refuse } from './problem.ts';
import { plannedStarts, withReasons } from './reasons.ts';
import { type Answer, type Call, param, route, sequenceHeader } from './route.ts';
import { seenBy } from './seen-by.ts';
import { checkSpec, type Refused, specDefaults, submitItem, submitRefused } from './submit.ts';
import { dryRunSchema, jobDetailSchema, jobViewSchema, pageOf, submittedSchema } from './view-schemas.ts';
import { jobDetail, jobView, specView } from './views.ts';

const tag = 'jobs';
const states = [
  'queued',
  'held',
  'starting',
  'running',
  'stopping',
  'ended',
] as const satisfies JobState['state'][];

const submitQuery = z.strictObject({
  dryRun: flagParam('check and explain only; nothing is written'),
  hold: flagParam('accept it held; it waits for a release'),
});

export const submitJob = route({
  id: 'submitJob',
  method: 'POST',
  path: '/v1/jobs',
  tag,
  summary: 'Submit a job',
  access: 'member',
  query: submitQuery,
  body: jobSpecSchema,
  rawBody: true,
  audit: 'refused',
  headers: { 'Idempotency-Key': 'the same key and body submit once, however often they are sent' },
  answers: { 201: submittedSchema, 200: submittedSchema.or(dryRunSchema) },
  async handle(api, { caller, query, body, request }) {
    const key = idempotencyKey(request.headers['idempotency-key']);
    if (body === undefined) throw refuse('bad-json', 'the body is empty; send a job spec as JSON');
    const spec = await checkedSpec(api, caller, body);
    if (query.dryRun) return dryRun(api, caller, spec);
    const item = submitItem(api, caller, { body, spec, key, held: query.hold === true });
    const outcome = await api.store.submit(item);
    if (outcome.outcome === 'unknown')
      throw outcomeUnknown(
        key === null
          ? 'look for the job before sending it again, and use an Idempotency-Key next time'
          : 'check with the same Idempotency-Key',
      );
    if (outcome.outcome === 'refused') throw refused(submitRefused(outcome.refusal, item));
    const { job, repeated } = outcome.value;
    return {
      status: repeated ? 200 : 201,
      body: `{"id":"${job}","repeated":${repeated}}`,
      headers: { location: `/v1/jobs/${job}`, 'muster-sequence': String(outcome.sequence) },
    };
  },
});

function refused({ code, detail, errors }: Refused): RefusedError {
  return refuse(code, detail, errors ? { errors } : {});
}

function idempotencyKey(key: string | string[] | undefined): string | null {
  if (key === undefined) return null;
  if (typeof key === 'string' && isIdempotencyKey(key)) return key;
  throw refuse('bad-request', `the header Idempotency-Key is not valid: ${idempotencyKeyRule}`);
}

export async function checkedSpec(api: Api, caller: Caller, body: unknown) {
  const tenancy = await api.tenancy.current();
  const checked = checkSpec(caller, tenancy, specDefaults(caller, tenancy), body, api.clock.nowMs());
  if (checked.ok) return checked.spec;
  if (!checked.refused.mayBeStale) throw refused(checked.refused);
  // Look once more before saying so.
  const newer = await api.tenancy.refreshed();
  const again = checkSpec(caller, newer, specDefaults(caller, newer), body, api.clock.nowMs());
  if (again.ok) return again.spec;
  throw refused(again.refused);
}

async function dryRun(api: Api, caller: Caller, spec: JobSpec): Promise<Answer> {
  const facts = entryFacts(spec, caller.principal, api.control.estimate(spec, caller.principal));
  const { verdict, explanation, sequence } = await api.control.consider({
    ...facts,
    demand: jobDemand(spec),
  });
  const reason = verdict ? verdictText(verdict) : null;
  const seen = explanation && seenBy(caller, explanation);
  const body = {
    valid: true,
    spec: specView(spec),
    verdict: verdict && verdictView(verdict),
    reason,
    explanation: seen,
    sequence,
  };
  return { body };
}

const statesParam = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(states)).max(states.length))
  .optional()
  .meta({ description: `one or several of ${states.join(', ')}, separated by commas` });

const listQuery = z.strictObject({
  state: statesParam,
  project: z.string().refine(isProjectPath, 'must be a project path').optional(),
  name: z.string().refine(isName, 'must be a job name').optional(),
  submittedBy: z.string().min(1).max(300).optional(),
  limit: limitParam,
  cursor: cursorParam,
});

export const listJobs = route({
  id: 'listJobs',
  method: 'GET',
  path: '/v1/jobs',
  tag,
  summary: 'List jobs, newest first',
  access: 'viewer',
  query: listQuery,
  answers: { 200: pageOf(jobViewSchema) },
  async handle(api, { caller, query }) {
    const limit = query.limit ?? defaultLimit;
    const before = query.cursor === undefined ? null : await api.cursors.read('jobs', query.cursor);
    const rows = await api.store.jobs({
      scope: caller.project,
      project: query.project ?? null,
      states: query.state ?? null,
      name: query.name ?? null,
      submittedBy: query.submittedBy ?? null,
      before: before as JobId | null,
      limit: limit + 1,
    });
    const shown = rows.slice(0, limit);
    const [page, planned] = await Promise.all([withReasons(api, shown), plannedStarts(api, shown)]);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return {
      body: {
        items: page.map((row) => jobFor(caller, jobView(row, planned.get(row.id)))),
        next: last ? await api.cursors.sign('jobs', last.id) : null,
      },
    };
  },
});

/** The job of the path, if the caller may see it. */
export async function visibleJob(api: Api, call: Call): Promise<JobRow> {
  return findJob(api, call.caller, param(call, 'id'));
}

export const getJob = route({
  id: 'getJob',
  method: 'GET',
  path: '/v1/jobs/:id',
  tag,
  summary: 'One job with its spec and every attempt',
  access: 'viewer',
  answers: { 200: jobDetailSchema },
  async handle(api, call) {
    const row = await visibleJob(api, call);
    const [runs, [shown = row], planned] = await Promise.all([
      api.store.runs(row.id),
      withReasons(api, [row]),
      plannedStarts(api, [row]),
    ]);
    const detail = jobDetail(shown, runs, planned.get(row.id) ?? null);
    return { body: detailFor(call.caller, detail), headers: { etag: etag(row) } };
  },
});

function etag(row: JobRow): string {
  return `"${row.version}"`;
}

type Act = 'cancel' | 'hold' | 'release';

const changing = (act: Act, summary: string) =>
  route({
    id: `${act}Job`,
    method: 'POST',
    path: `/v1/jobs/:id/${act}`,
    tag,
    summary,
    access: 'member',
    headers: { 'If-Match': 'the ETag of the version this was decided on; 409 when the job has left it' },
    answers: { 200: jobViewSchema },
    async handle(api, call) {
      const versions = ifMatch(call);
      const several = act === 'cancel' ? await findRange(api, call.caller, param(call, 'id')) : null;
      const row = several?.row ?? (await visibleJob(api, call));
      const { principal } = call.caller;
      const outcome = several
        ? await api.store.cancelRange(row.id, several.range, principal, versions)
        : await api.store[act](row.id, principal, versions);
      // Read again in either case: the row may have moved since it was looked at above.
      const now = (await api.store.job(row.id)) ?? row;
      const { sequence } = committed(
        outcome,
        (refusal) => notChanged(act, refusal, now),
        `read ${row.id} to see`,
      );
      const body = jobFor(call.caller, jobView(now));
      return { body, headers: { etag: etag(now), ...sequenceHeader(sequence) } };
    },
  });

function notChanged(act: Act, refusal: ChangeRefusal | JobRefusal, row: JobRow): RefusedError {
  const { id, state, version } = row;
  if (refusal === 'not-found') return notFound('job', id);
  if (refusal === 'stale-version')
    return refuse('version-mismatch', `${id} is at version ${version} now; read it again, then decide anew`, {
      headers: { etag: etag(row) },
    });
  if (refusal === 'member')
    return refuse('conflict', `${id} is a member of an array; ${act} ${submittedJob(id)} as a whole`);
  if (state.state === 'ended') return refuse('conflict', `${id} has ended; submit it again to run it again`);
  const advice =
    act === 'hold'
      ? 'only a queued job can be held; cancel it to stop it'
      : 'only a held job can be released; there is nothing to do';
  return refuse('conflict', `${id} is ${state.state}; ${advice}`);
}

const membersQuery = z.strictObject({
  state: statesParam,
  outcome: z
    .enum(['succeeded', 'failed', 'cancelled'])
    .optional()
    .meta({ description: 'only those that ended so' }),
  limit: limitParam,
  cursor: cursorParam,
});

export const listMembers = route({
  id: 'listMembers',
  method: 'GET',
  path: '/v1/jobs/:id/members',
  tag,
  summary: 'Members of an array that have started, by index; the others are ranges of the array itself',
  access: 'viewer',
  query: membersQuery,
  answers: { 200: pageOf(jobViewSchema) },
  async handle(api, call) {
    const { query } = call;
    const row = await visibleJob(api, call);
    if (!isArray(row.state)) throw refuse('bad-request', `${row.id} is no array and has no members`);
    const limit = query.limit ?? defaultLimit;
    const after = query.cursor === undefined ? -1 : Number(await api.cursors.read('members', query.cursor));
    const { state: states = null, outcome = null } = query;
    const rows = await api.store.members({ array: row.id, states, outcome, after, limit: limit + 1 });
    const shown = await withReasons(api, rows.slice(0, limit));
    const items = shown.map((row) => jobFor(call.caller, jobView(row)));
    const last = rows.length > limit ? items.at(-1) : undefined;
    const next = last ? await api.cursors.sign('members', String(last.index)) : null;
    return { body: { items, next } };
  },
});

export const jobRoutes = [
  submitJob,
  listJobs,
  getJob,
  listMembers,
  changing('cancel', 'Cancel a job, or members [3-10] of an array; once more is no error'),
  changing('hold', 'Keep a queued job from starting'),
  changing('release', 'Let a held job start'),
];
