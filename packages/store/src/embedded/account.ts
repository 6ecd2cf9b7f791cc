// PostgreSQL refuses to run as root. Under root it runs as an unprivileged account, to which the data directory then
// belongs; anybody else runs it as themselves.
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OperationalError } from '@muster/model';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The first that exists. Never `nobody`: tasks run as that one, and could read and change every row of the database. */
const names = ['muster', 'postgres', 'daemon', 'bin'];

/** Null: run as whoever we are. */
export function serverAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of names) {
    const account = accountOf(name);
    if (account) return account;
  }
  throw new OperationalError(
    'unavailable',
    `PostgreSQL cannot run as root and there is no account "${names.join('", "')}"; create one of them, or set DATABASE_URL`,
  );
}

/** Whether what this local user runs could reach an embedded server of this machine. */
export function keepsDatabase(user: string): boolean {
  const account = serverAccount();
  return account !== null && accountOf(user)?.uid === account.uid;
}

function accountOf(name: string): Account | null {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const row = lines.map((line) => line.split(':')).find((fields) => fields[0] === name);
  return row ? { uid: Number(row[2]), gid: Number(row[3]) } : null;
}

/** Makes a directory that belongs to the account and that nobody else can enter. */
export function privateDirectory(path: string, account: Account | null): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
  if (account) chownSync(path, account.uid, account.gid);
}

/** Gives a whole directory to the account; one that was made under another account is of no use to PostgreSQL. */
export function giveTo(path: string, account: Account | null): void {
  if (!account || statSync(path).uid === account.uid) return;
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }))
    lchownSync(join(path, name), account.uid, account.gid);
  // Last, so that one that was interrupted is begun again.
  chownSync(path, account.uid, account.gid);
}

/** Refuses early, with the directory's name, what PostgreSQL would only answer with "permission denied". */
export function checkReach(directory: string, account: Account | null): void {
  if (!account) return;
  const closed = firstClosed(directory, account);
  if (closed === null) return;
  throw new OperationalError(
    'unavailable',
    `PostgreSQL cannot run as root, and the account it runs as (uid ${account.uid}) may not enter ${closed}; choose a data directory such as /var/lib/muster, or set DATABASE_URL`,
  );
}

/** Makes a directory, and those above it that are missing, so that others can pass through but not look, whatever the umask. */
export function makePassable(path: string): void {
  const dir = resolve(path);
  const first = mkdirSync(dir, { recursive: true, mode: 0o711 });
  if (first === undefined) return;
  for (let at = dir; at.length >= first.length; at = dirname(at)) chmodSync(at, 0o711);
}

/**
 * The folder with PostgreSQL's programs, copied beside the data when the account cannot use it where npm put it: a project
 * under /root, or one that was installed with a umask that keeps others out.
 */
export function reachablePrograms(
  native: string,
  directory: string,
  version: string,
  account: Account | null,
): string {
  if (!account || firstClosed(join(native, 'bin', 'postgres'), account) === null) return native;
  const copy = join(directory, `postgresql-${version}`);
  if (!existsSync(copy)) {
    const draft = `${copy}.draft-${process.pid}`;
    rmSync(draft, { recursive: true, force: true });
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
    openToAll(draft);
    renameSync(draft, copy);
  }
  return copy;
}

/** What its owner may read and run, everybody may. */
function openToAll(path: string): void {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return;
  chmodSync(path, found.isDirectory() || found.mode & 0o100 ? 0o755 : 0o644);
  if (found.isDirectory()) for (const name of readdirSync(path)) openToAll(join(path, name));
}

function firstClosed(path: string, account: Account): string | null {
  const parent = dirname(path);
  const above = parent === path ? null : firstClosed(parent, account);
  if (above !== null) return above;
  const { mode, uid, gid } = statSync(path);
  const enter = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
  return mode & enter ? null : path;
}
