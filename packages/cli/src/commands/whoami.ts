// muster whoami: which server, which token, what it may do.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { clean } from '../text/clean.ts';
import { ago } from '../text/time.ts';

export function whoamiCommand(cli: Cli): Command {
  return new Command('whoami')
    .summary('who you are to the server')
    .description('Which server you talk to, as whom, and what that may do.')
    .action(
      cli.act(async () => {
        const { server, profile } = cli.connection();
        const who = await cli.client().whoami();
        cli.show(who, () => {
          const scope = who.project === null ? 'all projects' : `project ${who.project}`;
          cli.line(
            `${clean(who.name)} (${who.role}, ${scope}) at ${server}${profile === null ? '' : `, profile ${profile}`}`,
          );
          if (who.expiresAt) cli.line(`the token expires ${ago(who.expiresAt, cli.nowMs)}`);
        });
      }),
    );
}
