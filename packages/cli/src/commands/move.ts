// muster move: let a job that runs go on elsewhere.
import type { MovedView } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { exit } from '../exit-codes.ts';
import { usage } from '../failure.ts';
import { findJob } from '../find-job.ts';
import { clean } from '../text/clean.ts';

interface MoveFlags {
  readonly to?: string;
  readonly reason?: string;
  readonly cancel?: boolean;
}

export function moveCommand(cli: Cli): Command {
  return new Command('move')
    .summary('let a running job go on in another cluster')
    .description(
      'Let a running job go on elsewhere: it is asked for a checkpoint, stopped with its grace, and started in another cluster\n' +
        'once its end is proven, as the next attempt of the same job. No retry is charged. Where it could never start, nothing is\n' +
        'stopped. Example:\n' +
        '  muster move train --to west --reason "north is being repaired"\n' +
        '  muster move train --cancel',
    )
    .argument('<job>', 'an id, the start of one, or a name')
    .option('--to <cluster>', 'where to; any other cluster when left out')
    .option('--reason <text>', 'why, for whoever wonders')
    .option('--cancel', 'take it back: the job starts wherever there is room')
    .action(
      cli.act(async (word: string, { to, reason, cancel }: MoveFlags) => {
        if (cancel && (to !== undefined || reason !== undefined))
          throw usage('--cancel takes a move back, and goes with neither --to nor --reason');
        const client = cli.client();
        const id = await findJob(client, word);
        if (cancel) {
          const job = await client.jobs.unmove(id);
          cli.show(job, () => cli.line(`${job.id} may start anywhere; it is ${job.state}`));
          return;
        }
        const answer = await client.jobs.move(id, { to, reason });
        cli.show(answer, () => {
          cli.line(`${answer.job.id} is being moved ${clean(answer.job.move?.place ?? 'elsewhere')}`);
          if (answer.waits !== null)
            cli.note(
              `it will have to wait there: ${clean(answer.waits.replace(/^waits: /, ''))}; "muster move ${answer.job.id} --cancel" takes it back`,
            );
        });
      }),
    );
}

/** What became of everything that was to leave a place. */
export function tellMoved(cli: Cli, items: readonly MovedView[]): void {
  for (const { job, moves, detail } of items)
    cli.line(
      `${job} ${moves ? 'is being moved' : 'stays'}${detail === null ? '' : `: ${clean(detail).replace(`${job} `, 'it ')}`}`,
    );
  if (items.length === 0) cli.line('nothing runs there');
}

/** 1 when something stays. */
export function movedCode(items: readonly MovedView[]): number {
  return items.every(({ moves }) => moves) ? exit.ok : exit.failed;
}
