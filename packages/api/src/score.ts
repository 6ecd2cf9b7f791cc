// The choice among places as a table, for a job that was submitted or for one that was not. Asked of the second engine, so that
// nobody waits for it; nothing is changed.
import {
  type EntryFacts,
  entryFacts,
  type HourlyTerms,
  isArray,
  type JobSpec,
  jobDemand,
  jobSpecSchema,
  type OnceTerms,
  type Score,
  type ScoreRow,
  type ScoreView,
} from '@muster/model';
import type { JobRow } from '@muster/store';
import type { Caller } from './auth.ts';
import type { Api } from './deps.ts';
import { scoreSchema } from './engine-view-schemas.ts';
import { checkedSpec, visibleJob } from './jobs.ts';
import { textFor } from './of-others.ts';
import { refuse } from './problem.ts';
import { route } from './route.ts';
import { time } from './time-text.ts';
import { whyText } from './why.ts';

const tag = 'questions';

async function scored(api: Api, spec: JobSpec, facts: EntryFacts, known: boolean): Promise<Score> {
  return api.control.score({ ...facts, demand: jobDemand(spec) }, known);
}

function viewOf({ nowMs, rows, ...score }: Score, placed: string | null): ScoreView {
  return { ...score, at: time(nowMs), placed, rows: rows.map(inMoney) };
}

/** Of an array the table is about its next member, which is nowhere yet. */
async function placedText(api: Api, caller: Caller, row: JobRow): Promise<string | null> {
  const { id, state } = row;
  if (isArray(state) || !('run' in state)) return null;
  const run = (await api.store.runs(id)).find((one) => one.id === state.run) ?? null;
  return textFor(caller, whyText(row, null, run));
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
    const row = await visibleJob(api, call);
    const { id, spec, submittedBy, state, estimate } = row;
    if (state.state === 'ended')
      throw refuse('conflict', `${id} has ended; ask about its file instead, or submit it again`);
    const facts = entryFacts(spec, submittedBy, estimate ?? undefined);
    const score = await scored(api, spec, facts, true);
    return { body: viewOf(score, await placedText(api, call.caller, row)) };
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
    return { body: viewOf(await scored(api, spec, facts, false), null) };
  },
});

export const scoreRoutes = [scoreJob, scoreSpec];
