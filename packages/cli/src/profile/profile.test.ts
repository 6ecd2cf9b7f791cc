// Servers, tokens and the file they are kept in.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resolveConnection, serverUrl } from './connection.ts';
import { loadProfiles, profilePath, rememberProfile } from './profile-file.ts';

let home = '';
let env: Record<string, string> = {};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-profile-'));
  env = { XDG_CONFIG_HOME: home };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(text: string, mode = 0o600): void {
  mkdirSync(join(home, 'muster'), { recursive: true });
  writeFileSync(profilePath(env), text);
  chmodSync(profilePath(env), mode);
}

test('a profile is kept in a file that only its owner can read', () => {
  const path = rememberProfile(env, 'prod', { server: 'https://a', token: 't1' });
  rememberProfile(env, 'local', { server: 'http://b', token: 't2' });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(loadProfiles(env)).toEqual({
    current: 'local',
    profiles: { prod: { server: 'https://a', token: 't1' }, local: { server: 'http://b', token: 't2' } },
  });
});

test('of two profiles the current one is used, unless another is named', () => {
  rememberProfile(env, 'prod', { server: 'https://a', token: 't1' });
  rememberProfile(env, 'local', { server: 'http://b', token: 't2' }, false);
  expect(resolveConnection({}, env)).toEqual({
    server: 'https://a',
    token: 't1',
    profile: 'prod',
    caFile: null,
  });
  expect(resolveConnection({ profile: 'local' }, env).token).toBe('t2');
  expect(resolveConnection({}, { ...env, MUSTER_PROFILE: 'local' }).token).toBe('t2');
  expect(() => resolveConnection({ profile: 'loacl' }, env)).toThrow(
    'there is no profile "loacl"; did you mean "local"?',
  );
});

test('a profile named on the command line is meant, whatever the environment is set up for', () => {
  rememberProfile(env, 'prod', { server: 'https://a', token: 't1' });
  const around = { ...env, MUSTER_SERVER: 'https://staging', MUSTER_TOKEN: 'x' };
  expect(resolveConnection({ profile: 'prod' }, around)).toMatchObject({ server: 'https://a', token: 't1' });
  expect(resolveConnection({}, { ...around, MUSTER_PROFILE: 'prod' })).toMatchObject({
    server: 'https://staging',
    token: 'x',
  });
});

test("a profile's token is never sent to another server", () => {
  rememberProfile(env, 'prod', { server: 'https://a', token: 't1' });
  expect(() => resolveConnection({ server: 'https://evil' }, env)).toThrow(
    'there is no token for https://evil',
  );
  expect(resolveConnection({ server: 'https://a/' }, env).token).toBe('t1');
  expect(resolveConnection({ server: 'https://b' }, { ...env, MUSTER_TOKEN: 'x' })).toEqual({
    server: 'https://b',
    token: 'x',
    profile: null,
    caFile: null,
  });
});

test('without any configuration the next step is named', () => {
  expect(() => resolveConnection({}, env)).toThrow(
    /^no server is configured; start one here with "muster up"/,
  );
});

test('a file that others can read is refused, with what to run', () => {
  write('profiles: {}\n', 0o644);
  expect(() => loadProfiles(env)).toThrow(/other users can read it; run: chmod 600/);
});

test.each([
  ['curent: x\n', /config\.yaml:1: unknown key "curent"; known are current, profiles/],
  ['current: 5\n', /config\.yaml:1: current: must be a name/],
  ['profiles: 5\n', /config\.yaml:1: profiles: must be a mapping/],
  ['profiles:\n  a: { server: x }\n', /config\.yaml:2: profile "a" needs a server and a token/],
  ['profiles:\n  b: {server: x, token: y}\n  a: x\n', /config\.yaml:3: profile "a" must be a mapping/],
  [
    'profiles:\n  a:\n    server: x\n    token: y\n    tokn: z\n',
    /config\.yaml:5: unknown key "tokn"; known are server, token, caFile/,
  ],
  ['profiles: [\n', /config\.yaml:\d+: /],
  ['just text\n', /is not a mapping/],
])('%j is refused by name', (text, message) => {
  write(text);
  expect(() => loadProfiles(env)).toThrow(message);
});

test('a token file has one word in it', () => {
  const file = join(home, 'token');
  const connect = (text: string) => {
    writeFileSync(file, text);
    return resolveConnection({ server: 'https://a', tokenFile: file }, env);
  };
  expect(connect('mst_x\n').token).toBe('mst_x');
  expect(() => connect('')).toThrow('has no token in it');
  expect(() => connect('two words')).toThrow('must be one word');
  expect(() => resolveConnection({ server: 'https://a', tokenFile: '/nowhere' }, env)).toThrow(
    'cannot read the token file /nowhere: there is no such file',
  );
});

test.each([
  ['muster.example.org', 'https://muster.example.org'],
  ['http://127.0.0.1:6878/', 'http://127.0.0.1:6878'],
])('%s is the server %s', (text, url) => expect(serverUrl(text)).toBe(url));

test.each(['ftp://x', 'https://', 'https://u:p@x', 'https://x?token=1', 'a b'])('%s is no server', (text) => {
  expect(() => serverUrl(text)).toThrow();
});
