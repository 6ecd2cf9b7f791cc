// Who is asking. A bearer token in the Authorization header, and nothing else: a token in a URL ends up in logs and
// histories, so it is refused even when it is right. Every refusal has the same text, so that it tells nothing about
// which part was wrong. Looked-up tokens are remembered for at most 5 s; that bounds how long a revoked one lives.
import { unescape as decoded } from 'node:querystring';
import { projectCovers, type Role, type TokenId } from '@muster/model';
import type { Store, TokenRow } from '@muster/store';
import { type RefusedError, refuse } from './problem.ts';
import type { Buckets } from './rate-limit.ts';
import { hashOf, isSecret, secretStart } from './token-text.ts';

export interface Caller {
  readonly token: TokenId;
  readonly hash: string;
  readonly name: string;
  /**
   * The name by which jobs, events and audit know the caller. A scoped token carries its project in it: who may name
   * tokens inside a project can so never act under a name of somebody outside.
   */
  readonly principal: string;
  readonly role: Role;
  /** Null: every project. */
  readonly project: string | null;
  readonly expiresMs: number | null;
}

/** Least role a route asks for; `operator` is an admin of everything. Scope is checked where the effect is. */
export type Access = 'public' | 'optional' | 'viewer' | 'member' | 'admin' | 'operator';

const ranks: Readonly<Record<Role, number>> = { viewer: 1, member: 2, admin: 3 };
const maxAgeMs = 5000;
const missAgeMs = 1000;
/** How often a stream asks about its token, and how old the answer may be: together they keep to the same bound. */
export const streamCheckMs = maxAgeMs / 2;
const maxCached = 10_000;
const maxHeader = 200;
/** Look-ups of tokens that do not exist cost the database; an address gets a few. */
const failedLookups = { perSecond: 20, burst: 100 };

export interface Authenticator {
  /** Throws the one refusal; synchronous when the token was looked up a moment ago. */
  authenticate(header: string | undefined, url: string, address: string): Caller | Promise<Caller>;
  /** Whether a stream opened by this caller may go on. */
  stillValid(caller: Caller): Promise<boolean>;
  /** A revocation on this server takes effect at once. */
  forget(token: TokenId): void;
}

interface Cached {
  readonly caller: Caller | null;
  readonly atMs: number;
}

export interface AuthDeps {
  readonly store: Pick<Store, 'tokenByHash'>;
  readonly clock: { nowMs(): number };
  readonly buckets: Buckets;
}

export function createAuthenticator({ store, clock, buckets }: AuthDeps): Authenticator {
  const cache = new Map<string, Cached>();
  let forgotten = 0;
  const underWay = new Map<string, Promise<Caller>>();

  function cached(hash: string, knownMs = maxAgeMs): Cached | null {
    const entry = cache.get(hash);
    if (!entry) return null;
    const ageMs = clock.nowMs() - entry.atMs;
    if (ageMs >= 0 && ageMs < (entry.caller ? knownMs : missAgeMs)) return entry;
    cache.delete(hash);
    return null;
  }

  async function lookUp(hash: string): Promise<Caller | null> {
    const atMs = clock.nowMs();
    const before = forgotten;
    const row = await store.tokenByHash(hash);
    const caller = row ? callerOf(row, hash) : null;
    if (cache.size >= maxCached) cache.clear();
    // What was asked before a revocation may be the answer of before it.
    if (forgotten === before) cache.set(hash, { caller, atMs });
    return caller;
  }

  async function admit(hash: string, address: string): Promise<Caller> {
    // Taken before the database is asked, so that many at once cost it no more than one after another.
    const key = `failed ${address}`;
    buckets.take(key, failedLookups);
    const caller = await lookUp(hash);
    if (caller) buckets.giveBack(key, failedLookups);
    return accept(caller, clock.nowMs());
  }

  /** Many requests that come together with one token ask for it once. */
  function admitTogether(hash: string, address: string): Promise<Caller> {
    const together = underWay.get(hash);
    if (together) return together;
    const admitted = admit(hash, address).finally(() => underWay.delete(hash));
    underWay.set(hash, admitted);
    return admitted;
  }

  return {
    authenticate(header, url, address) {
      if (urlCarriesToken(url)) throw unauthenticated();
      if (header === undefined || header.length > maxHeader || !header.startsWith('Bearer '))
        throw unauthenticated();
      const text = header.slice(7);
      const hash = hashOf(text);
      const entry = cached(hash);
      if (entry) return accept(entry.caller, clock.nowMs());
      // What is in the cache had its checksum looked at when it was put there.
      if (!isSecret('mst', text)) throw unauthenticated();
      return admitTogether(hash, address);
    },
    async stillValid(caller) {
      const entry = cached(caller.hash, streamCheckMs);
      const now = entry ? entry.caller : await lookUp(caller.hash);
      return now !== null && !expired(now, clock.nowMs());
    },
    forget(token) {
      forgotten++;
      for (const [hash, { caller }] of cache) if (caller?.token === token) cache.delete(hash);
    },
  };
}

function accept(caller: Caller | null, nowMs: number): Caller {
  if (!caller || expired(caller, nowMs)) throw unauthenticated();
  return caller;
}

function expired(caller: Caller, nowMs: number): boolean {
  return caller.expiresMs !== null && caller.expiresMs <= nowMs;
}

function callerOf(row: TokenRow, hash: string): Caller {
  const { id: token, name, role, project, expiresMs } = row;
  const principal = project === null ? name : `${name}@${project}`;
  return { token, hash, name, principal, role, project, expiresMs };
}

/** Also when it is written with escapes: a log or history that decodes it would have it all the same. */
function urlCarriesToken(url: string): boolean {
  const text = url.includes('%') ? decoded(url) : url;
  const query = text.indexOf('?');
  return (
    secretStart.test(text) || (query >= 0 && /[?&](access_token|token|api_key)=/i.test(text.slice(query)))
  );
}

export function unauthenticated(): RefusedError {
  return refuse('unauthenticated', 'send a valid API token as "Authorization: Bearer mst_..."', {
    headers: { 'www-authenticate': 'Bearer realm="muster"' },
  });
}

export function hasRole(caller: Caller, access: Exclude<Access, 'public' | 'optional'>): boolean {
  if (access === 'operator') return caller.role === 'admin' && caller.project === null;
  return ranks[caller.role] >= ranks[access];
}

/** Role `b` may do no more than role `a`. */
export function roleCovers(a: Role, b: Role): boolean {
  return ranks[a] >= ranks[b];
}

export function sees(caller: Caller, project: string): boolean {
  return caller.project === null || projectCovers(caller.project, project);
}
