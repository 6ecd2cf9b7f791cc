// muster policy: what is in force, how it came about, and putting another one in force. `apply` first asks what it would do.
import { MusterError } from '@muster/client';
import { type PolicyView, policyDocument, type WhatIfView } from '@muster/model';
import { Command } from 'commander';
import { stringify } from 'yaml';
import type { Cli } from '../cli.ts';
import { CliFailure, usage } from '../failure.ts';
import { type PolicyFile, readPolicy } from '../spec/policy-file.ts';
import { differences } from '../text/differences.ts';
import { ago } from '../text/time.ts';
import { whatIfLines } from '../what-if-text.ts';

export function policyCommand(cli: Cli): Command {
  return new Command('policy')
    .summary('tiers, quotas and how they are weighed: look, compare, change, go back')
    .description('Look at the policy in force, compare it with a file, put another one in force, or go back.')
    .addCommand(getCommand(cli))
    .addCommand(diffCommand(cli))
    .addCommand(applyCommand(cli))
    .addCommand(historyCommand(cli))
    .addCommand(rollbackCommand(cli));
}

const asYaml = (policy: unknown): string => stringify(policy, { aliasDuplicateObjects: false });

function getCommand(cli: Cli): Command {
  return new Command('get')
    .description('The policy in force, or an earlier version, as a file that "apply" takes.')
    .option('--version <n>', 'this version')
    .action(
      cli.act(async ({ version }: { version?: string }) => {
        const found = await versionNamed(cli, version);
        cli.show(found, () => {
          cli.line(`# version ${found.version}, ${ago(found.createdAt, cli.nowMs)} by ${found.createdBy}`);
          cli.terminal.stdout.write(asYaml(found.policy));
        });
      }),
    );
}

function versionNamed(cli: Cli, text: string | undefined): Promise<PolicyView> {
  if (text === undefined) return cli.client().policy.get();
  return cli.client().policy.version(versionOf(text));
}

function versionOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usage(`"${text}" is not a version; write a number such as 3`);
  return Number(text);
}

interface Change {
  readonly now: PolicyView;
  readonly wanted: PolicyFile;
  readonly lines: readonly string[];
}

/** What a file leaves out has its default, so it is compared when it is whole. */
async function changes(cli: Cli, file: string): Promise<Change> {
  const wanted = await readPolicy(cli, file);
  const now = await cli.client().policy.get();
  return { now, wanted, lines: differences(now.policy, policyDocument(wanted.policy)) };
}

function diffCommand(cli: Cli): Command {
  return new Command('diff')
    .description('What a file says otherwise than the policy in force.')
    .requiredOption('-f, --file <file>', 'YAML or JSON; "-" is stdin')
    .action(
      cli.act(async ({ file }: { file: string }) => {
        const { now, wanted, lines } = await changes(cli, file);
        if (lines.length > 0) await checkNames(cli, wanted);
        cli.show({ version: now.version, differences: lines }, () => {
          if (lines.length === 0) cli.line(`the same as version ${now.version}`);
          for (const line of lines) cli.line(line);
        });
      }),
    );
}

/** What "apply" would refuse is refused here; whoever may not ask what a policy would do has the differences alone. */
async function checkNames(cli: Cli, { document, located }: PolicyFile): Promise<void> {
  const asked = cli.client().whatIf({ policy: document.value });
  await located(asked).catch((error) => {
    if (!(error instanceof MusterError) || error.code !== 'forbidden') throw error;
  });
}

function applyCommand(cli: Cli): Command {
  return new Command('apply')
    .description(
      'Put the policy of a file in force. First says what would change and whom it would preempt; when somebody would be\n' +
        'preempted or stopped it goes on only with --yes.',
    )
    .requiredOption('-f, --file <file>', 'YAML or JSON; "-" is stdin')
    .option('--yes', 'even if jobs are preempted')
    .option('--dry-run', 'say what would happen and stop there')
    .action(
      cli.act(async (flags: { file: string } & PutFlags) => {
        const { now, wanted, lines } = await changes(cli, flags.file);
        const { value } = wanted.document;
        const consequences = await wanted.located(cli.client().whatIf({ policy: value }));
        await putInForce(cli, flags, {
          now,
          lines,
          consequences,
          make: () => wanted.located(cli.client().policy.put(value, now.version)),
          madeText: ({ version }) => `version ${version} is in force`,
        });
      }),
    );
}

interface PutFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

interface Put {
  readonly now: PolicyView;
  readonly lines: readonly string[];
  readonly consequences: WhatIfView;
  readonly make: () => Promise<PolicyView>;
  readonly madeText: (made: PolicyView) => string;
}

/** First says what would change and for whom. */
async function putInForce(cli: Cli, flags: PutFlags, put: Put): Promise<void> {
  const { now, lines, consequences } = put;
  tellDifferences(cli, now, lines);
  if (lines.length === 0) return cli.show(now, () => cli.line(sameText(now)));
  for (const line of whatIfLines(cli, consequences)) cli.note(line);
  const { version } = now;
  if (flags.dryRun) return cli.show({ version, differences: lines, consequences }, () => {});
  mayGoOn(consequences, flags.yes ?? false);
  const made = await put.make();
  cli.show(made, () => cli.line(put.madeText(made)));
}

function tellDifferences(cli: Cli, { version }: PolicyView, lines: readonly string[]): void {
  const differences = lines.length === 1 ? '1 difference' : `${lines.length} differences`;
  cli.note(`version ${version} is in force; ${differences}`);
  for (const line of lines) cli.note(`  ${line}`);
}

const sameText = ({ version }: PolicyView): string =>
  `version ${version} says just that; nothing was changed`;

/** Nobody loses work without a person's word. */
function mayGoOn({ preempts, stops }: WhatIfView, yes: boolean): void {
  const hit = preempts.count + stops.count;
  if (hit === 0 || yes) return;
  const jobs = hit === 1 ? '1 job' : `${hit} jobs`;
  throw new CliFailure(`${jobs} would be stopped; nothing was changed. Say --yes to go on`);
}

function historyCommand(cli: Cli): Command {
  return new Command('history').description('The versions of the policy, newest first.').action(
    cli.act(async () => {
      const page = await cli.client().policy.versions({ limit: 100 });
      cli.show(page, () =>
        cli.table<PolicyView>(
          [
            { title: 'VERSION', cell: ({ version }) => String(version), importance: 100, fixed: true },
            { title: 'MADE', cell: ({ createdAt }) => ago(createdAt, cli.nowMs), importance: 80 },
            { title: 'BY', cell: ({ createdBy }) => createdBy, importance: 60, least: 8 },
          ],
          page.items,
        ),
      );
    }),
  );
}

function rollbackCommand(cli: Cli): Command {
  return new Command('rollback')
    .description(
      'Put an earlier version in force again, as a new version. First says what would change and whom it would preempt, as\n' +
        '"apply" does.',
    )
    .argument('<version>', 'the version to go back to')
    .option('--yes', 'even if jobs are preempted')
    .option('--dry-run', 'say what would happen and stop there')
    .action(
      cli.act(async (text: string, flags: PutFlags) => {
        const back = await cli.client().policy.version(versionOf(text));
        const now = await cli.client().policy.get();
        const consequences = await cli.client().whatIf({ policy: back.policy });
        await putInForce(cli, flags, {
          now,
          lines: differences(now.policy, back.policy),
          consequences,
          make: () => cli.client().policy.rollback(versionOf(text), now.version),
          madeText: ({ version }) => `version ${version} is in force, with what version ${text} said`,
        });
      }),
    );
}
