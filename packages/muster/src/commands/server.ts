// muster server: API and control plane, on a database. Start as many as you like on the same one.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkBind, defaultMaxBodyBytes, readTls, readTlsCert, readTlsKey } from '@muster/api';
import { type Cli, usage } from '@muster/cli';
import { OperationalError } from '@muster/model';
import { openDatabase } from '../database.ts';
import { portTrouble } from '../free-port.ts';
import { streamLog } from '../log.ts';
import { startStack } from '../stack.ts';
import { endOnBug, untilStopped } from '../stopping.ts';
import { serverVersion } from '../version.ts';
import type { ServerFlags } from './server-flags.ts';
import { readSettings, type SettingName, type Settings } from './server-settings.ts';

export async function server(cli: Cli, flags: ServerFlags): Promise<void> {
  const { terminal } = cli;
  const settings = readSettings(flags, terminal.env);
  // Everything that can be refused is refused before a database is made or the lease taken.
  await checkDoor(settings);
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

/** What is wrong is told with the flag, or the file, line and key, that said it. */
async function checkDoor({ host, port, tls, behindTlsProxy, origins }: Settings): Promise<void> {
  const blaming = async (setting: SettingName, check: () => unknown): Promise<void> => {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof OperationalError)) throw error;
      const origin = origins[setting];
      throw usage(origin === undefined ? error.message : `${origin}: ${error.message}`);
    }
  };
  await blaming('host', () => checkBind({ host, tls, behindTlsProxy }));
  if (tls) {
    await blaming('tlsCert', () => readTlsCert(tls.cert));
    await blaming('tlsKey', () => readTlsKey(tls.key));
    await blaming('tlsKey', () => readTls(tls));
  }
  const trouble = await portTrouble(host, port, 'choose another, or stop what has it');
  if (trouble !== null)
    await blaming(trouble.setting, () => {
      throw new OperationalError('unavailable', trouble.message);
    });
}

function tellAdminToken(cli: Cli, token: string, file: string | undefined): void {
  if (file !== undefined) {
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
    cli.note(`muster: this database is new; its admin token is in ${file}`);
    return;
  }
  cli.note(`muster: this database is new; its admin token, shown this once: ${token}`);
}
