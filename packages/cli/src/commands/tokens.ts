// muster tokens: who may talk to the server. A token's text is shown once, on stdout, when it is made.
import type { Role, TokenView } from '@muster/model';
import { Command, Option } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { inFlags } from '../spec/from-flags.ts';
import { clean } from '../text/clean.ts';
import { ago } from '../text/time.ts';

interface Flags {
  readonly name: string;
  readonly role: Role;
  readonly project?: string;
  readonly expiresIn?: string;
}

export function tokensCommand(cli: Cli): Command {
  const list = cli.act(async () => {
    const page = await cli.client().tokens.list({ limit: 1000 });
    cli.show(page, () => cli.table(columns(cli), page.items));
  });
  return new Command('tokens')
    .summary('list tokens, create and revoke them')
    .description('List the tokens within your scope, create one, or revoke one.')
    .action(list)
    .addCommand(new Command('list').summary('list them').description('List the tokens.').action(list))
    .addCommand(createCommand(cli))
    .addCommand(
      new Command('revoke')
        .summary('make one invalid')
        .description('Make a token invalid, on every server within seconds.')
        .argument('<id>', 'its id, tok_…')
        .action(
          cli.act(async (id: string) => {
            // Asked before anything is sent: the text of a token has no business in a URL.
            if (!id.startsWith('tok_'))
              throw usage(
                `${/^ms[ter]_/.test(id) ? 'that is the text of a token, and was not sent' : `"${clean(id)}" is no token's id`}; give its id, tok_..., as "muster tokens" lists it`,
              );
            const token = await cli.client().tokens.revoke(id);
            cli.show(token, () => cli.line(`${token.id} (${clean(token.name)}) is revoked`));
          }),
        ),
    );
}

function createCommand(cli: Cli): Command {
  return new Command('create')
    .summary('make one')
    .description('Make a token with at most your own rights. Its text is shown once, on stdout.')
    .argument('<name>', 'what it is for')
    .addOption(
      new Option('--role <role>', 'what it may do').choices(['viewer', 'member', 'admin']).default('member'),
    )
    .option('--project <path>', 'for this project and those below; your own scope when left out')
    .option('--expires-in <duration>', 'how long it is good for, such as 30d')
    .action(
      cli.act(async (name: string, flags: Omit<Flags, 'name'>) => {
        const { role, project, expiresIn } = flags;
        const made = await cli.client().tokens.create({ name, role, project, expiresIn }).catch(inFlags);
        cli.show(made, () => {
          cli.line(made.token);
          cli.note(`${made.id}: keep the text now, it is not shown again`);
        });
      }),
    );
}

function columns(cli: Cli): Column[] {
  return [
    { title: 'TOKEN', cell: ({ id }) => id, importance: 100, fixed: true },
    { title: 'NAME', cell: ({ name }) => name, importance: 90, least: 10 },
    { title: 'ROLE', cell: ({ role }) => role, importance: 80 },
    { title: 'PROJECT', cell: ({ project }) => project ?? '(all)', importance: 60, least: 8 },
    { title: 'USED', cell: ({ lastUsedAt }) => ago(lastUsedAt, cli.nowMs), importance: 50 },
    { title: 'EXPIRES', cell: ({ expiresAt }) => ago(expiresAt, cli.nowMs), importance: 40 },
    { title: 'REVOKED', cell: ({ revokedAt }) => ago(revokedAt, cli.nowMs), importance: 45 },
    { title: 'CREATED', cell: ({ createdAt }) => ago(createdAt, cli.nowMs), importance: 20 },
    { title: 'BY', cell: ({ createdBy }) => createdBy, importance: 10, least: 6 },
  ];
}

type Column = import('../text/table.ts').Column<TokenView>;
