// The one error class of the SDK. `code` is one of the API's codes, or says that no usable answer came; the message
// is a sentence for people: what happened, to what, what to do next.
import type { Problem, ProblemCode } from '@muster/model';

export type ClientCode =
  | ProblemCode
  /** No connection could be made: nothing reached the server. */
  | 'unreachable'
  /** The other end does not speak TLS, or shows a certificate that is not trusted: nothing was sent. */
  | 'untrusted'
  /** The request was sent and no answer came: a write may or may not have taken effect. */
  | 'no-answer'
  /** Something answered that does not speak this API. */
  | 'bad-answer';

export class MusterError extends Error {
  override readonly name = 'MusterError';
  readonly code: ClientCode;
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly problem: Problem | null;
  /** The submit's idempotency key, when the request had one: sending it again is safe. */
  readonly idempotencyKey: string | null;
  /** The request only looked: whatever became of it, nothing took effect. */
  readonly isRead: boolean;

  constructor(
    code: ClientCode,
    message: string,
    options: {
      readonly status?: number;
      readonly problem?: Problem | null;
      readonly idempotencyKey?: string | null;
      readonly isRead?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? 0;
    this.problem = options.problem ?? null;
    this.idempotencyKey = options.idempotencyKey ?? null;
    this.isRead = options.isRead ?? false;
  }
}

/** Whether it is not known if the request took effect. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof MusterError) || error.isRead) return false;
  return error.code === 'no-answer' || error.code === 'outcome-unknown';
}

export function problemError(problem: Problem, idempotencyKey: string | null): MusterError {
  const details = (problem.errors ?? []).map(({ path, message }) => `${path || '/'}: ${message}`);
  // The detail often repeats the only field error; saying it twice helps nobody.
  const extra = details.filter((line) => !problem.detail.includes(line));
  const message = [problem.detail || problem.title, ...extra].join('; ');
  return new MusterError(problem.code as ClientCode, message, {
    status: problem.status,
    problem,
    idempotencyKey,
  });
}
