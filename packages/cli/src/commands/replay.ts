// muster replay: makes logged decisions again and says whether they come out alike.
import { parseDurationMs, type ReplayProgress, type ReplayView } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { exit } from '../exit-codes.ts';
import { usage } from '../failure.ts';
import { readPolicy } from '../spec/policy-file.ts';
import { clean } from '../text/clean.ts';
import { localTime } from '../text/time.ts';
import { wrap } from '../text/width.ts';

interface Flags {
  readonly from?: string;
  readonly since?: string;
  readonly to?: string;
  readonly policy?: string;
  readonly policyVersion?: string;
  readonly count?: boolean;
  readonly limit?: string;
}

export function replayCommand(cli: Cli): Command {
  return new Command('replay')
    .summary('make logged decisions again and compare them')
    .description(
      'Make the decisions of the log again, from a snapshot and the events alone, and compare. Ends with 0 when all came\n' +
        'out as they were recorded, and with 1 when one did not: the first such decision is shown. Under another policy the\n' +
        'first decision that would have been another is found; what came after it would have been another history, so the\n' +
        'replay stops there, or with --count goes on from the recorded state each time. Needs an admin of everything.',
    )
    .option('--from <sequence>', 'decisions made at this event or later')
    .option('--since <time>', 'decisions of this last time, such as 30m or 2h; 1h unless --from is given')
    .option('--to <sequence>', 'decisions made at this event or before')
    .option('--policy <file>', 'decide under the policy of this file')
    .option(
      '--policy-version <n>',
      'decide under this version of the policy; "muster policy history" lists them',
    )
    .option('--count', 'with --policy or --policy-version: go on after the first difference and count')
    .option('--limit <n>', 'at most so many decisions')
    .action(cli.act((flags: Flags) => replay(cli, flags)));
}

async function replay(cli: Cli, flags: Flags): Promise<number> {
  const otherPolicy = flags.policy !== undefined || flags.policyVersion !== undefined;
  if (flags.policy !== undefined && flags.policyVersion !== undefined)
    throw usage('give --policy or --policy-version, not both');
  if (flags.count && !otherPolicy) throw usage('--count needs --policy or --policy-version');
  if (flags.from !== undefined && flags.since !== undefined) throw usage('give --from or --since, not both');
  const file = flags.policy === undefined ? null : await readPolicy(cli, flags.policy);
  const asked = {
    from: wholeOf(flags.from, '--from'),
    sinceMs: flags.from === undefined ? msOf(flags.since ?? '1h') : undefined,
    to: wholeOf(flags.to, '--to'),
    limit: wholeOf(flags.limit, '--limit'),
    ...(flags.count ? { count: true } : {}),
    policyVersion: versionOf(flags.policyVersion),
    ...(file ? { policy: file.document.value } : {}),
  };
  const abort = new AbortController();
  const heard = cli.terminal.onInterrupt(() => abort.abort());
  const progress = progressLine(cli);
  try {
    const made = cli.client().replay(asked, progress.show, { signal: abort.signal });
    const report = await (file ? file.located(made) : made);
    progress.clear();
    cli.show(report, () => print(cli, report, otherPolicy));
    return report.divergence ? exit.failed : exit.ok;
  } catch (error) {
    progress.clear();
    if (abort.signal.aborted) return exit.interrupted;
    throw error;
  } finally {
    heard();
  }
}

function versionOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw usage(`--policy-version must be a number such as 3, not "${clean(text)}"`);
  return Number(text);
}

function wholeOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw usage(`${flag} must be a whole number`);
  return Number(text);
}

function msOf(text: string): number {
  const parsed = parseDurationMs(text);
  if (!parsed.ok || parsed.value === 0)
    throw usage(`--since must be a time such as 30m or 2h, not "${clean(text)}"`);
  return parsed.value;
}

/** One line that is written over, where a person watches. */
function progressLine(cli: Cli) {
  const { stderr } = cli.terminal;
  let shown = false;
  return {
    show({ decisions, sequence, toSequence }: ReplayProgress): void {
      if (!stderr.isTTY) return;
      shown = true;
      stderr.write(`\r\x1b[K${decisions} decisions made again, at event ${sequence} of ${toSequence}`);
    },
    clear(): void {
      if (shown) stderr.write('\r\x1b[K');
    },
  };
}

function print(cli: Cli, report: ReplayView, otherPolicy: boolean): void {
  const { decisions, same, divergence, from, to, snapshot, cut } = report;
  const range = from === null ? '' : `, made at events ${from} to ${to}`;
  const under = otherPolicy ? ' under this policy' : '';
  const made = `${decisions} decision${decisions === 1 ? '' : 's'}${range}`;
  if (!divergence)
    cli.line(
      `${made}: ${decisions === 1 ? 'it comes' : 'all come'} out as ${decisions === 1 ? 'it was' : 'they were'} recorded${under}.`,
    );
  else
    cli.line(
      `${made}: ${same} come out as they were recorded${under}, ${decisions - same} ${decisions - same === 1 ? 'does' : 'do'} not.`,
    );
  const others = report.recordedVersions.filter((version) => version !== report.engineVersion);
  if (others.length > 0)
    cli.line(
      `Some were made by engine version ${others.join(', ')}; this server has ${report.engineVersion}, whose plans may differ.`,
    );
  if (divergence) different(cli, report);
  if (cut) cli.line('There are more decisions; raise --limit to see them.');
  cli.line(cli.paint('dim', `Started from the snapshot at event ${snapshot}.`));
}

function different(cli: Cli, { divergence }: ReplayView): void {
  const { decision, sequence, at, words, recorded, replayed, recordedVerdictsKnown } = divergence!;
  cli.line();
  cli.line(
    cli.paint(
      'bold',
      `The first is decision ${decision}, made at event ${sequence}, ${localTime(at, cli.nowMs)}:`,
    ),
  );
  const width = (cli.width ?? Number.POSITIVE_INFINITY) - 4;
  for (const text of words)
    for (const [i, line] of wrap(clean(text), width).entries()) cli.line(`${i === 0 ? '  ' : '    '}${line}`);
  if (words.length > 0) cli.line();
  for (const line of recorded) cli.line(cli.paint('red', `  - ${clean(line)}`));
  for (const line of replayed) cli.line(cli.paint('green', `  + ${clean(line)}`));
  if (recorded.length + replayed.length === 0)
    cli.line('  the same starts; what waiting jobs were told differs, of which the record keeps only a hash');
  else cli.line(cli.paint('dim', '  - as recorded   + as decided now'));
  if (!recordedVerdictsKnown && recorded.length + replayed.length > 0)
    cli.line(
      cli.paint('dim', '  What waiting jobs were told is not compared: the record keeps only a hash of it.'),
    );
  cli.line();
}
