// API tokens. The rule that keeps privilege from growing: nobody gives what they do not have. A new token has at most
// its maker's role, lies within its maker's project, and does not outlive its maker. Its text is shown once.
import {
  freshId,
  isName,
  isProjectPath,
  nameRule,
  projectRule,
  type Role,
  type TokenId,
} from '@muster/model';
import type { NewToken, Store, TokenRow } from '@muster/store';
import * as z from 'zod';
import { type Caller, roleCovers, sees } from './auth.ts';
import { defaultLimit, pageQuery } from './check-input.ts';
import { pageByName } from './cursor.ts';
import type { Api } from './deps.ts';
import { lifeText } from './enrolment.ts';
import { notFound, refuse } from './problem.ts';
import { param, route } from './route.ts';
import { timeOrNull } from './time-text.ts';
import { mintSecret, secretHash } from './token-text.ts';
import { newTokenSchema, pageOf, tokenSchema, whoamiSchema } from './view-schemas.ts';
import { tokenView } from './views.ts';

const tag = 'tokens';
const maxLifeMs = 10 * 365 * 86_400_000;

const whoami = route({
  id: 'whoami',
  method: 'GET',
  path: '/v1/whoami',
  tag,
  summary: 'Whose token this is and what it may do',
  access: 'viewer',
  answers: { 200: whoamiSchema },
  async handle(_api, { caller: { token, name, principal, role, project, expiresMs } }) {
    return { body: { token, name, principal, role, project, expiresAt: timeOrNull(expiresMs) } };
  },
});

/** An admin sees the tokens within its scope; a token for all projects is seen only by one of its kind. */
function seesToken(caller: Caller, row: TokenRow): boolean {
  if (caller.token === row.id) return true;
  if (caller.role !== 'admin') return false;
  return row.project === null ? caller.project === null : sees(caller, row.project);
}

const listTokens = route({
  id: 'listTokens',
  method: 'GET',
  path: '/v1/tokens',
  tag,
  summary: 'The tokens within your scope, without their texts',
  access: 'admin',
  query: pageQuery,
  answers: { 200: pageOf(tokenSchema) },
  async handle(api, { caller, query: { limit = defaultLimit, cursor } }) {
    const rows = (await api.store.tokens()).filter((row) => seesToken(caller, row));
    const asked = { limit, cursor };
    return { body: await pageByName(api.cursors, 'tokens', rows, asked, (row) => row.id, tokenView) };
  },
});

const tokenBody = z.strictObject({
  name: z.string().refine(isName, `must be ${nameRule}`),
  role: z.enum(['viewer', 'member', 'admin']),
  project: z
    .string()
    .refine(isProjectPath, `must be ${projectRule}`)
    .nullish()
    .meta({ description: 'the project it is for; your own scope when left out, null for all projects' }),
  expiresIn: lifeText(maxLifeMs, '1s to 3650d')
    .optional()
    .meta({ description: 'how long it lives; as long as your own when left out' }),
});

const createToken = route({
  id: 'createToken',
  method: 'POST',
  path: '/v1/tokens',
  tag,
  summary: 'Make a token with at most your own rights; its text is shown once',
  access: 'admin',
  body: tokenBody,
  answers: { 201: newTokenSchema },
  async handle(api, { caller, body, request }) {
    const project = body.project === undefined ? caller.project : body.project;
    request.target = `${body.name} ${body.role} ${project ?? '(all projects)'}`;
    checkGrant(caller, body.role, project);
    if (project !== null && !(await api.tenancy.refreshed()).hasProject(project))
      throw refuse('unknown-project', `there is no project "${project}"`);
    const expiresMs = await lifeEnd(api, caller, body.expiresIn);
    const made = await makeToken(api.store, api, {
      name: body.name,
      role: body.role,
      project,
      by: caller.principal,
      expiresMs,
    });
    request.target = `${made.id} ${request.target}`;
    const row = (await api.store.tokens()).find((token) => token.id === made.id);
    return { status: 201, body: { ...(row ? tokenView(row) : { id: made.id }), token: made.text } };
  },
});

function checkGrant(caller: Caller, role: Role, project: string | null): void {
  const within = project === null ? caller.project === null : sees(caller, project);
  if (within && roleCovers(caller.role, role)) return;
  throw refuse(
    'forbidden',
    `a token can only give what it has: yours is ${caller.role} of ${caller.project ?? 'all projects'}`,
  );
}

async function lifeEnd(api: Api, caller: Caller, expiresIn: number | undefined): Promise<number | null> {
  if (expiresIn === undefined) return caller.expiresMs;
  const end = (await api.store.nowMs()) + expiresIn;
  return caller.expiresMs === null ? end : Math.min(end, caller.expiresMs);
}

interface Minting {
  readonly clock: { nowMs(): number };
  readonly random: (bytes: number) => Uint8Array;
}

async function makeToken(
  store: Pick<Store, 'createToken'>,
  { clock, random }: Minting,
  fields: Omit<NewToken, 'id' | 'hash'>,
): Promise<{ id: TokenId; text: string }> {
  const text = mintSecret('mst', random);
  const id = freshId('token', clock.nowMs(), random(9));
  await store.createToken({ ...fields, id, hash: secretHash('mst', text) ?? '' });
  return { id, text };
}

/** On the very first start, when no token was ever made: one for the operator, whose text is returned this once. */
export async function ensureAdminToken(
  store: Pick<Store, 'tokens' | 'createToken'>,
  minting: Minting,
): Promise<string | null> {
  if ((await store.tokens()).length > 0) return null;
  const fields = { name: 'admin', role: 'admin', project: null, by: 'first start', expiresMs: null } as const;
  return (await makeToken(store, minting, fields)).text;
}

const revokeToken = route({
  id: 'revokeToken',
  method: 'DELETE',
  path: '/v1/tokens/:id',
  tag,
  summary: 'Revoke a token; every server refuses it within 5 s. Any token may revoke itself',
  access: 'viewer',
  answers: { 200: tokenSchema },
  async handle(api, call) {
    const id = param(call, 'id');
    const tokens = await api.store.tokens();
    const row = tokens.find((token) => token.id === id);
    if (!row || !seesToken(call.caller, row)) throw notFound('token', id);
    call.request.target = `${row.id} ${row.name}`;
    if (row.revokedMs === null && isLastAdmin(row, tokens, api.clock.nowMs()))
      throw refuse(
        'conflict',
        `${row.id} is the last admin token for all projects; make another before revoking it`,
      );
    await api.store.revokeToken(row.id);
    api.auth.forget(row.id);
    const now = (await api.store.tokens()).find((token) => token.id === row.id) ?? row;
    return { body: tokenView(now) };
  },
});

/** Without one nobody could make another. */
function isLastAdmin(row: TokenRow, tokens: readonly TokenRow[], nowMs: number): boolean {
  const reigns = (token: TokenRow): boolean =>
    token.role === 'admin' &&
    token.project === null &&
    token.revokedMs === null &&
    (token.expiresMs === null || token.expiresMs > nowMs);
  return reigns(row) && !tokens.some((token) => token.id !== row.id && reigns(token));
}

export const tokenRoutes = [whoami, listTokens, createToken, revokeToken];
