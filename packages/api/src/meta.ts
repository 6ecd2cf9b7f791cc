// About the server itself: version, and the documents that describe the API.
import { jobSpecSchema, policySchema } from '@muster/model';
import * as z from 'zod';
import { route } from './route.ts';
import { versionSchema } from './view-schemas.ts';

const tag = 'server';

const getVersion = route({
  id: 'getVersion',
  method: 'GET',
  path: '/v1/version',
  tag,
  summary: 'Version, commit and database schema of this server',
  access: 'viewer',
  answers: { 200: versionSchema },
  handle: async (api) => ({ body: api.version }),
});

/** The same documents as in the repository; made once, when first asked for. */
function once(make: () => unknown): () => string {
  let text: string | null = null;
  return () => {
    text ??= JSON.stringify(make());
    return text;
  };
}

export function jobSpecJsonSchema(): unknown {
  return {
    $id: 'urn:muster:job-spec:v1',
    title: 'Muster job spec',
    ...z.toJSONSchema(jobSpecSchema, { io: 'input' }),
  };
}
const jobSpecText = once(jobSpecJsonSchema);

const getJobSpecSchema = route({
  id: 'getJobSpecSchema',
  method: 'GET',
  path: '/v1/schemas/job-spec.json',
  tag,
  summary: 'JSON Schema of the job spec, for editors',
  access: 'public',
  answers: { 200: z.unknown() },
  handle: async () => ({ body: jobSpecText(), headers: { 'cache-control': 'public, max-age=300' } }),
});

export function policyJsonSchema(): unknown {
  return {
    $id: 'urn:muster:policy:v1',
    title: 'Muster policy',
    ...z.toJSONSchema(policySchema, { io: 'input' }),
  };
}
const policyText = once(policyJsonSchema);

const getPolicySchema = route({
  id: 'getPolicySchema',
  method: 'GET',
  path: '/v1/schemas/policy.json',
  tag,
  summary: 'JSON Schema of the policy, for editors',
  access: 'public',
  answers: { 200: z.unknown() },
  handle: async () => ({ body: policyText(), headers: { 'cache-control': 'public, max-age=300' } }),
});

/** The document is made from the table that this route is part of, so the table hands it in. */
export function openapiRoute(document: () => unknown) {
  const text = once(document);
  return route({
    id: 'getOpenapi',
    method: 'GET',
    path: '/openapi.json',
    tag,
    summary: 'This API as an OpenAPI 3.1 document',
    access: 'public',
    answers: { 200: z.unknown() },
    handle: async () => ({ body: text(), headers: { 'cache-control': 'public, max-age=300' } }),
  });
}

export const metaRoutes = [getVersion, getJobSpecSchema, getPolicySchema];
