// Why a job is where it is: the engine's own verdict for a waiting job, and for the others what there is to say instead.
import { type PreemptionView, type Verdict, verdictText, type WhyView } from '@muster/model';
import type { JobRow, RunRow } from '@muster/store';
import * as z from 'zod';
import { type Caller, sees } from './auth.ts';
import { countParam } from './check-input.ts';
import type { Api } from './deps.ts';
import { visibleJob } from './jobs.ts';
import { route } from './route.ts';
import { seenBy } from './seen-by.ts';
import { whySchema } from './view-schemas.ts';
import { time, unheardText } from './views.ts';

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
    const before = await visibleJob(api, call);
    const { sequence: head } = await api.store.head();
    // A position beyond the log would wait for ever.
    const atLeast = Math.min(call.query.after ?? head, head);
    const { verdict, explanation, sequence } = await api.control.explain(before.id, atLeast, true);
    // Read after the answer, so that its state is not older than the verdict.
    const row = (await api.store.job(before.id)) ?? before;
    const runs = 'run' in row.state ? await api.store.runs(row.id) : [];
    const shown = row.state.state === 'queued' ? (verdict ?? row.verdict) : null;
    const why: WhyView = {
      job: row.id,
      state: row.state.state,
      sequence,
      verdict: shown,
      text: whyText(row, shown, runs.at(-1) ?? null),
      explanation: shown && explanation ? seenBy(call.caller, explanation) : null,
      preemptions: await preemptions(api, call.caller, row),
    };
    return { body: why };
  },
});

async function preemptions(api: Api, caller: Caller, { state }: JobRow): Promise<PreemptionView[]> {
  const found: PreemptionView[] = [];
  for (const { atMs, by } of state.state === 'ended' ? [] : state.preempted) {
    const other = await api.store.job(by);
    found.push({ at: time(atMs), by: other && sees(caller, other.spec.project) ? by : null });
  }
  return found;
}

export function whyText(row: JobRow, verdict: Verdict | null, run: RunRow | null): string {
  const { state } = row;
  switch (state.state) {
    case 'queued':
      return verdict ? verdictText(verdict) : 'queued; the scheduler has not looked at it yet';
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

function endedText(state: Extract<JobRow['state'], { state: 'ended' }>): string {
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
  return run?.state.state === 'unknown' ? `; ${unheardText(run.state.sinceMs)}` : '';
}
