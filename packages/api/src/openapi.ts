// The OpenAPI 3.1 document, made from the table of routes and the schemas they check with, so that it cannot say anything
// else than the server does. docs/reference/openapi.json is the same text; a test compares them.
import { problemCodes } from '@muster/model';
import * as z from 'zod';
import type { AnswerSchema, Route } from './route.ts';
import { named, namedSchemas } from './schema-parts.ts';
import { problemSchema } from './view-schemas.ts';

type Json = Record<string, unknown>;

export function openapiOf(routes: readonly Route[]): Json {
  const { components, schemaOf } = schemaTexts(routes);
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, schemaOf) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version: 'v1',
      description:
        'The control plane for AI compute. Every error is application/problem+json with a stable code. Times are RFC 3339, durations are milliseconds in fields that end in Ms. The bodies of events are facts as they are stored: their times are milliseconds too.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'an API token, mst_...' } },
      schemas: components,
      responses: { Problem: problemResponse(schemaOf) },
    },
  };
}

function problemResponse(schemaOf: SchemaOf): Json {
  const codes = Object.entries(problemCodes).map(
    ([code, { status, title }]) => `\`${code}\` (${status}): ${title}`,
  );
  return {
    description: `A refusal or failure. Codes: ${codes.join('; ')}.`,
    content: { 'application/problem+json': { schema: schemaOf(problemSchema) } },
  };
}

function operation(route: Route, schemaOf: SchemaOf): Json {
  const parameters = [
    ...pathParameters(route),
    ...queryParameters(route, schemaOf),
    ...headerParameters(route),
  ];
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: accessText(route),
    ...(route.access === 'public' ? { security: [] } : {}),
    ...(route.access === 'optional' ? { security: [{}, { token: [] }] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(route.body) } } } }
      : {}),
    responses: { ...answers(route, schemaOf), default: { $ref: '#/components/responses/Problem' } },
  };
}

function accessText({ access, audit }: Route): string {
  const needs = {
    public: 'Needs no token.',
    optional: 'Says more with a viewer token.',
    viewer: 'Needs the role viewer.',
    member: 'Needs the role member.',
    admin: 'Needs the role admin.',
    operator: 'Needs the role admin for all projects.',
  }[access];
  return audit === 'always' ? `${needs} Audited.` : needs;
}

function answers(route: Route, schemaOf: SchemaOf): Json {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, schema]) => [
      status,
      { description: statusText(Number(status)), ...content(schema, route.stream, schemaOf) },
    ]),
  );
}

function statusText(status: number): string {
  return { 101: 'WebSocket opened', 200: 'OK', 201: 'Created', 503: 'Not ready' }[status] ?? 'Answer';
}

function content(schema: AnswerSchema, stream: boolean, schemaOf: SchemaOf): Json {
  if (schema === 'none') return {};
  const body =
    schema === 'text/plain'
      ? { 'text/plain': { schema: { type: 'string' } } }
      : { 'application/json': { schema: schemaOf(schema) } };
  return { content: stream ? { ...body, 'text/event-stream': { schema: { type: 'string' } } } : body };
}

function pathParameters({ path }: Route): Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters({ query }: Route, schemaOf: SchemaOf): Json[] {
  if (!query) return [];
  const { properties = {}, required = [] } = schemaOf(query) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description ? { description } : {}),
    schema,
  }));
}

function headerParameters({ headers }: Route): Json[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
}

/** Named schemas become references to the components; the rest is written where it is used. */
type SchemaOf = (schema: z.ZodType) => Json;

function schemaTexts(routes: readonly Route[]): { components: Json; schemaOf: SchemaOf } {
  const nameless = new Set<z.ZodType>();
  const registry = z.registry<{ id: string }>();
  const add = (schema: z.ZodType | null | 'text/plain' | 'none'): void => {
    if (schema === null || typeof schema === 'string' || registry.has(schema)) return;
    const id = named.get(schema)?.id;
    if (id === undefined) nameless.add(schema);
    registry.add(schema, { id: id ?? `nameless${nameless.size}` });
  };
  for (const schema of namedSchemas) add(schema);
  for (const { query, body, answers } of routes)
    for (const schema of [query, body, ...Object.values(answers)]) add(schema);
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}`, io: 'input' });
  const textOf = (schema: z.ZodType): Json => {
    const { $schema: _, $id: __, id: ___, ...rest } = (schemas[registry.get(schema)?.id ?? ''] ?? {}) as Json;
    return rest;
  };
  const components = Object.fromEntries(
    namedSchemas.map((schema) => [named.get(schema)?.id, textOf(schema)]),
  );
  return {
    components,
    schemaOf: (schema) =>
      nameless.has(schema) ? textOf(schema) : { $ref: `#/components/schemas/${named.get(schema)?.id}` },
  };
}
