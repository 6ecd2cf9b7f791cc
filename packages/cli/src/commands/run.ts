// muster run: submit one job and follow it to its end, with its output and its exit code.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { printExplanation } from '../explanation-text.ts';
import { followJob } from '../follow/follow-job.ts';
import { type RunFlags, refusedFlags, specFromFlags } from '../spec/from-flags.ts';
import { crlfScript } from '../spec/script-file.ts';
import { keyOf, submitOne } from '../submit-one.ts';
import { clean } from '../text/clean.ts';

type Flags = RunFlags & {
  readonly detach?: boolean;
  readonly hold?: boolean;
  readonly key?: string;
  readonly dryRun?: boolean;
};

const collect = (value: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  value,
];

export function runCommand(cli: Cli): Command {
  return new Command('run')
    .summary('submit a job and follow it to its end')
    .description(
      'Submit a job, follow its output and end with its exit code. Output goes to stdout, everything else to stderr.\n' +
        'Ctrl-C stops following and the job goes on; a second Ctrl-C within 5 s cancels the job.',
    )
    .usage('[flags] -- command...')
    .argument('<command...>', 'the program and its arguments; a shell sees it only when you name one')
    .option(
      '--gpus <n|model:n>',
      'devices for each task: 4, 0.5 (half of one), H100:4, alternatives H200:2,H100:4, or by property 8:memory=80GiB:interconnect=nvlink:generation=90',
    )
    .option('--tasks <n>', 'how many tasks (ranks) start together')
    .option('--cpus <n>', "cores for each task; its devices' share of the node when left out")
    .option('--memory <size>', 'memory for each task, such as 64GiB')
    .option('--name <name>', 'a short name; from the program when left out')
    .option('--title <text>', 'free text for people')
    .option('--project <path>', 'the project that pays')
    .option('--tier <name>', 'service class')
    .option('--priority <n>', 'order inside the tier, -1000 to 1000; higher first')
    .option(
      '--env <name=value>',
      'a variable for the job; a bare NAME takes the value from here, as PATH does',
      collect,
    )
    .option('--label <name=value>', 'a label to find the job by', collect)
    .option('--workdir <path>', 'working directory on the node; the present one when left out')
    .option('--time-limit <duration>', 'stop it after this long, such as 2h30m')
    .option('--stop-after <duration>', 'how long it may live without hearing from the server; or never')
    .option('--retry <n>', 'run it again up to n times when the command fails')
    .option('--array <n[%m]>', 'run it n times, with MUSTER_ARRAY_INDEX 0 to n-1, at most m at once')
    .option('--exclusive', 'no other job on the same nodes')
    .option('--hold', 'accept it but start it only after "muster release"')
    .option('-d, --detach', 'print the id and leave')
    .option('--dry-run', 'say what would happen and submit nothing')
    .option('--key <key>', 'idempotency key: the same key never makes a second job')
    .passThroughOptions()
    .action(cli.act((command: string[], flags: Flags) => run(cli, command, flags)));
}

async function run(cli: Cli, command: string[], flags: Flags): Promise<number | undefined> {
  const { terminal } = cli;
  const spec = specFromFlags(command, flags, terminal.cwd, terminal.env);
  const key = keyOf(flags.key);
  const client = cli.client();
  tellCrlf(cli, command, flags.workdir ?? terminal.cwd);
  if (flags.dryRun) {
    const considered = await client.jobs.consider(spec).catch((error) => {
      throw refusedFlags(error?.problem ?? null) ?? error;
    });
    cli.show(considered, () => {
      cli.line(considered.reason ?? 'valid; the engine has not looked at it yet');
      if (considered.explanation) printExplanation(cli, considered.explanation);
    });
    return;
  }
  const { id, repeated } = await submitOne(cli, client, spec, { key, hold: flags.hold }).catch((error) => {
    throw refusedFlags(error?.problem ?? null) ?? error;
  });
  if (flags.detach || flags.hold) {
    cli.show({ id, repeated }, () => cli.line(id));
    return;
  }
  cli.note(cli.notePaint('dim', `-- ${id} ${repeated ? 'was submitted before with this key' : 'submitted'}`));
  return followJob(cli, client, id, { output: true });
}

/** The kernel looks for an interpreter whose name ends with the CR, and all it says is "not found". */
function tellCrlf(cli: Cli, command: readonly string[], workdir: string): void {
  const script = crlfScript(command, workdir);
  if (script !== null)
    cli.note(
      `muster: warning: the lines of ${clean(script)} end with CRLF, with which no shell can run it; convert it with: sed -i 's/\\r$//' ${clean(script)}`,
    );
}
