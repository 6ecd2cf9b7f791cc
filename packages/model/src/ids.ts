// Ids are branded strings with a prefix, so that a log line says what it names and the compiler refuses a job id
// where a run id is wanted. A fresh id is a time and 45 random bits in lower-case Crockford base 32: ids made later
// sort later, which keeps database indexes dense. Time and randomness are arguments; this package has neither.
import { invariant } from './assert.ts';
import type { IndexRange } from './index-ranges.ts';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type JobId = Branded<'job'>;
/** Also the dispatch key: the one name by which a cluster knows this attempt. */
export type RunId = Branded<'run'>;
export type NodeId = Branded<'node'>;
export type TokenId = Branded<'token'>;
export type ServerId = Branded<'server'>;
export type EnrolmentId = Branded<'enrolment'>;

const prefixes = { job: 'job_', node: 'node_', token: 'tok_', server: 'srv_', enrolment: 'enr_' } as const;
type Fresh = { job: JobId; node: NodeId; token: TokenId; server: ServerId; enrolment: EnrolmentId };

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const timeChars = 9; // 45 bits of milliseconds: good until the year 3084
const randomChars = 9;
const bodyPattern = /^[0-9a-hjkmnp-tv-z]{18}$/;

/** `random` supplies at least 9 bytes; five bits of each are used. */
export function freshId<K extends keyof Fresh>(kind: K, nowMs: number, random: Uint8Array): Fresh[K] {
  invariant(Number.isSafeInteger(nowMs) && nowMs >= 0 && nowMs < 2 ** 45, `not a time: ${nowMs}`);
  invariant(random.length >= randomChars, 'an id needs 9 random bytes');
  let time = '';
  for (let rest = nowMs, i = 0; i < timeChars; i++, rest = Math.floor(rest / 32))
    time = alphabet[rest % 32] + time;
  let tail = '';
  for (let i = 0; i < randomChars; i++) tail += alphabet[(random[i] ?? 0) & 31];
  return (prefixes[kind] + time + tail) as Fresh[K];
}

export function isId<K extends keyof Fresh>(kind: K, text: string): text is Fresh[K] {
  const prefix = prefixes[kind];
  return text.startsWith(prefix) && bodyPattern.test(text.slice(prefix.length));
}

/** A member of an array is a job whose id says which: `job_…[17]`. */
export function memberId(array: JobId, index: number): JobId {
  return `${array}[${index}]` as JobId;
}

const jobLength = prefixes.job.length + timeChars + randomChars;
const memberPattern = /^(job_[0-9a-hjkmnp-tv-z]{18})\[(0|[1-9][0-9]{0,6})\]$/;
const rangePattern = /^(job_[0-9a-hjkmnp-tv-z]{18})\[(0|[1-9][0-9]{0,6})-(0|[1-9][0-9]{0,6})\]$/;

/** The array and the index that a member's id names; null for any other text. */
export function parseMemberId(text: string): { readonly array: JobId; readonly index: number } | null {
  if (text.length <= jobLength) return null;
  const match = memberPattern.exec(text);
  return match ? { array: match[1] as JobId, index: Number(match[2]) } : null;
}

/** `job_…[3-10]`, both ends included; null for any other text and where the end comes before the start. */
export function parseMemberRange(text: string): { readonly array: JobId; readonly range: IndexRange } | null {
  const match = rangePattern.exec(text);
  const range: IndexRange | null = match && [Number(match[2]), Number(match[3])];
  return match && range && range[0] <= range[1] ? { array: match[1] as JobId, range } : null;
}

/** The job as people submitted it: the array of a member, any other job itself. */
export function submittedJob(job: JobId): JobId {
  return job.length === jobLength ? job : (parseMemberId(job)?.array ?? job);
}

/** How ids of runs end, by attempt: most attempts are one of the first. */
const ends = Array.from({ length: 16 }, (_, attempt) => `_${attempt}`);

/**
 * A run's id follows from its job and attempt, so that deciding twice names the same run. Attempts count from 1. The ids of all
 * runs of an array begin with the array's, and hold nothing that a file name cannot.
 */
export function runId(job: JobId, attempt: number): RunId {
  // The underscore after "job" serves again, and so does the end: fewer texts to make, of which a plan makes very many.
  if (job.length === jobLength) return `run${job.slice(3)}${ends[attempt] ?? `_${attempt}`}` as RunId;
  return `${runPrefix(job)}${attempt}` as RunId;
}

/** What a run id of a job, or of any member of an array, begins with. */
export function runPrefix(job: JobId): string {
  // Not parsed, for the same reason.
  if (job[jobLength] !== '[') return `run_${job.slice(4)}_`;
  return `run_${job.slice(4, jobLength)}_${job.slice(jobLength + 1, -1)}-`;
}

export const runPattern = /^run_([0-9a-hjkmnp-tv-z]{18})_(?:(0|[1-9][0-9]{0,6})-)?([1-9][0-9]{0,5})$/;

export function parseRunId(text: string): { readonly job: JobId; readonly attempt: number } | null {
  const match = runPattern.exec(text);
  if (!match) return null;
  const job = `job_${match[1]}` as JobId;
  return { job: match[2] === undefined ? job : memberId(job, Number(match[2])), attempt: Number(match[3]) };
}

export function isRunId(text: string): text is RunId {
  return runPattern.test(text);
}
