// Policy files: YAML or JSON, one document. Everything that is wrong is told as file:line:column, as in job files; what only
// the server can judge (names of projects, kinds of devices) too.
import { type Policy, parsePolicy } from '@muster/model';
import type { Cli } from '../cli.ts';
import { atPlace, placed } from './check.ts';
import { type FileDocument, FileProblems, parsePolicyFile, readSpecFile } from './documents.ts';

export interface PolicyFile {
  readonly document: FileDocument;
  readonly policy: Policy;
  /** What the server refuses of it is told at its place in the file. */
  located<T>(answer: Promise<T>): Promise<T>;
}

export async function readPolicy(cli: Cli, path: string): Promise<PolicyFile> {
  const file = path === '-' ? 'stdin' : path;
  const document = parsePolicyFile(await readSpecFile(path, cli.terminal.stdin), file);
  const parsed = parsePolicy(document.value);
  if (!parsed.ok) throw new FileProblems(file, placed(document, parsed.problems).slice(0, 20));
  return {
    document,
    policy: parsed.policy,
    located: (answer) =>
      answer.catch((error) => {
        throw atPlace(document, file, error);
      }),
  };
}
