// Which server a command talks to and as whom. Order: flags (--server, --token-file and --profile), environment, the profile
// chosen by MUSTER_PROFILE, the current profile. A profile's token goes to that profile's server and to no other.
import { readFileSync } from 'node:fs';
import { nearest } from '@muster/model';
import { usage } from '../failure.ts';
import { whyUnreadable } from '../unreadable.ts';
import { loadProfiles, type Profile, type ProfileFile } from './profile-file.ts';

export interface ConnectionFlags {
  readonly profile?: string | undefined;
  readonly server?: string | undefined;
  readonly tokenFile?: string | undefined;
}

export interface Connection {
  readonly server: string;
  readonly token: string;
  /** The profile it came from; null when flags or environment gave both. */
  readonly profile: string | null;
  readonly caFile: string | null;
}

type Env = Readonly<Record<string, string | undefined>>;

export function resolveConnection(flags: ConnectionFlags, env: Env): Connection {
  // Who names a profile on the command line means its server, whatever one the environment is set up for.
  const around: Env = flags.profile === undefined ? env : {};
  const given = flags.server ?? around.MUSTER_SERVER;
  const tokenFile = flags.tokenFile ?? around.MUSTER_TOKEN_FILE;
  const token = tokenFile ? readTokenFile(tokenFile) : around.MUSTER_TOKEN?.trim();
  const caFile = env.MUSTER_CA_FILE || null;
  if (given && token) return { server: serverUrl(given), token, profile: null, caFile };
  const file = loadProfiles(env);
  const chosen = flags.profile ?? env.MUSTER_PROFILE;
  if (given) return profileOfServer(file, serverUrl(given), chosen, caFile);
  const name = chosen ?? file.current;
  if (name === null || name === undefined) throw notConfigured(file);
  const profile = named(file, name);
  return {
    server: profile.server,
    token: token || profile.token,
    profile: name,
    caFile: caFile ?? profile.caFile ?? null,
  };
}

function notConfigured(file: ProfileFile): Error {
  const names = Object.keys(file.profiles);
  return names.length === 0
    ? usage(
        'no server is configured; start one here with "muster up", or log in to one with "muster login URL"',
      )
    : usage(`no profile is chosen; run "muster profiles use NAME" with one of: ${names.join(', ')}`);
}

function profileOfServer(
  file: ProfileFile,
  server: string,
  chosen: string | undefined,
  caFile: string | null,
): Connection {
  const candidates = chosen ? [[chosen, named(file, chosen)] as const] : Object.entries(file.profiles);
  const match = candidates.find(([, profile]) => profile.server === server);
  if (match) {
    const [profile, { token, caFile: kept = null }] = match;
    return { server, token, profile, caFile: caFile ?? kept };
  }
  throw usage(`there is no token for ${server}; give one with --token-file or run: muster login ${server}`);
}

export function named(file: ProfileFile, name: string): Profile {
  const profile = Object.hasOwn(file.profiles, name) ? file.profiles[name] : undefined;
  if (profile) return profile;
  const names = Object.keys(file.profiles);
  const near = nearest(name, names);
  const hint = near
    ? `did you mean "${near}"?`
    : names.length > 0
      ? `there are: ${names.join(', ')}`
      : 'there is none yet';
  throw usage(`there is no profile "${name}"; ${hint}`);
}

/** A token is one word; a file with more in it is the wrong file. */
export function readTokenFile(path: string): string {
  let text: string;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8').trim();
  } catch (error) {
    throw usage(`cannot read the token file ${path}: ${whyUnreadable(error)}`);
  }
  return checkedToken(text, path);
}

export function checkedToken(text: string, from: string): string {
  if (text === '') throw usage(`${from} has no token in it`);
  if (!/^[\x21-\x7e]{1,4096}$/.test(text))
    throw usage(`${from} does not look like a token: it must be one word`);
  return text;
}

/** http or https, without user, path or query. */
export function serverUrl(text: string): string {
  const withScheme = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.hostname === '')
    throw usage(`"${text}" is not a server address; write it as https://muster.example.org`);
  if (url.username || url.password || url.search || url.hash)
    throw usage(
      'a server address has no user, password or query in it; tokens come from --token-file or stdin',
    );
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '')}`;
}

export function isLoopback(server: string): boolean {
  const { hostname } = new URL(server);
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
