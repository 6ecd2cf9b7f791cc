// The one table of errors a user can meet. Code and status are stable; the sentence says what happened, to what, and
// what to do next. The API turns them into problem+json, the CLI into one line and an exit code.

export const problemCodes = {
  'bad-json': { status: 400, title: 'The body is not acceptable JSON' },
  'bad-request': { status: 400, title: 'The request is malformed' },
  'bad-cursor': { status: 400, title: 'The cursor is not one of ours' },
  unauthenticated: { status: 401, title: 'Authentication is needed' },
  forbidden: { status: 403, title: 'Not allowed' },
  'not-found': { status: 404, title: 'Not found' },
  'method-not-allowed': { status: 405, title: 'The path does not take this method' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  conflict: { status: 409, title: 'The resource is not in a state that allows this' },
  'key-reused': { status: 409, title: 'This idempotency key was used with another body' },
  'already-exists': { status: 409, title: 'It exists already' },
  'version-mismatch': { status: 409, title: 'The resource has changed' },
  'log-gone': { status: 410, title: 'The event log no longer holds that position' },
  'too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media': { status: 415, title: 'The body must be application/json' },
  'expectation-failed': { status: 417, title: 'The Expect header asks for what this server does not do' },
  'invalid-field': { status: 422, title: 'A field is not valid' },
  'unknown-field': { status: 422, title: 'There is no such field' },
  'unsupported-field': { status: 422, title: 'A field is not supported yet' },
  'unknown-project': { status: 422, title: 'There is no such project' },
  'unknown-tier': { status: 422, title: 'There is no such tier' },
  'too-many': { status: 429, title: 'Too many requests' },
  'headers-too-large': { status: 431, title: 'The headers or the path are too large' },
  internal: { status: 500, title: 'Something broke in Muster' },
  'outcome-unknown': { status: 503, title: 'It is not known whether this took effect' },
  unavailable: { status: 503, title: 'The service cannot answer now' },
  'node-unreachable': { status: 503, title: 'The node that has this is not connected' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problemCodes;

/** The world failed, or the request cannot be served: known to the user by code and sentence. `cause` is for the log. */
export class OperationalError extends Error {
  override readonly name = 'OperationalError';
  readonly code: ProblemCode;

  constructor(code: ProblemCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
