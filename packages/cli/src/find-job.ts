// JOB on the command line: a whole id, a unique part of one from its start (with or without "job_"), or a job's name. A
// name means the newest job of that name that has not ended; without one, the newest of all. A prefix that fits several jobs is
// never guessed. An index in brackets behind it names a member of an array.
import { type MusterClient, MusterError } from '@muster/client';
import { isId, isName, type JobId, type JobView } from '@muster/model';
import { CliFailure, usage } from './failure.ts';
import { clean } from './text/clean.ts';

/** How many of the newest jobs are looked through for a prefix. */
const maxLooked = 2000;
const maxListed = 5;

/** With `[17]` behind it, or `[3-10]`, members of the array it names; whether there are such is for the server to say. */
export async function findJob(client: MusterClient, word: string): Promise<JobId> {
  const at = word.indexOf('[');
  if (at < 0) return findWhole(client, word);
  const members = word.slice(at);
  if (!/^\[\d{1,7}(-\d{1,7})?\]$/.test(members))
    throw usage(`"${clean(word)}" names no member; write JOB[17], or JOB[3-10] to cancel several`);
  return `${await findWhole(client, word.slice(0, at))}${members}` as JobId;
}

async function findWhole(client: MusterClient, word: string): Promise<JobId> {
  if (isId('job', word)) return word;
  if (!/^[\w-]{1,80}$/.test(word))
    throw usage(`"${clean(word)}" is not a job: give an id, the start of one, or a name`);
  const prefix = word.startsWith('job_') ? word : `job_${word}`;
  const matches = [...(await withPrefix(client, prefix)), ...(await withName(client, word))];
  const ids = [...new Set(matches.map(({ id }) => id))];
  const [only] = ids;
  if (only === undefined && tooShort(prefix))
    throw new CliFailure(
      `no job that you can see is named "${word}", and for the start of an id it is too short; "muster ps --all" lists them`,
    );
  if (only === undefined)
    throw new CliFailure(`there is no job "${word}" that you can see; "muster ps --all" lists them`);
  if (ids.length > 1) throw ambiguous(word, matches);
  return only;
}

const leastPrefix = 4;

function tooShort(prefix: string): boolean {
  return prefix.length < 'job_'.length + leastPrefix && /^job_[0-9a-hjkmnp-tv-z]*$/.test(prefix);
}

async function withPrefix(client: MusterClient, prefix: string): Promise<JobView[]> {
  // Shorter ones fit half of all jobs of a year.
  if (tooShort(prefix) || !/^job_[0-9a-hjkmnp-tv-z]{1,18}$/.test(prefix)) return [];
  const found: JobView[] = [];
  let looked = 0;
  for await (const job of client.jobs.all({ limit: 500 })) {
    if (job.id.startsWith(prefix)) found.push(job);
    looked += 1;
    // Newest first: once ids sort below the prefix no later one can match.
    if (looked >= maxLooked || job.id < prefix || found.length > maxListed) break;
  }
  return found;
}

async function withName(client: MusterClient, name: string): Promise<JobView[]> {
  if (!isName(name)) return [];
  try {
    const { items } = await client.jobs.list({ name, limit: 20 });
    const live = items.filter((job) => job.state !== 'ended');
    return live.length > 0 ? live : items.slice(0, 1);
  } catch (error) {
    if (error instanceof MusterError && error.status === 400) return [];
    throw error;
  }
}

function ambiguous(word: string, matches: readonly JobView[]): CliFailure {
  const listed = matches.slice(0, maxListed).map(({ id, name, state }) => `${id} (${clean(name)}, ${state})`);
  const more = matches.length > maxListed ? ', …' : '';
  return usage(`"${word}" fits several jobs: ${listed.join(', ')}${more}; give more of the id`);
}
