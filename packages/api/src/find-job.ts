// The job that a path or a parameter names: a job's id, or an array's with an index behind it, `job_…[17]`. What the caller may
// not see is answered as what does not exist.
import { clip, isId, type JobId, parseMemberId, parseMemberRange } from '@muster/model';
import type { JobRow } from '@muster/store';
import { type Caller, sees } from './auth.ts';
import type { Api } from './deps.ts';
import { notFound, refuse } from './problem.ts';

export async function findJob(api: Api, caller: Caller, text: string): Promise<JobRow> {
  if (isId('job', text)) return seen(await api.store.job(text), caller, text);
  const at = text.indexOf('[');
  const array = text.slice(0, Math.max(0, at));
  if (!isId('job', array)) throw notFound('job', text);
  const row = seen(await api.store.job(array), caller, text);
  const { count } = sizeOf(row);
  if (parseMemberRange(text))
    throw refuse(
      'bad-request',
      `${text} names several members, and only cancel takes several; name one, such as ${array}[0]`,
    );
  const member = parseMemberId(text);
  if (!member)
    throw refuse(
      'bad-request',
      `"${clip(text)}" names no member; write ${array}[17], or for cancel ${array}[3-10]`,
    );
  if (member.index >= count) throw noSuchMember(row, member.index);
  return seen(await api.store.job(text as JobId), caller, text);
}

/** Members `[first-last]` of an array that the caller may see; null when the text names no range. */
export async function findRange(api: Api, caller: Caller, text: string) {
  const named = parseMemberRange(text);
  if (!named) return null;
  const row = seen(await api.store.job(named.array), caller, text);
  if (named.range[1] >= sizeOf(row).count) throw noSuchMember(row, named.range[1]);
  return { row, range: named.range };
}

function seen(row: JobRow | null, caller: Caller, text: string): JobRow {
  if (!row || !sees(caller, row.spec.project)) throw notFound('job', text);
  return row;
}

function sizeOf({ id, spec }: JobRow) {
  if (!spec.array)
    throw refuse('not-found', `${id} is no array and has no members; leave out what is in brackets`);
  return spec.array;
}

function noSuchMember(row: JobRow, index: number) {
  const { count } = sizeOf(row);
  return refuse('not-found', `${row.id} has ${count} members, 0 to ${count - 1}; there is no ${index}`);
}
