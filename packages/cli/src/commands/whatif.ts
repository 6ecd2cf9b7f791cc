// muster whatif: what a change would do, before it is made. Nothing is changed by asking.
import type { WhatIfInput } from '@muster/client';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { atPlace, readOneJob } from '../spec/check.ts';
import { readPolicy } from '../spec/policy-file.ts';
import { clean } from '../text/clean.ts';
import { whatIfLines } from '../what-if-text.ts';

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
        const count = countOf(flags.count, '--count');
        const { file, document } = await readOneJob(flags.file, cli.terminal.stdin);
        await ask(cli, { submit: document.value, count }).catch((error) => {
          throw atPlace(document, file, error);
        });
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
      cli.act(async (flags: { file: string }) => {
        const { document, located } = await readPolicy(cli, flags.file);
        await located(ask(cli, { policy: document.value }));
      }),
    );
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
          ...(weight === undefined ? {} : { weight: weightOf(weight) }),
        };
        if (Object.keys(quota).length === 1)
          throw usage('say what would change: gpu=16, --ceiling gpu=32 or --weight 2');
        return ask(cli, { quota });
      }),
    );
}

function weightOf(text: string): number {
  if (!/^\d{1,7}(\.\d{1,3})?$/.test(text))
    throw usage(`--weight must be a number such as 2, not "${clean(text)}"`);
  return Number(text);
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
  cli.show(answer, () => {
    for (const line of whatIfLines(cli, answer)) cli.line(line);
  });
}
