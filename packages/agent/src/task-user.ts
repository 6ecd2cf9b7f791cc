// Which local user runs a submitter's tasks. Root maps; anybody else can only run them as himself.
import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { OperationalError } from '@muster/model';
import type { LocalUser } from './supervisor/protocol.ts';

export interface TaskUser extends LocalUser {
  /** An existing home directory of his own; null when he has none (nobody). */
  readonly home: string | null;
  readonly shell: string;
}

export type UserOf = (submitter: string) => Promise<TaskUser | null>;

/** Answers null for an agent that is not root: tasks then run as the agent's own user. */
export function localUsers(
  userMap: Readonly<Record<string, string>>,
  taskUser = 'nobody',
  isRoot = process.getuid?.() === 0,
): UserOf {
  const known = new Map<string, Promise<TaskUser>>();
  return async (submitter) => {
    if (!isRoot) return null;
    const mapped = Object.hasOwn(userMap, submitter) ? userMap[submitter] : undefined;
    const name = mapped ?? taskUser;
    const user = known.get(name) ?? lookUp(name);
    known.set(name, user);
    // An account made a minute later should be found.
    user.catch(() => known.delete(name));
    return user;
  };
}

/** By getent, which also asks LDAP and the like; by the file where there is no getent. */
async function lookUp(name: string): Promise<TaskUser> {
  const line = (await getent(name)) ?? fromFile(name);
  const [, , uid, gid, , home = '', shell = ''] = line?.split(':') ?? [];
  if (!/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? ''))
    throw new OperationalError('not-found', `this node has no local user "${name}" to run tasks as`);
  const user = { name, uid: Number(uid), gid: Number(gid) };
  // Root reads the agent's key, and everybody's files.
  if (user.uid === 0)
    throw new OperationalError('invalid-field', `tasks do not run as root, and "${name}" is root here`);
  return { ...user, home: ownDirectory(home, user.uid), shell: shell || '/bin/sh' };
}

function getent(name: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile('getent', ['passwd', '--', name], { timeout: 10_000 }, (error, stdout) =>
      resolve(error ? null : (stdout.split('\n')[0] ?? null)),
    );
  });
}

function fromFile(name: string): string | null {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    return lines.find((line) => line.startsWith(`${name}:`)) ?? null;
  } catch {
    return null;
  }
}

function ownDirectory(path: string, uid: number): string | null {
  try {
    const found = statSync(path);
    return found.isDirectory() && found.uid === uid ? path : null;
  } catch {
    return null;
  }
}
