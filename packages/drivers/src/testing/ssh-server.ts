// An sshd of a test's own, on loopback, with keys of its own: nothing of the machine's is read or changed. Whoever has the key of
// this directory may come in as the account that the test runs as.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { clusterDirectory } from './cluster-directory.ts';
import { lackingPrograms, systemPath } from './components.ts';
import { descendants } from './container-leftovers.ts';
import { type Daemon, StartedDaemon } from './daemon.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { endProcessesOf } from './leftovers.ts';

const run = promisify(execFile);

export interface TestSshServer {
  readonly dir: string;
  readonly daemon: Daemon;
  readonly port: number;
  /** Of a client: its private key, and the file that names the key of this server. */
  readonly key: string;
  readonly knownHosts: string;
  /** Processes of connections that are made: they outlive the one that listens. */
  sessions(): number[];
  ready(): Promise<void>;
  stop(): Promise<void>;
}

/** Why none can be started here, and what to do about it; null when one can. */
export function sshMissing(): string | null {
  const lacking = lackingPrograms(['sshd', 'ssh', 'ssh-keygen']);
  if (lacking.length > 0)
    return `not run over ssh: ${lacking.join(', ')} missing; scripts/install-components gets them`;
  return process.getuid?.() === 0 ? null : 'not run over ssh: only root can start its server';
}

export async function startSshServer(): Promise<TestSshServer> {
  const home = await clusterDirectory('ssh');
  const { dir } = home;
  const env = { PATH: systemPath };
  const file = (name: string): string => join(dir, name);
  for (const name of ['host', 'client'])
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file(name)], { env });
  const port = await freePort();
  const publicKey = (name: string): string => readFileSync(file(`${name}.pub`), 'utf8');
  writeFileSync(file('authorized'), publicKey('client'), { mode: 0o600 });
  writeFileSync(file('known'), `[127.0.0.1]:${port} ${publicKey('host')}`);
  const lines = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${file('host')}`,
    `AuthorizedKeysFile ${file('authorized')}`,
    `PidFile ${file('pid')}`,
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin prohibit-password',
    'StrictModes no',
    'UsePAM no',
    // The shell of a session reads what the account has there, which may be slow, and may leave a lock behind when it is killed.
    `SetEnv HOME=${dir}`,
  ];
  writeFileSync(file('config'), `${lines.join('\n')}\n`);
  // Where every sshd keeps its unprivileged half.
  mkdirSync('/run/sshd', { recursive: true });
  const daemon = new StartedDaemon('sshd', '/usr/sbin/sshd', ['-D', '-e', '-f', file('config')], env, dir);
  const atExit = (): void => {
    daemon.signal('SIGKILL');
    endProcessesOf(dir);
  };
  process.once('exit', atExit);
  const server: TestSshServer = {
    dir,
    daemon,
    port,
    key: file('client'),
    knownHosts: file('known'),
    sessions: () => descendants(daemon.pid),
    ready: () => eventually(`sshd answers (logs in ${dir})`, 30_000, () => answers(port)).then(() => {}),
    async stop() {
      process.removeListener('exit', atExit);
      await daemon.end('SIGKILL');
      endProcessesOf(dir);
      home.remove();
    },
  };
  daemon.start();
  try {
    await server.ready();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const say = (is: boolean): void => {
      socket.destroy();
      resolve(is);
    };
    socket.once('data', () => say(true));
    socket.once('error', () => say(false));
  });
}
