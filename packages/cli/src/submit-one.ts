// One submit that a person may interrupt. Between sending and the answer nobody knows whether the job was taken, so a Ctrl-C
// there prints the idempotency key: the same command with it finds the job, or submits it, but never twice.
import type { MusterClient } from '@muster/client';
import type { JobSpecInput, SubmittedView } from '@muster/model';
import type { Cli } from './cli.ts';
import { exit } from './exit-codes.ts';
import { CliFailure } from './failure.ts';

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
    if (!stop.signal.aborted) throw error;
    throw new CliFailure(
      `interrupted while submitting, so the job may or may not have been taken; idempotency key ${key}: run the same command with --key ${key} to find out, which never makes a second job`,
      exit.interrupted,
    );
  } finally {
    off();
  }
}
