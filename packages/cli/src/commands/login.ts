// muster login: remember a server and a token under a name. The token comes from a prompt without echo, from stdin or from a
// file, never from the command line, where other users of the machine could read it.
import { resolve } from 'node:path';
import { createClient } from '@muster/client';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { checkedToken, isLoopback, readTokenFile, serverUrl } from '../profile/connection.ts';
import { rememberProfile } from '../profile/profile-file.ts';
import { trust } from '../profile/trust.ts';
import { readSecret } from '../read-secret.ts';
import { clean } from '../text/clean.ts';

interface Flags {
  readonly profile?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
}

export function loginCommand(cli: Cli): Command {
  return new Command('login')
    .summary('remember a server and a token')
    .description(
      'Remember a server and a token, as a profile. The token is asked for without echo, or read from stdin or a file;\n' +
        'it is tried at the server and kept in a file that only you can read.',
    )
    .argument('<url>', 'the server, such as https://muster.example.org')
    .option('--profile <name>', 'the name to keep it under; "default" when left out')
    .option('--token-file <path>', 'file with the token ("-" is stdin)')
    .option(
      '--ca-file <path>',
      "certificate of the authority that signed the server's, when the system does not know it",
    )
    .action(cli.act((url: string, flags: Flags) => login(cli, url, flags)));
}

async function login(cli: Cli, url: string, flags: Flags): Promise<void> {
  const server = serverUrl(url);
  const name = flags.profile ?? cli.globals.profile ?? 'default';
  if (!/^[\w.-]{1,63}$/.test(name))
    throw usage(`"${clean(name)}" is no name for a profile: use letters, digits, ".", "_" and "-"`);
  if (server.startsWith('http:') && !isLoopback(server))
    cli.note(`muster: warning: ${server} is not encrypted; whoever is on the way can read the token`);
  const token =
    flags.tokenFile && flags.tokenFile !== '-' ? readTokenFile(flags.tokenFile) : await askToken(cli, server);
  const caFile = flags.caFile ?? cli.terminal.env.MUSTER_CA_FILE;
  trust(server, caFile ?? null);
  const who = await createClient({ url: server, token, tries: 2 }).whoami();
  const path = rememberProfile(cli.terminal.env, name, {
    server,
    token,
    ...(caFile ? { caFile: resolve(cli.terminal.cwd, caFile) } : {}),
  });
  cli.show(who, () => {
    cli.line(
      `Logged in to ${server} as ${clean(who.name)} (${who.role}${who.project === null ? '' : ` of ${who.project}`}).`,
    );
    cli.note(`profile ${name} is now the current one; kept in ${path}`);
  });
}

async function askToken(cli: Cli, server: string): Promise<string> {
  const { stdin, stderr } = cli.terminal;
  if (stdin.isTTY && stdin.setRawMode)
    return checkedToken(await readSecret(cli.terminal, `Token for ${server}: `), 'what you typed');
  let text = '';
  for await (const piece of stdin) {
    text += typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8');
    if (text.length > 65_536) throw usage('stdin is too long to be a token');
  }
  if (text.trim() === '' && stderr.isTTY)
    throw usage('there is no token on stdin and no terminal to ask at; use --token-file');
  return checkedToken(text.trim(), 'stdin');
}
