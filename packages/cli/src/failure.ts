// Every way a command can fail ends here as one line on stderr (what happened, to what, what to do next) and an exit
// code from the table. Stacks are shown only with MUSTER_DEBUG=1.
import { isOutcomeUnknown, MusterError } from '@muster/client';
import { OperationalError } from '@muster/model';
import { exit } from './exit-codes.ts';
import { clean } from './text/clean.ts';

export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exit.failed, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** The command line asks for something that cannot be. */
export function usage(message: string): CliFailure {
  return new CliFailure(message, exit.usage);
}

export function toFailure(error: unknown): CliFailure {
  if (error instanceof CliFailure) return error;
  if (error instanceof MusterError)
    return new CliFailure(musterMessage(error), musterExit(error), { cause: error });
  // From a part of the system that runs in this very process.
  if (error instanceof OperationalError)
    return new CliFailure(clean(error.message), exit.failed, { cause: error });
  const what = error instanceof Error ? error.message : String(error);
  return new CliFailure(`something broke in muster: ${what} (MUSTER_DEBUG=1 shows where)`, exit.failed, {
    cause: error,
  });
}

function musterExit(error: MusterError): number {
  if (isOutcomeUnknown(error)) return exit.unknown;
  return ['unreachable', 'untrusted', 'unavailable', 'bad-answer', 'no-answer'].includes(error.code)
    ? exit.unknown
    : exit.failed;
}

function musterMessage(error: MusterError): string {
  const message = clean(error.message);
  if (error.code === 'unreachable')
    return `${message}; start a server with "muster up", or choose another with --server or "muster profiles use"`;
  if (error.code === 'unauthenticated')
    return 'the server does not accept the token: it is mistyped, expired, revoked or of another server; run "muster login URL" with one that is valid';
  if (isOutcomeUnknown(error))
    return `${message}; it is not known whether this took effect, look before trying again`;
  return message;
}

/** Shown for a person with a bug to report, never otherwise. */
export function debugText(error: unknown): string {
  let text = '';
  for (let at: unknown = error; at instanceof Error; at = at.cause) text += `${at.stack ?? at.message}\n`;
  return text;
}
