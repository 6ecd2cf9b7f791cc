// Where the CLI remembers servers and tokens: $XDG_CONFIG_HOME/muster/config.yaml, readable by its owner only. It is
// written whole to a new file that then takes the old one's place, so a crash leaves one or the other.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isMap, LineCounter, parseDocument, stringify } from 'yaml';
import { usage } from '../failure.ts';

export interface Profile {
  readonly server: string;
  readonly token: string;
  /** Certificate of the server's authority, where the system does not know it. */
  readonly caFile?: string;
}

export interface ProfileFile {
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

type Env = Readonly<Record<string, string | undefined>>;

export function profilePath(env: Env): string {
  const base = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(base, 'muster', 'config.yaml');
}

export function loadProfiles(env: Env): ProfileFile {
  const path = profilePath(env);
  const text = read(path);
  if (text === null) return { current: null, profiles: {} };
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [error] = document.errors;
  if (error) throw usage(`${path}:${error.linePos?.[0].line ?? 1}: ${error.message.split('\n')[0]}`);
  return checked(document.toJS() as unknown, path, (key) => {
    const pair = isMap(document.contents)
      ? document.contents.items.find((item) => String(item.key) === key)
      : undefined;
    const range = (pair?.key as { range?: [number] } | undefined)?.range;
    return range ? lines.linePos(range[0]).line : 1;
  });
}

function read(path: string): string | null {
  try {
    const text = readFileSync(path, 'utf8');
    // A token that others can read is not a secret; ssh refuses such keys too.
    const mode = statSync(path).mode & 0o777;
    if (mode & 0o077 && process.platform !== 'win32')
      throw usage(`${path} holds tokens and other users can read it; run: chmod 600 ${path}`);
    return text;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code) throw usage(`cannot read ${path} (${code}); check its owner and mode`);
    throw error;
  }
}

function checked(value: unknown, path: string, lineOf: (key: string) => number): ProfileFile {
  if (value === null) return { current: null, profiles: {} };
  if (typeof value !== 'object') throw usage(`${path}: is not a mapping of settings`);
  for (const key of Object.keys(value))
    if (key !== 'current' && key !== 'profiles')
      throw usage(`${path}:${lineOf(key)}: unknown key "${key}"; known are current and profiles`);
  const { current = null, profiles = {} } = value as { current?: unknown; profiles?: unknown };
  for (const [name, profile] of Object.entries(profiles as Record<string, unknown>)) {
    const { server, token, caFile } = (profile ?? {}) as Record<string, unknown>;
    if (caFile !== undefined && typeof caFile !== 'string')
      throw usage(`${path}: profile "${name}": caFile must be the path of a file`);
    if (typeof server !== 'string' || typeof token !== 'string')
      throw usage(
        `${path}: profile "${name}" needs a server and a token; run: muster login URL --profile ${name}`,
      );
  }
  return {
    current: typeof current === 'string' ? current : null,
    profiles: profiles as ProfileFile['profiles'],
  };
}

export function saveProfiles(env: Env, file: ProfileFile): string {
  const path = profilePath(env);
  const draft = `${path}.${process.pid}.new`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(draft, stringify(file), { mode: 0o600 });
    chmodSync(draft, 0o600);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw usage(
      `cannot write ${path} (${(error as NodeJS.ErrnoException).code}); check the folder's owner and mode`,
    );
  }
  return path;
}

/** Adds or replaces one profile, and makes it the current one unless told not to. */
export function rememberProfile(env: Env, name: string, profile: Profile, makeCurrent = true): string {
  const file = loadProfiles(env);
  const current = makeCurrent ? name : file.current;
  return saveProfiles(env, { current, profiles: { ...file.profiles, [name]: profile } });
}
