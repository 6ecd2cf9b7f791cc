// Job files: YAML or JSON, one or several documents. Everything that is wrong is told as file:line:column, all of it at once.
// The file is capped, aliases are limited (a few hundred bytes of them can stand for gigabytes), and a key given twice is an error.
import { createReadStream } from 'node:fs';
import type { JobSpecInput } from '@muster/model';
import { Composer, type Document, isMap, isScalar, LineCounter, Parser, visit } from 'yaml';
import { CliFailure, usage } from '../failure.ts';
import type { InStream } from '../terminal.ts';
import { clean } from '../text/clean.ts';
import { whyUnreadable } from '../unreadable.ts';
import { type Part, place, type Spot } from './place.ts';

export const maxFileBytes = 10 * 1024 * 1024;
/** The API takes this many in one request. */
export const maxJobs = 10_000;
const maxAliases = 100;
const maxDepth = 100;

export interface FileDocument {
  readonly value: unknown;
  /** Where in the file a JSON pointer of this document is written. */
  readonly spot: (pointer: string, part: Part) => Spot;
}

export interface SpecDocument extends FileDocument {
  readonly value: JobSpecInput;
}

/** What a file holds, for the sentences about it. */
interface Content {
  readonly word: string;
  readonly example: string;
  readonly empty: string;
}

const jobContent: Content = {
  word: 'job',
  example: 'command: [python, train.py]',
  empty: 'there is no job in it; write at least a command',
};

const policyContent: Content = {
  word: 'policy',
  example: 'defaultTier: standard',
  empty: 'there is nothing in it; "muster policy get" prints the one in force',
};

const clusterContent: Content = {
  word: 'cluster',
  example: 'kind: slurm',
  empty: 'there is nothing in it; write at least a kind, such as "kind: slurm"',
};

export interface FileProblem extends Spot {
  readonly message: string;
}

/** `file:line:column: message`, as compilers write it, so that editors can jump there. */
export function fileProblemText(file: string, { line, column, message }: FileProblem): string {
  return `${file}:${line}:${column}: ${clean(message)}`;
}

export class FileProblems extends CliFailure {
  readonly lines: readonly string[];

  constructor(file: string, problems: readonly FileProblem[]) {
    const lines = problems.map((problem) => fileProblemText(file, problem));
    super(lines.join('\nmuster: '));
    this.lines = lines;
  }
}

export async function readSpecFile(path: string, stdin: InStream): Promise<string> {
  const name = path === '-' ? 'stdin' : path;
  const source: AsyncIterable<Uint8Array | string> = path === '-' ? stdin : createReadStream(path);
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of source) {
      bytes += piece.length;
      if (bytes > maxFileBytes)
        throw usage(`${name} is larger than ${maxFileBytes / 1024 / 1024} MiB; split it into several files`);
      pieces.push(Buffer.from(piece));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw usage(`cannot read ${name}: ${whyUnreadable(error)}`);
  }
  return decoded(Buffer.concat(pieces), name);
}

function decoded(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CliFailure(`${name} is not UTF-8 text`);
  }
}

export function parseDocuments(text: string, file: string): SpecDocument[] {
  return parsed(text, file, jobContent) as SpecDocument[];
}

/** The only document of a file with a policy. */
export function parsePolicyFile(text: string, file: string): FileDocument {
  return onlyOne(text, file, policyContent);
}

/** The only document of a file with the configuration of a cluster. */
export function parseClusterFile(text: string, file: string): FileDocument {
  return onlyOne(text, file, clusterContent);
}

function onlyOne(text: string, file: string, content: Content): FileDocument {
  const [only, ...more] = parsed(text, file, content);
  if (!only || more.length > 0)
    throw usage(`${file} has ${more.length + 1} documents; a ${content.word} is one`);
  return only;
}

function parsed(text: string, file: string, content: Content): FileDocument[] {
  const lines = new LineCounter();
  const documents = composed(text, file, lines);
  const spotAt = (offset: number): Spot => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const found = documents.flatMap((document) => syntaxProblems(document, content, spotAt));
  if (found.length > 0) throw new FileProblems(file, found.slice(0, 20));
  // A trailing "---" makes an empty document; it asks for nothing.
  const filled = documents.filter((document) => !isEmpty(document));
  if (filled.length === 0) throw new FileProblems(file, [{ line: 1, column: 1, message: content.empty }]);
  return filled.map((document) => ({
    value: document.toJS({ maxAliasCount: maxAliases }),
    spot: (pointer, part) => place(document, pointer, part, spotAt),
  }));
}

/** One document after the other, so that a file of a million jobs is refused at the first that is too many. */
function composed(text: string, file: string, lines: LineCounter): Document.Parsed[] {
  // The parser's own check for double keys takes quadratic time; ours is in shapeProblems.
  const composer = new Composer({ lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const documents: Document.Parsed[] = [];
  let jobs = 0;
  for (const document of composer.compose(new Parser(lines.addNewLine).parse(text))) {
    documents.push(document as Document.Parsed);
    if (!isEmpty(document)) jobs++;
    if (jobs > maxJobs)
      throw usage(
        `${file}:${lines.linePos(document.contents?.range?.[0] ?? 0).line}: is job ${jobs}; at most ${maxJobs} at once, so split the file`,
      );
  }
  return documents;
}

function isEmpty({ contents }: Document): boolean {
  return contents === null || (isScalar(contents) && contents.value === null);
}

function syntaxProblems(
  document: Document.Parsed,
  content: Content,
  spotAt: (offset: number) => Spot,
): FileProblem[] {
  const errors = [...document.errors, ...document.warnings].map((error) => ({
    ...spotAt(error.pos[0]),
    message: syntaxText(error.code, error.message),
  }));
  // What the parser says after its first error on a line is mostly an echo of it.
  if (errors.length > 0)
    return errors.filter(({ line }, i) => errors.findIndex((error) => error.line === line) === i);
  const shape = shapeProblems(document, content, spotAt);
  if (shape.length > 0) return shape;
  try {
    document.toJS({ maxAliasCount: maxAliases });
    return [];
  } catch {
    return [
      { line: 1, column: 1, message: `its aliases expand too far; at most ${maxAliases} are followed` },
    ];
  }
}

function syntaxText(code: string, message: string): string {
  if (message.startsWith('Maximum call stack')) return `is nested deeper than ${maxDepth} levels`;
  if (code === 'TAB_AS_INDENT') return 'a tab is used to indent; YAML takes spaces only';
  return message.split('\n')[0] ?? message;
}

function shapeProblems(
  document: Document.Parsed,
  { word, example }: Content,
  spotAt: (offset: number) => Spot,
): FileProblem[] {
  const problems: FileProblem[] = [];
  visit(document, {
    Map(_, map, path) {
      if (path.length > maxDepth * 2) {
        problems.push({
          ...spotAt(map.range?.[0] ?? 0),
          message: `is nested deeper than ${maxDepth} levels`,
        });
        return visit.BREAK;
      }
      const seen = new Set<string>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (seen.has(name))
          problems.push({ ...spotAt(key.range?.[0] ?? 0), message: `the key "${name}" is given twice` });
        seen.add(name);
      }
      return undefined;
    },
    Seq(_, seq, path) {
      if (path.length <= maxDepth * 2) return undefined;
      problems.push({ ...spotAt(seq.range?.[0] ?? 0), message: `is nested deeper than ${maxDepth} levels` });
      return visit.BREAK;
    },
  });
  if (problems.length === 0 && !isMap(document.contents) && !isEmpty(document))
    problems.push({
      ...spotAt(document.contents?.range?.[0] ?? 0),
      message: `a ${word} is a mapping of fields, such as "${example}"`,
    });
  return problems;
}
