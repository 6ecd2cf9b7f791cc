// One submit that a person may interrupt. Between sending and the answer nobody knows whether the job was taken, so a Ctrl-C
// there, or an answer that never comes, prints the idempotency key: the same command with it finds the job, or submits it, but never twice.
import { isOutcomeUnknown, type MusterClient, newKey } from '@muster/client';
import { idempotencyKeyRule, isIdempotencyKey, type JobSpecInput, type SubmittedView } from '@muster/model';
import type { Cli } from './cli.ts';
import { exit } from './exit-codes.ts';
import { CliFailure, usage } from './failure.ts';
import { clean } from './text/clean.ts';

/** The key of `--key`, or a new one; of several documents, each gets it with its number. */
export function keyOf(flag: string | undefined, documents = 1): string {
  if (flag === undefined) return newKey();
  if (isIdempotencyKey(documents === 1 ? flag : keyOfDocument(flag, documents))) return flag;
  const ending = documents === 1 ? '' : `, of ${documents} documents with -1 to -${documents} behind it`;
  throw usage(`--key "${clean(flag)}" cannot be: ${idempotencyKeyRule}${ending}`);
}

/** Numbers begin with 1. */
export function keyOfDocument(key: string, number: number): string {
  return `${key}-${number}`;
}

export async function submitOne(
  cli: Cli,
  client: MusterClient,
  spec: JobSpecInput,
  options: { readonly key: string; readonly hold?: boolean | undefined },
): Promise<SubmittedView> {
  return interruptibly(cli, options.key, (signal) => client.jobs.submit(spec, { ...options, signal }));
}

export async function interruptibly<T>(
  cli: Cli,
  key: string,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const off = cli.terminal.onInterrupt(() => stop.abort());
  try {
    return await send(stop.signal);
  } catch (error) {
    if (stop.signal.aborted)
      throw new CliFailure(
        `interrupted while submitting, so the job may or may not have been taken; idempotency key ${key}: ${findOut(key)}`,
        exit.interrupted,
      );
    if (isOutcomeUnknown(error))
      throw new CliFailure(
        `${clean((error as Error).message)}; it is not known whether the job was taken: ${findOut(key)}`,
        exit.unknown,
        { cause: error },
      );
    throw error;
  } finally {
    off();
  }
}

/** What to do when nobody knows. */
export function findOut(key: string): string {
  return `run the same command with --key ${key} to find out, which never makes a second job`;
}
