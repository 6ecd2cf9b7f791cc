// The same check the server makes, made here first, so that every mistake in every document is told with its place in the
// file before anything is sent. Project and tier are the server's to judge.
import { MusterError } from '@muster/client';
import { type FieldProblem, type Problem, parseSpec } from '@muster/model';
import { usage } from '../failure.ts';
import type { InStream } from '../terminal.ts';
import {
  type FileDocument,
  type FileProblem,
  FileProblems,
  parseDocuments,
  readSpecFile,
  type SpecDocument,
} from './documents.ts';

const anywhere = { project: 'default', tier: 'standard', stopAfterMs: () => null };

export function checkDocument(document: SpecDocument): FileProblem[] {
  const parsed = parseSpec(document.value, anywhere);
  return parsed.ok ? [] : placed(document, parsed.problems);
}

export function placed(
  document: FileDocument,
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
export function placedProblem(document: FileDocument, problem: Problem | null): FileProblem[] | null {
  if (!problem?.errors || problem.errors.length === 0) return null;
  return placed(document, problem.errors as readonly FieldProblem[]);
}

/** The same as an error for whoever asked; another error stays as it is. */
export function atPlace(document: FileDocument, file: string, error: unknown): unknown {
  const found = error instanceof MusterError ? placedProblem(document, error.problem) : null;
  return found ? new FileProblems(file, found) : error;
}

export interface OneJob {
  readonly file: string;
  readonly document: SpecDocument;
}

/** The only job of a file, checked; "-" is stdin. */
export async function readOneJob(path: string, stdin: InStream): Promise<OneJob> {
  const file = path === '-' ? 'stdin' : path;
  const documents = parseDocuments(await readSpecFile(path, stdin), file);
  const problems = documents.flatMap(checkDocument);
  if (problems.length > 0) throw new FileProblems(file, problems.slice(0, 20));
  const [document, ...more] = documents;
  if (!document || more.length > 0) throw usage(`${file} has ${documents.length} jobs; ask about one`);
  return { file, document };
}
