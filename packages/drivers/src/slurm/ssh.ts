// Runs programs on a login node: ssh with the host's key known beforehand, this one key of ours, and nobody to ask. What is to be run
// travels as one line that the shell over there takes apart again, so every word is quoted for it. One connection serves all
// (ControlMaster), because making one costs more than most commands.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SlurmSsh } from '@muster/model';

export interface SshLine {
  readonly program: 'ssh';
  readonly args: readonly string[];
}

/** ssh's own exit code: it did not get there, or lost the way back. Nothing is known of the command then. */
export const sshLost = 255;
const connectS = 10;
/** How long a connection waits for the next command. */
const idleS = 60;

export interface SshLines {
  /** `env` is all that the program finds there. */
  (words: readonly string[], env: Readonly<Record<string, string>>): SshLine;
  /** Ends the connection, if there is one. */
  close(): Promise<void>;
}

export function sshLines(settings: SlurmSsh): SshLines {
  const { host, user, port, key, knownHosts } = settings;
  // A directory of our own: whoever could put a socket there could read along.
  const sockets = mkdtempSync(join(tmpdir(), 'muster-ssh-'));
  const options: Record<string, string | number> = {
    BatchMode: 'yes',
    StrictHostKeyChecking: 'yes',
    ...(knownHosts === undefined
      ? {}
      : { UserKnownHostsFile: knownHosts, GlobalKnownHostsFile: '/dev/null' }),
    ...(key === undefined ? {} : { IdentitiesOnly: 'yes', IdentityFile: key }),
    PasswordAuthentication: 'no',
    ForwardAgent: 'no',
    ClearAllForwardings: 'yes',
    PermitLocalCommand: 'no',
    ConnectTimeout: connectS,
    ServerAliveInterval: 5,
    ServerAliveCountMax: 3,
    ControlMaster: 'auto',
    ControlPath: join(sockets, '%C'),
    ControlPersist: idleS,
  };
  const fixed = [
    '-F',
    'none',
    '-T',
    '-p',
    String(port),
    ...(user === undefined ? [] : ['-l', user]),
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    '--',
    host,
  ];
  const line = (words: readonly string[], env: Readonly<Record<string, string>>): SshLine => {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const text = ['exec', ...['env', '-i', ...variables, ...words].map(quoted)].join(' ');
    return { program: 'ssh', args: [...fixed, text] };
  };
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      execFile('ssh', ['-O', 'exit', ...fixed], () => {
        rmSync(sockets, { recursive: true, force: true });
        resolve();
      });
    });
  return Object.assign(line, { close });
}

/** One word of a shell, whatever is in it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
