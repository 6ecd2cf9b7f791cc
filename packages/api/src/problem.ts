// Every answer that is not a success is a Problem from the model's one table, sent as application/problem+json. Handlers throw
// refuse(...); the error handler at the edge is the only place that turns an error into an answer.
import {
  clip,
  type FieldProblem,
  OperationalError,
  type Problem,
  type ProblemCode,
  problemCodes,
} from '@muster/model';

export const problemMediaType = 'application/problem+json; charset=utf-8';
const maxErrors = 20;

export interface RefusalExtras {
  readonly errors?: readonly FieldProblem[];
  readonly headers?: Readonly<Record<string, string>>;
}

export class RefusedError extends OperationalError {
  readonly errors: readonly FieldProblem[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, message: string, extras: RefusalExtras = {}) {
    super(code, message);
    this.errors = extras.errors;
    this.headers = extras.headers ?? {};
  }
}

export function refuse(code: ProblemCode, message: string, extras?: RefusalExtras): RefusedError {
  return new RefusedError(code, message, extras);
}

/** One text for whatever is not there or not to be seen, so that the two cannot be told apart. */
export function notFound(what: string, id: string): RefusedError {
  return refuse('not-found', `there is no ${what} "${clip(id)}"`);
}

export function problemOf(code: ProblemCode, detail: string, errors?: readonly FieldProblem[]): Problem {
  const { status, title } = problemCodes[code];
  const base = { type: `urn:muster:problem:${code}`, title, status, code, detail };
  return errors && errors.length > 0 ? { ...base, errors: errors.slice(0, maxErrors) } : base;
}

/** A list of field problems as one refusal: the first gives the code and the sentence. */
export function fieldRefusal(problems: readonly FieldProblem[]): RefusedError {
  const { code, detail } = fieldSummary(problems);
  return refuse(code, detail, { errors: problems });
}

export function fieldSummary(problems: readonly FieldProblem[]): { code: ProblemCode; detail: string } {
  const first = problems[0];
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return {
    code: first?.code ?? 'invalid-field',
    detail: first ? `${first.path === '' ? 'the body' : first.path}: ${first.message}${more}` : 'not valid',
  };
}
