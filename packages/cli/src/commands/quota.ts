// muster quota: who is guaranteed, holds, borrows and lends what.
import { amountText, type LedgerLine, type LedgerView, type Loan } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';

export function quotaCommand(cli: Cli): Command {
  return new Command('quota')
    .summary('what projects are guaranteed, hold, borrow and lend')
    .description(
      'What each project is guaranteed, holds, borrows and lends, by resource, and who lent to whom.',
    )
    .argument('[project]', 'only this project and those below it')
    .action(
      cli.act(async (project: string | undefined) => {
        const ledger = await cli.client().quota(project);
        cli.show(ledger, () => render(cli, ledger));
      }),
    );
}

function render(cli: Cli, { lines, loans, projects, guaranteedKeys }: LedgerView): void {
  if (lines.length === 0) {
    cli.line('No quota is set and nothing is in use.');
    return;
  }
  const shares = new Map(projects.map((each) => [each.project, each]));
  const amount = (key: string, value: number | null) =>
    value === null ? '-' : amountText(key, value).replace(` ${key}`, '');
  const column = (title: string, importance: number, value: (line: LedgerLine) => number | null) => ({
    title,
    cell: (line: LedgerLine) => amount(line.key, value(line)),
    align: 'right' as const,
    importance,
  });
  cli.table<LedgerLine>(
    [
      { title: 'PROJECT', cell: ({ project }) => project, importance: 100, least: 16, fixed: true },
      { title: 'RESOURCE', cell: ({ key }) => key, importance: 99, fixed: true },
      column('GUARANTEED', 90, (line) => line.guaranteed),
      column('CEILING', 60, (line) => line.ceiling),
      column('IN USE', 95, (line) => line.use),
      // What nobody is guaranteed cannot be asked back.
      column('BORROWED', 80, (line) => (guaranteedKeys.includes(line.key) ? line.borrowed : null)),
      column('LENT', 70, (line) => line.lent),
      column('PAST', 30, (line) => line.past),
      {
        title: 'SHARE',
        cell: ({ project }) => `${((shares.get(project)?.share ?? 0) / 10_000).toFixed(2)}%`,
        align: 'right',
        importance: 40,
      },
      {
        title: 'WAITING',
        cell: ({ project }) => String(shares.get(project)?.waiting ?? 0),
        align: 'right',
        importance: 50,
      },
    ],
    lines,
  );
  for (const loan of loans.filter(({ from }) => from !== null)) cli.line(loanText(loan));
}

function loanText({ key, from, to, amount }: Loan): string {
  return `${to} uses ${amountText(key, amount)} that ${from} is guaranteed`;
}
