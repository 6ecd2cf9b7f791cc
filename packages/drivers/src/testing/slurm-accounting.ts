// Accounting for a test's Slurm: slurmdbd and a MariaDB in the directory of that Slurm, on ports of their own.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemPath } from './components.ts';
import type { Daemon, StartedDaemon } from './daemon.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';

const run = promisify(execFile);

export const accountingPrograms = [
  'slurmdbd',
  'sacct',
  'sacctmgr',
  'mariadbd',
  'mariadb-install-db',
  'mariadb',
];

export interface TestAccounting {
  readonly slurmdbd: Daemon;
  /** Both, and until the cluster is known there. */
  start(command: (program: string, ...args: string[]) => Promise<string>): Promise<void>;
}

type MakeDaemon = (name: string, program: string, ...args: string[]) => StartedDaemon;

export async function writeAccounting(dir: string): Promise<{
  /** For slurm.conf. */
  readonly lines: readonly string[];
  readonly daemons: (daemon: MakeDaemon) => TestAccounting;
}> {
  const [databasePort, port] = [await freePort(), await freePort()];
  const host = hostname().split('.')[0];
  const data = join(dir, 'mariadb');
  const socket = join(dir, 'mariadb.sock');
  const settings = [
    'AuthType=auth/munge',
    `AuthInfo=socket=${dir}/munge/socket`,
    `DbdHost=${host}`,
    'DbdAddr=127.0.0.1',
    `DbdPort=${port}`,
    'SlurmUser=root',
    'StorageType=accounting_storage/mysql',
    'StorageHost=127.0.0.1',
    `StoragePort=${databasePort}`,
    'StorageUser=slurm',
    'StorageLoc=slurm',
    `LogFile=${dir}/slurmdbd.log`,
    `PidFile=${dir}/slurmdbd.pid`,
  ];
  writeFileSync(join(dir, 'slurmdbd.conf'), `${settings.join('\n')}\n`, { mode: 0o600 });
  const lines = [
    'AccountingStorageType=accounting_storage/slurmdbd',
    'AccountingStorageHost=127.0.0.1',
    `AccountingStoragePort=${port}`,
    // With munge this is its socket.
    `AccountingStoragePass=${dir}/munge/socket`,
    'MinJobAge=2',
  ];
  const env = { PATH: systemPath };

  async function startDatabase(mariadb: StartedDaemon): Promise<void> {
    const how = [
      '--no-defaults',
      '--skip-test-db',
      '--auth-root-authentication-method=normal',
      '--user=root',
    ];
    await run('mariadb-install-db', [...how, `--datadir=${data}`], { env });
    mariadb.start();
    const sql = (text: string): Promise<unknown> =>
      run('mariadb', ['--no-defaults', `--socket=${socket}`, '--user=root', '--execute', text], { env });
    await eventually(
      `MariaDB answers (logs in ${dir})`,
      60_000,
      async () => (await sql('select 1')) !== null,
    );
    await sql("create user slurm@'%'; grant all on slurm.* to slurm@'%'");
  }

  return {
    lines,
    daemons(daemon) {
      const mariadb = daemon(
        'mariadbd',
        'mariadbd',
        '--no-defaults',
        '--user=root',
        `--datadir=${data}`,
        `--socket=${socket}`,
        `--pid-file=${dir}/mariadb.pid`,
        `--port=${databasePort}`,
        '--bind-address=127.0.0.1',
        // A test's accounting need not outlive its machine.
        '--innodb-flush-log-at-trx-commit=0',
      );
      const slurmdbd = daemon('slurmdbd', 'slurmdbd', '-D');
      return {
        slurmdbd,
        async start(command) {
          await startDatabase(mariadb);
          slurmdbd.start();
          await eventually(`slurmdbd answers (logs in ${dir})`, 60_000, async () => {
            await command('sacctmgr', '--immediate', 'add', 'cluster', 'muster').catch(() => '');
            return (await command('sacctmgr', '--noheader', 'show', 'cluster', 'format=cluster')).includes(
              'muster',
            );
          });
        },
      };
    },
  };
}
