// The same check the server makes, made here first, so that every mistake in every document is told with its place in the
// file before anything is sent. Project and tier are the server's to judge.
import { type FieldProblem, type Problem, parseSpec } from '@muster/model';
import type { FileProblem, SpecDocument } from './documents.ts';

const anywhere = { project: 'default', tier: 'standard', stopAfterMs: () => null };

export function checkDocument(document: SpecDocument): FileProblem[] {
  const parsed = parseSpec(document.value, anywhere);
  return parsed.ok ? [] : placed(document, parsed.problems);
}

export function placed(
  document: SpecDocument,
  problems: readonly Pick<FieldProblem, 'path' | 'message' | 'code'>[],
): FileProblem[] {
  const placedOnes = problems.map(({ path, message, code }) => {
    // An unknown field is named in its message already; its pointer would say it twice.
    const unknownAtTop = code === 'unknown-field' && path.lastIndexOf('/') <= 0;
    return {
      ...document.spot(path, code === 'unknown-field' ? 'name' : 'value'),
      message: path === '' || unknownAtTop ? message : `${path}: ${message}`,
    };
  });
  return placedOnes.sort((a, b) => a.line - b.line || a.column - b.column);
}

/** A server's refusal of a document, at the places it names; null when it names none. */
export function placedProblem(document: SpecDocument, problem: Problem | null): FileProblem[] | null {
  if (!problem?.errors || problem.errors.length === 0) return null;
  return placed(document, problem.errors as readonly FieldProblem[]);
}
