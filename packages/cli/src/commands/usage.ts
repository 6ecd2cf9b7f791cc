// muster usage: what was used in a period, and what it costs.
import type { UsageLine } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';

export function usageCommand(cli: Cli): Command {
  return new Command('usage')
    .summary('what projects and users used in a period, and what it costs')
    .description(
      'What was used in a period, by project, user, tier and resource: device-hours, core-hours, GiB-hours, and their price by\nthe policy in force. It goes back as far as ended runs are kept.',
    )
    .argument('[project]', 'only this project and those below it')
    .option('--since <when>', 'start: how long ago, such as 7d, or an RFC 3339 time', '30d')
    .option('--until <when>', 'end; now when left out')
    .action(
      cli.act(async (project: string | undefined, flags: { since: string; until?: string }) => {
        const period = { since: flags.since, ...(flags.until ? { until: flags.until } : {}) };
        const usage = await cli.client().usage({ ...period, ...(project ? { project } : {}) });
        cli.show(usage, () => {
          if (usage.lines.length === 0) return cli.line('Nothing was used in that time.');
          cli.table<UsageLine>(
            [
              {
                title: 'PROJECT',
                cell: ({ project: path }) => path,
                importance: 100,
                least: 16,
                fixed: true,
              },
              { title: 'USER', cell: ({ user }) => user, importance: 80, least: 8 },
              { title: 'TIER', cell: ({ tier }) => tier, importance: 50 },
              { title: 'RESOURCE', cell: ({ key }) => key, importance: 99, fixed: true },
              { title: 'HOURS', cell: ({ hours }) => hours.toFixed(3), align: 'right', importance: 95 },
              { title: 'RUNS', cell: ({ runs }) => String(runs), align: 'right', importance: 60 },
              {
                title: 'COST',
                cell: ({ cost }) => (cost === null ? '' : cost.toFixed(2)),
                align: 'right',
                importance: 70,
              },
            ],
            usage.lines,
          );
        });
      }),
    );
}
