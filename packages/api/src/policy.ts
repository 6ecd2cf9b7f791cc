// The policy: read by everybody (quotas of other tenants left out), changed by operators only, on top of the version they
// saw. Every version is kept; going back is a new version with an old content.
import {
  type Policy,
  type PolicyInput,
  type PolicyView,
  parsePolicy,
  policyDocument,
  policySchema,
  projectCovers,
} from '@muster/model';
import type { PolicyRow } from '@muster/store';
import * as z from 'zod';
import { type Caller, sees } from './auth.ts';
import { defaultLimit, pageQuery } from './check-input.ts';
import { pageByName } from './cursor.ts';
import type { Api } from './deps.ts';
import { ifMatch } from './if-match.ts';
import { committed } from './outcome.ts';
import { checkNames } from './policy-names.ts';
import { fieldRefusal, notFound, refuse } from './problem.ts';
import { type Answer, type Call, param, route, sequenceHeader } from './route.ts';
import { time } from './time-text.ts';
import { pageOf, policyViewSchema } from './view-schemas.ts';

const tag = 'policy';
const matchHeader = {
  'If-Match': 'the ETag of the version this was made from; 409 when there is a newer one',
};

/** A tenant sees the quotas of its own projects and of those above them. */
function shown(caller: Caller, policy: Policy): PolicyInput {
  const { project } = caller;
  const seen = (path: string): boolean =>
    sees(caller, path) || (project !== null && projectCovers(path, project));
  return policyDocument({ ...policy, quotas: policy.quotas.filter((quota) => seen(quota.project)) });
}

function viewFor(caller: Caller, row: PolicyRow): PolicyView {
  const { version, createdMs, createdBy, policy } = row;
  return { version, createdAt: time(createdMs), createdBy, policy: shown(caller, policy) };
}

async function newest(api: Api): Promise<PolicyRow> {
  const [row] = await api.store.policyVersions(null, 1);
  if (!row) throw refuse('internal', 'there is no policy');
  return row;
}

const getPolicy = route({
  id: 'getPolicy',
  method: 'GET',
  path: '/v1/policy',
  tag,
  summary: 'The policy in force: tiers, quotas and how they are weighed',
  access: 'viewer',
  answers: { 200: policyViewSchema },
  async handle(api, { caller }) {
    const row = await newest(api);
    return { body: viewFor(caller, row), headers: { etag: `"${row.version}"` } };
  },
});

/** Written on top of the version that If-Match names. */
async function write(api: Api, call: Call, policy: Policy): Promise<Answer> {
  const versions = ifMatch(call);
  const now = await newest(api);
  if (versions === undefined)
    throw refuse('bad-request', `say which version this was made from: If-Match: "${now.version}"`);
  const [version] = versions;
  const { value, sequence } = committed(
    await api.store.setPolicy(policy, version ?? 0, call.caller.principal),
    () =>
      refuse(
        'version-mismatch',
        `the policy is at version ${now.version} now; read it again, then decide anew`,
        {
          headers: { etag: `"${now.version}"` },
        },
      ),
    'read the policy to see',
  );
  await api.tenancy.refreshed();
  const row = await api.store.policyAt(value.version);
  if (!row) throw refuse('internal', 'the version just written is not there');
  const headers = { etag: `"${row.version}"`, ...sequenceHeader(sequence) };
  return { body: viewFor(call.caller, row), headers };
}

const putPolicy = route({
  id: 'putPolicy',
  method: 'PUT',
  path: '/v1/policy',
  tag,
  summary: 'Put another policy in force; what it leaves out has its default',
  access: 'operator',
  body: policySchema,
  rawBody: true,
  headers: matchHeader,
  answers: { 200: policyViewSchema },
  async handle(api, call) {
    const parsed = parsePolicy(call.body);
    if (!parsed.ok) throw fieldRefusal(parsed.problems);
    await checkNames(api, parsed.policy);
    return write(api, call, parsed.policy);
  },
});

const listVersions = route({
  id: 'listPolicyVersions',
  method: 'GET',
  path: '/v1/policy/versions',
  tag,
  summary: 'Every version of the policy, newest first',
  access: 'operator',
  query: pageQuery,
  answers: { 200: pageOf(policyViewSchema) },
  async handle(api, { caller, query: { limit = defaultLimit, cursor } }) {
    const rows = await api.store.policyVersions(null, 10_000);
    // Pages go up by name, and versions down.
    const name = ({ version }: PolicyRow) => String(1_000_000_000 - version).padStart(10, '0');
    const asked = { limit, cursor };
    return {
      body: await pageByName(api.cursors, 'policy', rows, asked, name, (row) => viewFor(caller, row)),
    };
  },
});

async function versionOf(api: Api, text: string): Promise<PolicyRow> {
  const row = /^[1-9]\d{0,8}$/.test(text) ? await api.store.policyAt(Number(text)) : null;
  if (!row) throw notFound('version of the policy', text);
  return row;
}

const getVersion = route({
  id: 'getPolicyVersion',
  method: 'GET',
  path: '/v1/policy/versions/:version',
  tag,
  summary: 'One version of the policy',
  access: 'operator',
  answers: { 200: policyViewSchema },
  async handle(api, call) {
    return { body: viewFor(call.caller, await versionOf(api, param(call, 'version'))) };
  },
});

const rollback = route({
  id: 'rollbackPolicy',
  method: 'POST',
  path: '/v1/policy/rollback',
  tag,
  summary: 'Put an earlier version in force again, as a new version',
  access: 'operator',
  body: z.strictObject({ version: z.int().min(1).meta({ description: 'the version to go back to' }) }),
  headers: matchHeader,
  answers: { 200: policyViewSchema },
  async handle(api, call) {
    const { policy } = await versionOf(api, String(call.body.version));
    return write(api, call, policy);
  },
});

export const policyRoutes = [getPolicy, putPolicy, listVersions, getVersion, rollback];
