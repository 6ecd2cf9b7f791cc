// What a server is told by flags, environment and file, and who said it, so that what is refused later can be blamed on a flag or on
// a line of the file.
import { readConfigFile, usage } from '@muster/cli';
import { databaseUrlRule, isDatabaseUrl } from '../database.ts';
import { defaultDir } from '../directories.ts';
import { type LogLevel, logLevels } from '../log-levels.ts';
import type { ServerFlags } from './server-flags.ts';

export interface Settings {
  readonly databaseUrl: string | undefined;
  readonly dir: string;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly behindTlsProxy: boolean;
  readonly publicUrl: string | undefined;
  readonly logLevel: LogLevel;
  /** Who said it: the flag, or `file:line: key`; nothing for what was left out. */
  readonly origins: Readonly<Partial<Record<SettingName, string>>>;
}

const isPort = (value: number): string | null =>
  Number.isInteger(value) && value >= 0 && value <= 65_535
    ? null
    : 'must be a port, 0 to 65535 (0 picks a free one)';

const known = {
  databaseUrl: {
    kind: 'text',
    secret: true,
    check: (value: string) => (isDatabaseUrl(value) ? null : databaseUrlRule),
  },
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

export type SettingName = keyof typeof known;

/** Flags win over the environment, which wins over the file. */
export function readSettings(
  flags: ServerFlags,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const { values: file, places } =
    flags.config === undefined ? { values: {}, places: {} } : readConfigFile(flags.config, known);
  const origins = { ...places, ...flagOrigins(flags) };
  const text = (name: SettingName, flag: string | undefined): string | undefined =>
    flag ?? (file[name] as string | undefined);
  const port = flags.port === undefined ? ((file.port as number | undefined) ?? 6878) : Number(flags.port);
  if (isPort(port) !== null || flags.port === '') throw usage(`--port ${isPort(Number.NaN)}`);
  const cert = text('tlsCert', flags.tlsCert);
  const key = text('tlsKey', flags.tlsKey);
  if ((cert === undefined) !== (key === undefined))
    throw usage(
      `${origins.tlsCert ?? origins.tlsKey}: TLS needs both a certificate and a key (tlsCert and tlsKey, --tls-cert and --tls-key)`,
    );
  return {
    databaseUrl: flags.databaseUrl ?? (env.DATABASE_URL || (file.databaseUrl as string | undefined)),
    dir: text('dir', flags.dir) ?? defaultDir(env, 'muster'),
    host: text('host', flags.host) ?? '127.0.0.1',
    port,
    tls: cert === undefined || key === undefined ? null : { cert, key },
    behindTlsProxy: flags.behindTlsProxy ?? (file.behindTlsProxy as boolean | undefined) ?? false,
    publicUrl: text('publicUrl', flags.publicUrl),
    logLevel: (text('logLevel', flags.logLevel) as LogLevel | undefined) ?? 'info',
    origins,
  };
}

function flagOrigins(flags: ServerFlags): Partial<Record<SettingName, string>> {
  const given: Partial<Record<SettingName, string>> = {};
  for (const name of Object.keys(known) as SettingName[])
    if (flags[name] !== undefined)
      given[name] = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return given;
}
