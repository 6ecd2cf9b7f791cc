// Follows the output of some ranks of a job until their tasks ended for good (or the signal fires), printing as it comes.
import type { MusterClient } from '@muster/client';
import type { Cli } from '../cli.ts';
import { clean } from '../text/clean.ts';
import { TaskOutput } from './task-output.ts';

/** Each followed rank is a connection, and a person reads no more than this at once. */
export const maxFollowedRanks = 64;

export interface FollowLogs {
  readonly job: string;
  readonly ranks: readonly number[];
  readonly attempt?: number | undefined;
  readonly offset?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before something is printed, to take a progress line away. */
  readonly beforeOutput?: (() => void) | undefined;
}

export async function followLogs(cli: Cli, client: MusterClient, follow: FollowLogs): Promise<void> {
  await Promise.all(follow.ranks.map((rank) => followRank(cli, client, follow, rank)));
}

async function followRank(cli: Cli, client: MusterClient, follow: FollowLogs, rank: number): Promise<void> {
  const { job, ranks, attempt, offset, signal } = follow;
  const output = new TaskOutput(cli, rank, ranks.length > 1 ? Math.max(...ranks) + 1 : 1);
  const say = (text: string): void => {
    follow.beforeOutput?.();
    output.end();
    cli.note(cli.notePaint('dim', `-- ${text}`));
  };
  let told = '';
  const onReconnect = (error: Error): void => {
    // Said once for each cause, not at every try.
    if (error.message !== told)
      say(`output of rank ${rank} is interrupted: ${clean(error.message)}; trying again`);
    told = error.message;
  };
  let current: number | null = null;
  for await (const event of client.jobs.followLogs(job, { rank, attempt, offset }, { signal, onReconnect })) {
    told = '';
    if (event.kind === 'output') {
      follow.beforeOutput?.();
      output.write(event.data);
      await cli.drained();
    } else if (event.kind === 'dropped')
      say(`rank ${rank}: output before byte ${event.offset} was dropped by its limit`);
    else if (event.kind === 'attempt') {
      if (current !== null && event.attempt !== current)
        say(`rank ${rank}: attempt ${event.attempt} on ${clean(event.node)}`);
      current = event.attempt;
    }
  }
  output.end();
}
