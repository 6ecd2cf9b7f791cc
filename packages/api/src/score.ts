// The choice among places as a table, for a job that was submitted or for one that was not. Asked of the second engine, so that
// nobody waits for it; nothing is changed.
import {
  type EntryFacts,
  entryFacts,
  type HourlyTerms,
  type JobSpec,
  jobDemand,
  jobSpecSchema,
  type OnceTerms,
  type Score,
  type ScoreRow,
  type ScoreView,
} from '@muster/model';
import type { Api } from './deps.ts';
import { scoreSchema } from './engine-view-schemas.ts';
import { checkedSpec, visibleJob } from './jobs.ts';
import { refuse } from './problem.ts';
import { route } from './route.ts';
import { time } from './time-text.ts';

const tag = 'questions';

async function scored(api: Api, spec: JobSpec, facts: EntryFacts, known: boolean): Promise<ScoreView> {
  return viewOf(await api.control.score({ ...facts, demand: jobDemand(spec) }, known));
}

function viewOf({ nowMs, rows, ...score }: Score): ScoreView {
  return { ...score, at: time(nowMs), rows: rows.map(inMoney) };
}

const terms = [
  'price',
  'speed',
  'preference',
  'trust',
  'fragmentation',
  'waiting',
  'preemption',
  'transfer',
  'total',
] as const satisfies (keyof HourlyTerms | keyof OnceTerms | 'total')[];

function inMoney(row: ScoreRow): ScoreRow {
  return { ...row, ...Object.fromEntries(terms.map((term) => [term, row[term] / 1_000_000])) };
}

const scoreJob = route({
  id: 'scoreJob',
  method: 'GET',
  path: '/v1/jobs/:id/score',
  tag,
  summary: 'Where the tasks of a job that has not ended could go, and what each place costs',
  access: 'viewer',
  answers: { 200: scoreSchema },
  async handle(api, call) {
    const { id, spec, submittedBy, state, estimate } = await visibleJob(api, call);
    if (state.state === 'ended')
      throw refuse('conflict', `${id} has ended; ask about its file instead, or submit it again`);
    return { body: await scored(api, spec, entryFacts(spec, submittedBy, estimate ?? undefined), true) };
  },
});

const scoreSpec = route({
  id: 'scoreSpec',
  method: 'POST',
  path: '/v1/score',
  tag,
  summary: 'The same for a job that is not submitted',
  access: 'member',
  body: jobSpecSchema,
  rawBody: true,
  audit: 'never',
  answers: { 200: scoreSchema },
  async handle(api, { caller, body }) {
    if (body === undefined) throw refuse('bad-json', 'the body is empty; send a job spec as JSON');
    const spec = await checkedSpec(api, caller, body);
    const facts = entryFacts(spec, caller.principal, api.control.estimate(spec, caller.principal));
    return { body: await scored(api, spec, facts, false) };
  },
});

export const scoreRoutes = [scoreJob, scoreSpec];
