// How a job reads in tables and sentences: the same words in ps, show, wait and run.
import type { JobResult, JobView } from '@muster/model';
import { clean } from './text/clean.ts';
import { elapsed } from './text/time.ts';

/** What people ask first: an ended job by how it ended, any other by its state. */
export function jobState(job: JobView): string {
  return job.state === 'ended' ? (job.result?.outcome ?? 'ended') : job.state;
}

/** The same with the counts of an array that is not over: "running 12, done 300 of 1000". */
export function jobProgress(job: JobView): string {
  const { array } = job;
  if (!array || job.state === 'ended') return jobState(job);
  const done = array.succeeded + array.failed + array.cancelled;
  const running = array.running > 0 && job.state !== 'running' ? `, running ${array.running}` : '';
  const state = job.state === 'running' ? `running ${array.running}` : job.state;
  return `${state}${running}, done ${done} of ${array.count}`;
}

/** One word or sentence on why the job is as it is; empty when the state says all. */
export function jobReason(job: JobView): string {
  if (job.result) return resultReason(job.result);
  if (job.reason) return clean(job.reason.replace(/^waits: /, ''));
  return '';
}

export function resultReason(result: JobResult): string {
  if (result.outcome === 'succeeded') return '';
  const { reason, rank, code, signal } = result;
  const where = rank === null ? '' : ` (rank ${rank})`;
  const message = clean(reason.message);
  const tells = message.includes(String(code)) || (signal !== null && message.includes(signal));
  const how = signal !== null ? `${signal}` : code !== null ? `exit code ${code}` : '';
  return `${message}${how === '' || tells ? '' : `, ${how}`}${where}`;
}

/** How long it has waited, run or ran. */
export function jobTime(job: JobView, nowMs: number): string {
  if (job.startedAt !== null) return elapsed(job.startedAt, job.endedAt, nowMs);
  return job.endedAt === null ? elapsed(job.submittedAt, null, nowMs) : '-';
}

/** "4 tasks x 2 devices" in three or four characters: 4x2. Of an array with how often: "1000 of 4x2". */
export function jobSize(job: JobView): string {
  if (!job.array) return memberSize(job);
  const { count } = job.array;
  if (job.devices > 0) return `${count} of ${memberSize(job)}`;
  return job.tasks === 1 ? `${count} members` : `${count} of ${job.tasks} tasks`;
}

function memberSize(job: JobView): string {
  if (job.devices === 0) return `${job.tasks}`;
  const each = job.devices / job.tasks;
  return Number.isInteger(each) ? `${job.tasks}x${each}` : `${job.tasks} (${job.devices})`;
}

export function endLine(job: JobView, nowMs: number): string {
  const reason = jobReason(job);
  const took = job.startedAt === null ? '' : ` after ${elapsed(job.startedAt, job.endedAt, nowMs)}`;
  const attempts = job.attempt > 1 ? `, attempt ${job.attempt}` : '';
  return `${job.id} ${jobState(job)}${took}${attempts}${reason === '' ? '' : `: ${reason}`}`;
}
