// The two ends of a transaction. What it needs is set inside it (SET LOCAL), because a pooler in transaction mode would
// lose session settings. A transaction of a paused process holds row locks, the leader's among them, so the server
// ends idle ones well within the takeover time.
import { InvariantError } from '@muster/model';
import type pg from 'pg';
import { CommitUnknown, failureOf, wasAnswered } from './failure.ts';

const idleTimeoutMs = 8000;

// Every statement of a write goes by key, so one plan is right for all of them and for ever: nested loops over indexes,
// made once. Left to its own, the planner plans large statements anew at each call, or keeps the plan it made when the
// tables were empty, which reads them whole until statistics catch up. (Seen: 1.1 ms of server time a job in groups of 64
// while the table grew to 170,000 jobs, 0.07 ms since; a look-up of taken ids left the statement at the same time.)
// JIT goes with them: before PostgreSQL 18 a plan that cannot avoid what is off looks so dear that it would be compiled.
const planning = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']
  .map((name) => `SET LOCAL ${name} = off`)
  .concat('SET LOCAL plan_cache_mode = force_generic_plan')
  .join('; ');

/** One round trip for all of it. */
export async function begin(client: pg.PoolClient, timeoutMs: number, fenced: boolean) {
  const what = fenced ? 'epoch FROM leader FOR KEY SHARE' : '0::bigint AS epoch';
  const text = `${beginText(timeoutMs)}; SELECT now_ms() AS "nowMs", ${what}`;
  const results = (await client.query(text)) as unknown as pg.QueryResult[];
  return results.at(-1)?.rows[0] as { nowMs: number; epoch: number };
}

/** For a transaction that asks nothing at its beginning. */
export function beginText(timeoutMs: number): string {
  return `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = ${timeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${idleTimeoutMs}; ${planning}`;
}

export async function commit(client: pg.PoolClient): Promise<void> {
  let command: string;
  try {
    command = (await client.query('COMMIT')).command;
  } catch (error) {
    // An answer that says no is an answer: the server rolled back. Anything else leaves us not knowing.
    if (failureOf(error) === 'unavailable') throw new CommitUnknown('no answer to COMMIT', { cause: error });
    throw error;
  }
  if (command !== 'COMMIT') throw new InvariantError(`COMMIT was answered with ${command}`);
}

/**
 * Sends COMMIT right behind the last statement, without waiting for its answer. A statement that the server refused has
 * ended the transaction, and the COMMIT behind it rolled back; one that was not answered says nothing about the COMMIT. Where the
 * COMMIT was taken nevertheless there was no transaction, because the BEGIN was cancelled, and what was sent stood for itself.
 */
export async function commitBehind<T>(client: pg.PoolClient, last: Promise<T>): Promise<T> {
  const [done, committed] = await Promise.allSettled([last, commit(client)]);
  if (done.status === 'rejected') {
    if (wasAnswered(done.reason) && committed.status === 'rejected') throw done.reason;
    throw new CommitUnknown('nothing tells whether the statements before COMMIT took effect', {
      cause: done.reason,
    });
  }
  if (committed.status === 'rejected') throw committed.reason;
  return done.value;
}
