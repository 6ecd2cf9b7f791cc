// What a caller is told of jobs that it may not see: that there is one, and not which (S8). A preempted run's reason names the job
// it was stopped for and that job's project, and the log names both sides of a preemption; operators need that, tenants
// read it of each other.
import type {
  EventBody,
  EventView,
  JobDetail,
  JobId,
  JobView,
  LogEvent,
  Reason,
  RunView,
  Victim,
} from '@muster/model';
import { type Caller, sees } from './auth.ts';
import type { Api } from './deps.ts';
import { eventView } from './views.ts';

/** As the store writes it (claim-rules.ts). */
const named = / for \S+ of project ([^\s,]+)/;

/** The sentence without the names of a job that the caller may not see. */
export function textFor(caller: Caller, text: string): string {
  return text.replace(named, (all, project: string) =>
    sees(caller, project) ? all : ' for a job of another project',
  );
}

type End = { readonly ok: true } | { readonly outcome: 'succeeded' } | { readonly reason: Reason };

function endFor<T extends End>(caller: Caller, end: T): T {
  if (!('reason' in end)) return end;
  return { ...end, reason: { ...end.reason, message: textFor(caller, end.reason.message) } };
}

export function jobFor(caller: Caller, job: JobView): JobView {
  return caller.project === null || !job.result ? job : { ...job, result: endFor(caller, job.result) };
}

export function detailFor(caller: Caller, job: JobDetail): JobDetail {
  if (caller.project === null) return job;
  return { ...job, ...jobFor(caller, job), runs: job.runs.map((run) => runFor(caller, run)) };
}

function runFor(caller: Caller, run: RunView): RunView {
  const tasks = run.tasks.map((task) => ({ ...task, exit: task.exit && endFor(caller, task.exit) }));
  return { ...run, result: run.result && endFor(caller, run.result), tasks };
}

export async function eventFor(api: Api, caller: Caller, event: LogEvent): Promise<EventView> {
  const view = eventView(event);
  if (caller.project === null) return view;
  return { ...view, body: { ...view.body, ...(await hidden(api, caller, event.body)) } };
}

/** The fields of an event that read otherwise to this caller. */
async function hidden(api: Api, caller: Caller, body: EventBody): Promise<Record<string, unknown>> {
  switch (body.kind) {
    case 'run.stopping':
      return {
        reason: { ...body.reason, message: textFor(caller, body.reason.message) },
        preemptor: body.preemptor && (await jobOrNull(api, caller, body.preemptor)),
      };
    case 'run.ended':
    case 'job.ended':
      return { result: endFor(caller, body.result) };
    case 'task.failed':
      return { exit: endFor(caller, body.exit) };
    case 'job.requeued': {
      const preempted = body.preempted.map(async ({ by, ...rest }) => ({
        ...rest,
        by: await jobOrNull(api, caller, by),
      }));
      return { because: endFor(caller, body.because), preempted: await Promise.all(preempted) };
    }
    case 'job.claimed': {
      const victims = await Promise.all(body.claim.victims.map((victim) => victimFor(api, caller, victim)));
      return { claim: { ...body.claim, victims } };
    }
    default:
      return {};
  }
}

async function victimFor(api: Api, caller: Caller, victim: Victim): Promise<object> {
  return (await jobOrNull(api, caller, victim.job)) ? victim : { ...victim, job: null, run: null };
}

async function jobOrNull(api: Api, caller: Caller, id: JobId): Promise<JobId | null> {
  const row = await api.store.job(id);
  return row && sees(caller, row.spec.project) ? id : null;
}
