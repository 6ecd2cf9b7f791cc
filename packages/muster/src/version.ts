// Which build this is: the version of the package, the commit (from a file a release writes, or from git in a checkout)
// and the database schema it was made for.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { VersionInfo } from '@muster/cli';
import type { VersionView } from '@muster/model';

const folder = join(import.meta.dirname, '..');

export function packageVersion(): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}

export function versionInfo(): VersionInfo {
  return { version: packageVersion(), commit: commit(), schema: schemaVersion() };
}

export function serverVersion(): VersionView {
  return { version: packageVersion(), commit: commit(), schema: schemaVersion() };
}

/** The number of the last migration. Read from the names of its files, because loading the store for it would take longer. */
function schemaVersion(): number {
  const migrations = new URL('./migrations/', import.meta.resolve('@muster/store'));
  return readdirSync(migrations).filter((name) => /^\d{4}-.*\.sql$/.test(name)).length;
}

let known: string | null = null;

export function commit(): string {
  known ??= releasedCommit() ?? gitCommit() ?? 'unknown';
  return known;
}

function releasedCommit(): string | null {
  const file = join(folder, 'commit.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null;
}

/** Read from the files of git where that is enough, because starting git costs more than starting muster. */
function gitCommit(): string | null {
  const git = join(folder, '..', '..', '.git');
  // Not in a checkout: asking git would find another project's, if any.
  if (!existsSync(git)) return null;
  try {
    return headCommit(git) ?? askedCommit();
  } catch {
    return null;
  }
}

function headCommit(git: string): string | null {
  // In a second work tree it is a file that points elsewhere.
  if (!statSync(git).isDirectory()) return null;
  const head = readFileSync(join(git, 'HEAD'), 'utf8').trim();
  const ref = /^ref: (.+)$/.exec(head)?.[1];
  if (ref === undefined) return head.slice(0, 12);
  return existsSync(join(git, ref)) ? readFileSync(join(git, ref), 'utf8').trim().slice(0, 12) : null;
}

function askedCommit(): string {
  const found = execFileSync('git', ['-C', folder, 'rev-parse', '--short=12', 'HEAD'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 2000,
  });
  return found.toString().trim();
}
