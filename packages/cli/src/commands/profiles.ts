// muster profiles: the servers this user has logged in to.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { named } from '../profile/connection.ts';
import { loadProfiles, saveProfiles } from '../profile/profile-file.ts';

interface Row {
  readonly name: string;
  readonly server: string;
  readonly current: boolean;
}

export function profilesCommand(cli: Cli): Command {
  const list = cli.act(async () => listProfiles(cli));
  return new Command('profiles')
    .summary('list servers you logged in to, and choose one')
    .description('List the saved servers, choose the one that commands talk to, or forget one.')
    .action(list)
    .addCommand(new Command('list').summary('list them').description('List the profiles.').action(list))
    .addCommand(
      new Command('use')
        .summary('choose one')
        .description('Choose the profile that commands use from now on.')
        .argument('<name>')
        .action(cli.act(async (name: string) => useProfile(cli, name))),
    )
    .addCommand(
      new Command('remove')
        .summary('forget one')
        .description(
          'Forget a profile and its token. The token itself stays valid: see "muster tokens revoke".',
        )
        .argument('<name>')
        .action(cli.act(async (name: string) => removeProfile(cli, name))),
    );
}

function listProfiles(cli: Cli): void {
  const file = loadProfiles(cli.terminal.env);
  const rows: Row[] = Object.entries(file.profiles).map(([name, { server }]) => ({
    name,
    server,
    current: name === file.current,
  }));
  cli.show({ items: rows }, () => {
    if (rows.length === 0) return cli.line('There is none yet: "muster up" or "muster login URL" makes one.');
    cli.table<Row>(
      [
        { title: ' ', cell: ({ current }) => (current ? '*' : ''), importance: 100, fixed: true },
        { title: 'PROFILE', cell: ({ name }) => name, importance: 90, fixed: true },
        { title: 'SERVER', cell: ({ server }) => server, importance: 80, least: 20 },
      ],
      rows,
    );
  });
}

function useProfile(cli: Cli, name: string): void {
  const file = loadProfiles(cli.terminal.env);
  const { server } = named(file, name);
  saveProfiles(cli.terminal.env, { ...file, current: name });
  cli.line(`Commands now talk to ${server} (profile ${name}).`);
}

function removeProfile(cli: Cli, name: string): void {
  const file = loadProfiles(cli.terminal.env);
  named(file, name);
  const { [name]: _, ...profiles } = file.profiles;
  saveProfiles(cli.terminal.env, { current: file.current === name ? null : file.current, profiles });
  cli.line(`Profile ${name} is forgotten.`);
}
