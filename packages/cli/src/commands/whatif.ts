// muster whatif: what a change would do, before it is made. Nothing is changed by asking.
import type { WhatIfInput } from '@muster/client';
import type {
  WhatIfList,
  WhatIfMove,
  WhatIfPreemption,
  WhatIfStart,
  WhatIfStop,
  WhatIfView,
} from '@muster/model';
import { Command } from 'commander';
import { parse } from 'yaml';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { checkDocument } from '../spec/check.ts';
import { FileProblems, parseDocuments, readSpecFile } from '../spec/documents.ts';
import { clean } from '../text/clean.ts';
import type { Column } from '../text/table.ts';
import { wrap } from '../text/width.ts';

export function whatifCommand(cli: Cli): Command {
  return new Command('whatif')
    .summary('what a job, a drain, a loss, a quota or a policy would change')
    .description(
      'Ask what a change would do to what is decided next: who starts, who no longer does, who is preempted, and whose\n' +
        'reason to wait changes. Nothing is changed. All but "submit" need an admin of everything.',
    )
    .addCommand(submitCommand(cli))
    .addCommand(
      nodesCommand(cli, 'drain', 'new work is kept off these nodes; what runs there goes on', (nodes) => ({
        drain: nodes,
      })),
    )
    .addCommand(
      nodesCommand(cli, 'lose-node', 'these nodes are gone, and what runs there ends', (nodes) => ({
        lose: nodes,
      })),
    )
    .addCommand(
      new Command('lose-cluster')
        .description('All nodes of a cluster are gone, and what runs there ends.')
        .argument('<cluster>', 'its name')
        .action(cli.act((loseCluster: string) => ask(cli, { loseCluster }))),
    )
    .addCommand(
      new Command('add-nodes')
        .description('So many more nodes like one that is there.')
        .argument('<count>', 'how many')
        .requiredOption('--like <node>', 'the node they resemble')
        .action(
          cli.act((text: string, { like }: { like: string }) =>
            ask(cli, { addNodes: { like, count: countOf(text, 'count') } }),
          ),
        ),
    )
    .addCommand(policyCommand(cli))
    .addCommand(quotaCommand(cli));
}

function submitCommand(cli: Cli): Command {
  return new Command('submit')
    .description('The job of a file, YAML or JSON, is submitted.')
    .requiredOption('-f, --file <file>', 'the file; "-" is stdin')
    .option('--count <n>', 'so many of it', '1')
    .action(
      cli.act(async (flags: { file: string; count: string }) => {
        const file = flags.file === '-' ? 'stdin' : flags.file;
        const documents = parseDocuments(await readSpecFile(flags.file, cli.terminal.stdin), file);
        const problems = documents.flatMap(checkDocument);
        if (problems.length > 0) throw new FileProblems(file, problems.slice(0, 20));
        const [only, ...more] = documents;
        if (!only || more.length > 0) throw usage(`${file} has ${documents.length} jobs; ask about one`);
        await ask(cli, { submit: only.value, count: countOf(flags.count, '--count') });
      }),
    );
}

function nodesCommand(
  cli: Cli,
  name: string,
  what: string,
  input: (nodes: string[]) => WhatIfInput,
): Command {
  return new Command(name)
    .description(`${what[0]?.toUpperCase()}${what.slice(1)}.`)
    .argument('<node...>', 'ids or names')
    .action(cli.act((nodes: string[]) => ask(cli, input(nodes))));
}

function policyCommand(cli: Cli): Command {
  return new Command('policy')
    .description('The policy of a file, YAML or JSON, is in force instead of the present one.')
    .requiredOption('-f, --file <file>', 'the file; "-" is stdin')
    .action(
      cli.act(async ({ file }: { file: string }) => ask(cli, { policy: await readDocument(cli, file) })),
    );
}

/** One document as it is written; the server says what is wrong in it. */
export async function readDocument(cli: Cli, file: string): Promise<unknown> {
  try {
    return parse(await readSpecFile(file, cli.terminal.stdin), { maxAliasCount: 100 });
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'YAMLParseError') throw error;
    throw usage(`${file} is not YAML or JSON: ${error.message.split('\n')[0]}`);
  }
}

interface QuotaFlags {
  readonly ceiling?: string[];
  readonly userCeiling?: string[];
  readonly weight?: string;
}

function quotaCommand(cli: Cli): Command {
  return new Command('quota')
    .description('A project has another guarantee, ceiling or weight; what is not said stays as it is.')
    .argument('<project>', 'its path')
    .argument('[amount...]', 'what it is guaranteed, as gpu=16, gpu/H100=8, cpu=100, memory=2TiB or gpu=25%')
    .option('--ceiling <amount...>', 'what it never exceeds')
    .option('--user-ceiling <amount...>', 'what one user never exceeds inside it')
    .option('--weight <n>', 'its share against its siblings')
    .action(
      cli.act((project: string, guaranteed: string[], flags: QuotaFlags) => {
        const { ceiling, userCeiling, weight } = flags;
        const quota = {
          project,
          ...(guaranteed.length > 0 ? { guaranteed: amountsOf(guaranteed) } : {}),
          ...(ceiling ? { ceiling: amountsOf(ceiling) } : {}),
          ...(userCeiling ? { userCeiling: amountsOf(userCeiling) } : {}),
          ...(weight === undefined ? {} : { weight: Number(weight) }),
        };
        if (Object.keys(quota).length === 1)
          throw usage('say what would change: gpu=16, --ceiling gpu=32 or --weight 2');
        return ask(cli, { quota });
      }),
    );
}

function amountsOf(words: readonly string[]): Record<string, string | number> {
  return Object.fromEntries(
    words.map((word) => {
      const [, key, amount] = /^([^=]+)=(.+)$/.exec(word) ?? [];
      if (!key || !amount) throw usage(`"${clean(word)}" is not an amount; write it as gpu=16`);
      return [key, /^\d+(\.\d+)?$/.test(amount) ? Number(amount) : amount];
    }),
  );
}

function countOf(text: string, what: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > 1000)
    throw usage(`${what} must be a whole number from 1 to 1000`);
  return Number(text);
}

async function ask(cli: Cli, input: WhatIfInput): Promise<void> {
  const answer = await cli.client().whatIf(input);
  cli.show(answer, () => print(cli, answer));
}

function print(cli: Cli, answer: WhatIfView): void {
  const before = cli.paint('dim', `At event ${answer.sequence}, with this change:`);
  const sections = [
    section(cli, answer.stops, ['job is stopped by it', 'jobs are stopped by it'], stopColumns),
    section(cli, answer.preempts, ['job is preempted', 'jobs are preempted'], preemptColumns),
    section(
      cli,
      answer.spares,
      ['job is no longer preempted', 'jobs are no longer preempted'],
      preemptColumns,
    ),
    section(cli, answer.starts, ['job starts', 'jobs start'], startColumns),
    section(cli, answer.startsNot, ['job no longer starts', 'jobs no longer start'], startColumns),
    section(cli, answer.moves, ['job starts elsewhere', 'jobs start elsewhere'], moveColumns),
    reasons(cli, answer),
  ].filter((lines) => lines.length > 0);
  cli.line(before);
  if (sections.length === 0) cli.line('  nothing else is decided than without it');
  for (const lines of sections) for (const line of lines) cli.line(line === '' ? '' : `  ${line}`);
  if (!answer.settled)
    cli.line(
      cli.paint('yellow', `There is more to come: only the first ${answer.cycles} cycles were looked at.`),
    );
}

type Named = { readonly name: string };
type OfJob = { readonly job: string; readonly project: string };

function section<T extends OfJob>(
  cli: Cli,
  { count, items }: WhatIfList<T>,
  [one, several]: readonly [string, string],
  columns: readonly Column<T & Named>[],
): string[] {
  if (count === 0) return [];
  const hidden = count - items.length;
  const also = hidden > 0 && items.length > 0 ? `; ${hidden} of them not shown` : '';
  const title = cli.paint('bold', `${count} ${count === 1 ? one : several}${also}`);
  const lines = items.length > 0 ? cli.tableLines<T & Named>([...common(), ...columns], items) : [];
  return ['', title, ...lines.map((line) => `  ${line}`)];
}

function common<T extends OfJob & Named>(): Column<T>[] {
  return [
    { title: 'NAME', cell: ({ name }) => name, importance: 8, least: 10 },
    { title: 'JOB', cell: ({ job }) => job, importance: 9 },
    { title: 'PROJECT', cell: ({ project }) => project, importance: 6, least: 8 },
  ];
}

const startColumns: readonly Column<WhatIfStart & Named>[] = [
  { title: 'NODES', cell: ({ nodes }) => some(nodes), importance: 7, least: 8 },
];
const moveColumns: readonly Column<WhatIfMove & Named>[] = [
  { title: 'FROM', cell: ({ from }) => some(from), importance: 5, least: 8 },
  { title: 'TO', cell: ({ to }) => some(to), importance: 7, least: 8 },
];
const stopColumns: readonly Column<WhatIfStop & Named>[] = [
  { title: 'THEN', cell: ({ requeued }) => (requeued ? 'waits again' : 'ends'), importance: 7 },
];
const preemptColumns: readonly Column<WhatIfPreemption & Named>[] = [
  { title: 'FOR', cell: ({ by }) => by ?? 'another project', importance: 7 },
  { title: 'BY RIGHT OF', cell: ({ right }) => right, importance: 5 },
];

function some(names: readonly string[]): string {
  return names.length > 4 ? `${names.slice(0, 4).join(', ')} and ${names.length - 4} more` : names.join(', ');
}

function reasons(cli: Cli, { verdicts }: WhatIfView): string[] {
  if (verdicts.count === 0) return [];
  const width = (cli.width ?? Number.POSITIVE_INFINITY) - 6;
  const lines = ['', cli.paint('bold', 'Reasons to wait that change')];
  for (const { name, job, project, jobs, beforeText, afterText } of verdicts.items) {
    const also = jobs > 1 ? ` and ${jobs - 1} like it` : '';
    lines.push(`  ${clean(name)}${also} (${job}, project ${clean(project)})`);
    const texts = [`was: ${beforeText ?? 'not waiting'}`, `now: ${afterText ?? 'not looked at yet'}`];
    for (const text of texts) for (const line of wrap(clean(text), width)) lines.push(`    ${line}`);
  }
  const hidden = verdicts.count - verdicts.items.length;
  if (hidden > 0) lines.push(`  ${hidden} more, not shown`);
  return lines;
}
