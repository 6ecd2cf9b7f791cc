// Where the CLI remembers servers and tokens: $XDG_CONFIG_HOME/muster/config.yaml, readable by its owner only. It is
// written whole to a new file that then takes the old one's place, so a crash leaves one or the other.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { clip } from '@muster/model';
import { LineCounter, parseDocument, stringify } from 'yaml';
import { usage } from '../failure.ts';
import { place } from '../spec/place.ts';
import { clean } from '../text/clean.ts';

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
  const spotAt = (offset: number) => ({ line: lines.linePos(offset).line, column: 1 });
  return checked(document.toJS() as unknown, (keys, message) => {
    const pointer = keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
    return usage(`${path}:${place(document, pointer, 'name', spotAt).line}: ${clean(message)}`);
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

type Refuse = (keys: readonly string[], message: string) => Error;

const profileKeys = ['server', 'token', 'caFile'];

function checked(value: unknown, refuse: Refuse): ProfileFile {
  if (value === null) return { current: null, profiles: {} };
  if (!isMapping(value)) throw refuse([], 'is not a mapping of settings');
  refuseUnknown(value, ['current', 'profiles'], [], refuse);
  const { current = null, profiles } = value;
  if (current !== null && typeof current !== 'string') throw refuse(['current'], 'current: must be a name');
  if (!isMapping(profiles ?? {}))
    throw refuse(['profiles'], 'profiles: must be a mapping of names to profiles');
  const named = (profiles ?? {}) as Record<string, unknown>;
  for (const [name, profile] of Object.entries(named)) checkProfile(name, profile ?? {}, refuse);
  return { current, profiles: named as ProfileFile['profiles'] };
}

function checkProfile(name: string, profile: unknown, refuse: Refuse): void {
  const at = ['profiles', name];
  if (!isMapping(profile)) throw refuse(at, `profile "${name}" must be a mapping with a server and a token`);
  refuseUnknown(profile, profileKeys, at, refuse);
  const { server, token, caFile } = profile;
  if (caFile !== undefined && typeof caFile !== 'string')
    throw refuse([...at, 'caFile'], `profile "${name}": caFile must be the path of a file`);
  if (typeof server !== 'string' || typeof token !== 'string')
    throw refuse(at, `profile "${name}" needs a server and a token; run: muster login URL --profile ${name}`);
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refuseUnknown(
  value: Record<string, unknown>,
  known: readonly string[],
  at: readonly string[],
  refuse: Refuse,
): void {
  const key = Object.keys(value).find((name) => !known.includes(name));
  if (key !== undefined)
    throw refuse([...at, key], `unknown key "${clip(key)}"; known are ${known.join(', ')}`);
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
