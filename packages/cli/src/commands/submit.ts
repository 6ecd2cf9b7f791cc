// muster submit: jobs from a file. Every document is checked before any is sent, and mistakes are told with their place
// in the file.
import { type ConsideredView, type MusterClient, MusterError } from '@muster/client';
import type { BatchItemView } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { exit } from '../exit-codes.ts';
import { printExplanation } from '../explanation-text.ts';
import { CliFailure } from '../failure.ts';
import { followJob } from '../follow/follow-job.ts';
import { atPlace, checkDocument, placedProblem } from '../spec/check.ts';
import {
  FileProblems,
  fileProblemText,
  parseDocuments,
  readSpecFile,
  type SpecDocument,
} from '../spec/documents.ts';
import { findOut, interruptibly, keyOf, keyOfDocument, submitOne } from '../submit-one.ts';
import { waitForJobs } from '../wait-for-jobs.ts';

interface Flags {
  readonly file: string;
  readonly dryRun?: boolean;
  readonly hold?: boolean;
  readonly wait?: boolean;
  readonly key?: string;
}

const maxProblems = 20;

export function submitCommand(cli: Cli): Command {
  return new Command('submit')
    .summary('submit jobs from a YAML or JSON file')
    .description(
      'Submit the jobs of a file, YAML or JSON, one or several documents. All are checked before any is sent;\n' +
        'mistakes are printed as file:line:column with the field and what is allowed.',
    )
    .requiredOption('-f, --file <file>', 'the file; "-" is stdin')
    .option('--dry-run', 'check and explain, submit nothing')
    .option('--hold', 'accept the jobs but start them only after "muster release"')
    .option('-w, --wait', "wait for the end; the exit code is the jobs' (one job: with its output)")
    .option('--key <key>', 'idempotency key; document n of several uses KEY-n')
    .action(cli.act((flags: Flags) => submit(cli, flags)));
}

async function submit(cli: Cli, flags: Flags): Promise<number | undefined> {
  const file = flags.file === '-' ? 'stdin' : flags.file;
  const documents = parseDocuments(await readSpecFile(flags.file, cli.terminal.stdin), file);
  const problems = documents.flatMap(checkDocument);
  if (problems.length > 0) throw new FileProblems(file, problems.slice(0, maxProblems));
  const key = keyOf(flags.key, documents.length);
  const client = cli.client();
  if (flags.dryRun) return dryRun(cli, client, documents, file);
  const [only] = documents;
  if (documents.length > 1 || !only) return submitMany(cli, client, documents, file, flags, key);
  const submitted = await submitOne(cli, client, only.value, { key, hold: flags.hold }).catch((error) => {
    throw atPlace(only, file, error);
  });
  if (!flags.wait) {
    cli.show(submitted, () => cli.line(submitted.id));
    return;
  }
  // As in run: stdout is the job's.
  cli.note(cli.notePaint('dim', `-- ${submitted.id} submitted`));
  return followJob(cli, client, submitted.id, { output: true });
}

async function dryRun(
  cli: Cli,
  client: MusterClient,
  documents: readonly SpecDocument[],
  file: string,
): Promise<number> {
  const answers: ConsideredView[] = [];
  let code: number = exit.ok;
  for (const document of documents) {
    try {
      answers.push(await client.jobs.consider(document.value));
    } catch (error) {
      const found = error instanceof MusterError ? placedProblem(document, error.problem) : null;
      if (!found) throw error;
      for (const problem of found) cli.note(`muster: ${fileProblemText(file, problem)}`);
      code = exit.failed;
    }
  }
  cli.show(answers.length === 1 ? answers[0] : { items: answers }, () => {
    for (const { spec, reason, explanation } of answers) {
      cli.line(`${spec.name}: valid; ${reason ?? 'the engine has not looked at it yet'}`);
      if (explanation) printExplanation(cli, explanation);
    }
  });
  return code;
}

async function submitMany(
  cli: Cli,
  client: MusterClient,
  documents: readonly SpecDocument[],
  file: string,
  flags: Flags,
  key: string,
): Promise<number | undefined> {
  await checkOnServer(client, documents, file);
  const jobs = documents.map((document, i) => ({
    key: keyOfDocument(key, i + 1),
    spec: document.value,
    ...(flags.hold ? { hold: true } : {}),
  }));
  const items = await interruptibly(cli, key, (signal) => client.jobs.submitBatch(jobs, { signal }));
  cli.show({ items }, () => {
    for (const item of items) if (item.ok) cli.line(item.id);
  });
  const refused = tellRefused(cli, items, documents, file, key);
  if (refused > 0) return exit.failed;
  const ids = items.flatMap((item) => (item.ok ? [item.id] : []));
  return flags.wait ? waitForJobs(cli, client, ids) : undefined;
}

/**
 * Projects and tiers are known to the server only. One job of each pair is tried there before the batch goes out, so that a
 * wrong name in one document does not leave the others half submitted.
 */
async function checkOnServer(
  client: MusterClient,
  documents: readonly SpecDocument[],
  file: string,
): Promise<void> {
  const pairs = new Map<string, SpecDocument>();
  for (const document of documents) {
    const pair = JSON.stringify([document.value.project ?? null, document.value.tier ?? null]);
    if (!pairs.has(pair)) pairs.set(pair, document);
  }
  for (const document of pairs.values())
    await client.jobs.consider(document.value).catch((error) => {
      throw atPlace(document, file, error);
    });
}

function tellRefused(
  cli: Cli,
  items: readonly BatchItemView[],
  documents: readonly SpecDocument[],
  file: string,
  key: string,
): number {
  let refused = 0;
  for (const [i, item] of items.entries()) {
    if (item.ok) continue;
    refused += 1;
    const spot = documents[i]?.spot('', 'value') ?? { line: 1, column: 1 };
    if (refused <= maxProblems)
      cli.note(`muster: ${fileProblemText(file, { ...spot, message: item.problem.detail })}`);
  }
  const unknown = items.filter((item) => !item.ok && item.problem.code === 'outcome-unknown').length;
  if (unknown > 0)
    throw new CliFailure(
      `it is not known whether ${unknown} of ${items.length} jobs were taken: ${findOut(key)}`,
      exit.unknown,
    );
  if (refused > 0 && refused < items.length)
    throw new CliFailure(
      `${items.length - refused} of ${items.length} jobs were taken and ${refused} refused; correct those and run again with --key ${key}, which submits only what is missing`,
    );
  return refused;
}
