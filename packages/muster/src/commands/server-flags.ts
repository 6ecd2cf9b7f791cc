// The flags of `muster server`, apart from what it does: the help must not load a server.
import type { Cli } from '@muster/cli';
import { Command, Option } from 'commander';
import { logLevels } from '../log-levels.ts';

export interface ServerFlags {
  readonly databaseUrl?: string;
  readonly dir?: string;
  readonly host?: string;
  readonly port?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly behindTlsProxy?: boolean;
  readonly publicUrl?: string;
  readonly config?: string;
  readonly adminTokenFile?: string;
  readonly logLevel?: string;
}

export function serverCommand(cli: Cli): Command {
  return new Command('server')
    .summary('run a server: API and control plane')
    .description(
      'Run a server: API and control plane. Several may run on one database; one of them leads.\n' +
        'Without a database it starts a PostgreSQL of its own below --dir. Stopping it stops no job.',
    )
    .option('--database-url <url>', 'PostgreSQL to use (or DATABASE_URL, which other users cannot see)')
    .option(
      '--dir <folder>',
      'where a database of its own lies; /var/lib/muster or ~/.local/state/muster when left out',
    )
    .option('--host <address>', 'address to listen on; 127.0.0.1 when left out')
    .option('--port <n>', 'port to listen on; 6878 when left out, 0 picks a free one')
    .option('--tls-cert <file>', 'certificate, needed on addresses other than loopback')
    .option('--tls-key <file>', 'its key; must not be readable by everybody')
    .option('--behind-tls-proxy', 'your word that a proxy in front ends TLS')
    .option('--public-url <url>', 'where others reach this server')
    .option(
      '--config <file>',
      'settings in YAML, named as the flags (databaseUrl, host, port, ...); flags win',
    )
    .option('--admin-token-file <file>', 'write the first admin token there instead of printing it')
    .addOption(new Option('--log-level <level>', 'how much to log').choices([...logLevels]))
    .action(cli.act(async (flags: ServerFlags) => (await import('./server.ts')).server(cli, flags)));
}
