// muster server: API and control plane, on a database. Start as many as you like on the same one.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkBind, defaultMaxBodyBytes, readTls } from '@muster/api';
import { type Cli, readConfigFile, usage } from '@muster/cli';
import { openDatabase } from '../database.ts';
import { defaultDir } from '../directories.ts';
import { requireFreePort } from '../free-port.ts';
import { streamLog } from '../log.ts';
import { type LogLevel, logLevels } from '../log-levels.ts';
import { startStack } from '../stack.ts';
import { endOnBug, untilStopped } from '../stopping.ts';
import { serverVersion } from '../version.ts';
import type { ServerFlags } from './server-flags.ts';

export async function server(cli: Cli, flags: ServerFlags): Promise<void> {
  const { terminal } = cli;
  const settings = readSettings(flags, terminal.env);
  // Everything that can be refused is refused before a database is made or the lease taken.
  checkBind(settings);
  await readTls(settings.tls);
  await requireFreePort(settings.host, settings.port, 'choose another with --port, or stop what has it');
  const log = streamLog(terminal.stdout, settings.logLevel);
  const database = await openDatabase(settings.databaseUrl, join(settings.dir, 'db'), (line) =>
    log.info({}, line),
  );
  const stopped = untilStopped(cli, 'muster: stopping at once');
  try {
    const stack = await startStack({
      databaseUrl: database.url,
      api: {
        host: settings.host,
        port: settings.port,
        tls: settings.tls,
        behindTlsProxy: settings.behindTlsProxy,
        maxBodyBytes: defaultMaxBodyBytes,
        ...(settings.publicUrl === undefined ? {} : { publicUrl: settings.publicUrl }),
      },
      version: serverVersion(),
      log,
      onBug: endOnBug(log),
    });
    if (stack.adminToken !== null) tellAdminToken(cli, stack.adminToken, flags.adminTokenFile);
    const signal = await stopped;
    log.info({ signal }, 'stopping; running jobs go on');
    await stack.stop();
  } finally {
    await database.stop();
  }
}

function tellAdminToken(cli: Cli, token: string, file: string | undefined): void {
  if (file !== undefined) {
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
    cli.note(`muster: this database is new; its admin token is in ${file}`);
    return;
  }
  cli.note(`muster: this database is new; its admin token, shown this once: ${token}`);
}

interface Settings {
  readonly databaseUrl: string | undefined;
  readonly dir: string;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly behindTlsProxy: boolean;
  readonly publicUrl: string | undefined;
  readonly logLevel: LogLevel;
}

const isPort = (value: number): string | null =>
  Number.isInteger(value) && value >= 0 && value <= 65_535
    ? null
    : 'must be a port, 0 to 65535 (0 picks a free one)';

const known = {
  databaseUrl: { kind: 'text', secret: true },
  dir: { kind: 'text' },
  host: { kind: 'text' },
  port: { kind: 'number', check: isPort },
  tlsCert: { kind: 'text' },
  tlsKey: { kind: 'text' },
  behindTlsProxy: { kind: 'flag' },
  publicUrl: {
    kind: 'text',
    check: (value: string) =>
      URL.canParse(value) ? null : 'must be an address such as https://muster.example.org',
  },
  logLevel: {
    kind: 'text',
    check: (value: string) =>
      (logLevels as readonly string[]).includes(value) ? null : `must be one of ${logLevels.join(', ')}`,
  },
} as const;

/** Flags win over the environment, which wins over the file. */
export function readSettings(
  flags: ServerFlags,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const file = flags.config === undefined ? {} : readConfigFile(flags.config, known);
  const text = (name: keyof typeof known, flag: string | undefined): string | undefined =>
    flag ?? (file[name] as string | undefined);
  const port = flags.port === undefined ? ((file.port as number | undefined) ?? 6878) : Number(flags.port);
  if (isPort(port) !== null || flags.port === '') throw usage(`--port ${isPort(Number.NaN)}`);
  const cert = text('tlsCert', flags.tlsCert);
  const key = text('tlsKey', flags.tlsKey);
  if ((cert === undefined) !== (key === undefined))
    throw usage('TLS needs both a certificate and a key: --tls-cert and --tls-key');
  return {
    databaseUrl: flags.databaseUrl ?? (env.DATABASE_URL || (file.databaseUrl as string | undefined)),
    dir: text('dir', flags.dir) ?? defaultDir(env, 'muster'),
    host: text('host', flags.host) ?? '127.0.0.1',
    port,
    tls: cert === undefined || key === undefined ? null : { cert, key },
    behindTlsProxy: flags.behindTlsProxy ?? (file.behindTlsProxy as boolean | undefined) ?? false,
    publicUrl: text('publicUrl', flags.publicUrl),
    logLevel: (text('logLevel', flags.logLevel) as LogLevel | undefined) ?? 'info',
  };
}
