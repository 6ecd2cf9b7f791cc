// Why a job is where it is: the engine's own verdict for a waiting job, and for the others what there is to say instead.
import {
  type ArrayState,
  countOf,
  isArray,
  type JobId,
  type JobResult,
  type JobState,
  movingText,
  type PreemptionView,
  type Verdict,
  type VictimView,
  verdictText,
  type WhyView,
} from '@muster/model';
import type { JobRow, RunRow } from '@muster/store';
import * as z from 'zod';
import { type Caller, sees } from './auth.ts';
import { countParam } from './check-input.ts';
import type { Api } from './deps.ts';
import { verdictView } from './engine-views.ts';
import { visibleJob } from './jobs.ts';
import { missingProof } from './missing-proof.ts';
import { textFor } from './of-others.ts';
import { route } from './route.ts';
import { seenBy } from './seen-by.ts';
import { time } from './time-text.ts';
import { whySchema } from './view-schemas.ts';
import { unheardText } from './views.ts';

const query = z.strictObject({
  after: countParam(
    'answer at this event or later: the Muster-Sequence of your last write; the newest when left out',
  ),
});

export const whyJob = route({
  id: 'whyJob',
  method: 'GET',
  path: '/v1/jobs/:id/why',
  tag: 'jobs',
  summary: 'Why the job waits, or what became of it',
  access: 'viewer',
  query,
  answers: { 200: whySchema },
  async handle(api, call) {
    const [before, { sequence: head }] = await Promise.all([visibleJob(api, call), api.store.head()]);
    // A position beyond the log would wait for ever.
    const atLeast = Math.min(call.query.after ?? head, head);
    const { verdict, explanation, sequence } = await api.control.explain(before.id, atLeast);
    // Read after the answer, so that its state is not older than the verdict; and its runs after its state, so that all of
    // which that tells are there.
    const row = (await api.store.job(before.id)) ?? before;
    const [runs, stopped] = await Promise.all([api.store.runs(row.id), victims(api, call.caller, row.id)]);
    const shown = waits(row.state) ? (verdict ?? row.verdict) : null;
    const present = runs.find(({ id }) => 'run' in row.state && id === row.state.run) ?? null;
    const why: WhyView = {
      job: row.id,
      state: row.state.state,
      sequence,
      verdict: shown && verdictView(shown),
      text: textFor(call.caller, whyText(row, shown, present) + (await missingProof(api, row, present))),
      explanation: shown && explanation ? seenBy(call.caller, explanation) : null,
      preemptions: await preemptions(api, call.caller, row, runs),
      victims: stopped,
    };
    return { body: why };
  },
});

/** Of an array, whether any of it does. */
function waits(state: JobRow['state']): boolean {
  if (!isArray(state)) return state.state === 'queued';
  return (
    (state.state === 'queued' || state.state === 'running') && (state.again > 0 || state.waiting.length > 0)
  );
}

async function preemptions(
  api: Api,
  caller: Caller,
  { state }: JobRow,
  runs: readonly RunRow[],
): Promise<PreemptionView[]> {
  // A preemption is at the moment at which its run ended: they are written together.
  const reasons = new Map<number, string | null>();
  for (const run of runs) if (run.state.state === 'ended') reasons.set(run.state.endedMs, preemptedText(run));
  const found: PreemptionView[] = [];
  for (const { atMs, by } of 'preempted' in state ? state.preempted : []) {
    const other = await api.store.job(by);
    const seen = other !== null && sees(caller, other.spec.project);
    const reason = reasons.get(atMs) ?? null;
    found.push({ at: time(atMs), by: seen ? by : null, reason: reason && textFor(caller, reason) });
  }
  return found;
}

function preemptedText({ state }: RunRow): string | null {
  if (state.state !== 'ended' || state.result.outcome !== 'failed') return null;
  return state.result.class === 'preemption' ? state.result.reason.message : null;
}

const victimsMax = 20;

/** As the log has it. */
async function victims(api: Api, caller: Caller, job: JobId): Promise<VictimView[]> {
  const claims = await api.store.claims(job, victimsMax);
  const all = claims.flatMap(({ atMs, victims: stopped }) => stopped.map((victim) => ({ atMs, ...victim })));
  return Promise.all(
    all.slice(-victimsMax).map(async ({ atMs, job: victim, right }) => {
      const other = await api.store.job(victim);
      return { at: time(atMs), job: other && sees(caller, other.spec.project) ? victim : null, right };
    }),
  );
}

export function whyText(row: JobRow, verdict: Verdict | null, run: RunRow | null): string {
  const { state } = row;
  if (isArray(state)) return arrayText(row, state, verdict);
  const moving = movingText(state);
  return `${moving}${moving === '' ? '' : '; '}${stateText(state, verdict, run)}`;
}

function stateText(state: JobState, verdict: Verdict | null, run: RunRow | null): string {
  switch (state.state) {
    case 'queued':
      return verdict ? waitingText(verdict) : 'queued; the scheduler has not looked at it yet';
    case 'held':
      return `held by ${state.by}; release it to let it start`;
    case 'starting':
      return `starting attempt ${state.attempt}${onNodes(run)}${trouble(run)}`;
    case 'running':
      return `running since ${time(state.startedMs)}, attempt ${state.attempt}${onNodes(run)}${trouble(run)}`;
    case 'stopping':
      return `being stopped because ${state.by} cancelled it${trouble(run)}`;
    case 'ended':
      return endedText(state);
  }
}

/** Why a job waits, and when it is to start where that is planned. */
export function waitingText(verdict: Verdict): string {
  return `${verdictText(verdict)}${plannedText(verdict)}`;
}

/** When it is to start, and on how many guesses that rests. */
function plannedText(verdict: Verdict): string {
  if (verdict.kind !== 'waits' || !verdict.planned) return '';
  const { startMs, runs, assumed, overdue } = verdict.planned;
  const guesses = [
    assumed === 1 ? "1 has no time limit, and its tier's default is taken" : '',
    assumed > 1 ? `${assumed} have no time limit, and their tier's default is taken` : '',
    overdue > 0 ? `${overdue} ${overdue === 1 ? 'has' : 'have'} run longer than expected` : '',
  ].filter((text) => text !== '');
  const rests = guesses.length > 0 ? ` (of these ${guesses.join('; ')})` : '';
  return `; planned to start at ${time(startMs)}, when ${runs} run${runs === 1 ? '' : 's'} will have ended${rests}`;
}

function arrayText({ spec }: JobRow, state: ArrayState, verdict: Verdict | null): string {
  if (state.state === 'ended') return endedText({ ...state, attempt: 1 });
  const { live, again, waiting, succeeded, failed } = state;
  const left = again + countOf(waiting);
  const counts = `${live} running, ${left} waiting, ${succeeded} succeeded, ${failed} failed of ${spec.array?.count} members`;
  if (state.state === 'held') return `held by ${state.by}; release it to let it start; ${counts}`;
  if (state.state === 'stopping') return `being stopped because ${state.by} cancelled it; ${counts}`;
  return `${counts}${verdict && verdict.kind !== 'placed' && left > 0 ? `; the next ${waitingText(verdict)}` : ''}`;
}

function endedText(state: { result: JobResult; endedMs: number; attempt: number }): string {
  const { result, endedMs } = state;
  const at = time(endedMs);
  if (result.outcome === 'succeeded') return `succeeded at ${at}`;
  if (result.outcome === 'cancelled') return `${result.reason.message}, at ${at}`;
  const rank = result.rank === null ? '' : ` in rank ${result.rank}`;
  const attempts = state.attempt > 1 ? ` after ${state.attempt} attempts` : '';
  return `failed at ${at}${attempts}${rank}: ${result.reason.message}`;
}

function onNodes(run: RunRow | null): string {
  const names = [...new Set(run?.tasks.map((task) => task.nodeName) ?? [])];
  if (names.length === 0) return '';
  const some = names.slice(0, 4).join(', ');
  return ` on ${some}${names.length > 4 ? ` and ${names.length - 4} more` : ''}`;
}

function trouble(run: RunRow | null): string {
  if (run?.state.state === 'unknown') return `; ${unheardText(run.state.sinceMs)}`;
  return run?.halt ? `; ${run.halt.message}` : '';
}
