import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openapiDocument } from './routes.ts';
import { openapiFile } from './write-openapi.ts';

const document = JSON.parse(JSON.stringify(openapiDocument()));

test('the document in the repository is the one the routes make', () => {
  const kept = JSON.parse(readFileSync(openapiFile, 'utf8'));
  expect(kept, 'regenerate it: node packages/api/src/write-openapi.ts').toEqual(document);
});

test('every reference in the document leads somewhere', () => {
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
    ([, path]) => path as string,
  );
  expect(refs.length).toBeGreaterThan(20);
  for (const ref of new Set(refs)) {
    let at = document;
    for (const part of ref.split('/')) at = at?.[part];
    expect(at, ref).toBeDefined();
  }
});

test('every operation has its own id, a summary, a success and the problem as default', () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path as object));
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  for (const { summary, responses } of operations) {
    expect(summary).toBeTruthy();
    expect(responses.default).toEqual({ $ref: '#/components/responses/Problem' });
    expect(Object.keys(responses).some((status) => /^[12]/.test(status))).toBe(true);
  }
});

interface Found {
  readonly path: string;
  readonly schema: Schema;
}
type Schema = Readonly<Record<string, unknown>>;

/** Every part of every answer, once for each place of the document it is written at. */
function answerParts(): Found[] {
  const found = new Map<Schema, string>();
  const walk = (schema: Schema, path: string): void => {
    if (found.has(schema)) return;
    found.set(schema, path);
    const name = /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref))?.[1];
    if (name !== undefined) walk(document.components.schemas[name], name);
    for (const [field, part] of Object.entries((schema.properties ?? {}) as Record<string, Schema>))
      walk(part, `${path}.${field}`);
    for (const part of [schema.items, schema.additionalProperties])
      if (typeof part === 'object' && part !== null) walk(part as Schema, `${path}[]`);
    for (const parts of [schema.anyOf, schema.oneOf, schema.allOf, schema.prefixItems])
      if (Array.isArray(parts)) for (const part of parts) walk(part, path);
  };
  for (const path of Object.values<Record<string, { operationId: string; responses: Schema }>>(
    document.paths,
  ))
    for (const { operationId, responses } of Object.values(path))
      for (const { content } of Object.values(responses) as {
        content?: Record<string, { schema: Schema }>;
      }[])
        for (const { schema } of Object.values(content ?? {})) walk(schema, operationId);
  return [...found].map(([schema, path]) => ({ path, schema }));
}

/** Of a field that may be null the description is inside. */
function descriptions({ description, anyOf }: Schema): unknown[] {
  return [description, ...((anyOf ?? []) as Schema[]).map((part) => part.description)];
}

test('what an answer counts in milliseconds is a duration and says so; a moment is RFC 3339', () => {
  const inMs = answerParts().flatMap(({ schema }) =>
    Object.entries((schema.properties ?? {}) as Record<string, Schema>).filter(([name]) => /Ms$/.test(name)),
  );
  expect(inMs.map(([name]) => name)).toEqual(expect.arrayContaining(['workMs', 'timeLimitMs', 'lostMs']));
  for (const [name, schema] of inMs)
    expect(
      descriptions(schema).some((text) => /^duration in milliseconds: ./.test(String(text))),
      `${name}: a moment belongs in a \`time\`, a duration in \`durationMs\` of schema-parts.ts`,
    ).toBe(true);
});

test('nothing in an answer is left open, where such a field could hide, but what others wrote', () => {
  const isOpen = ({ schema }: Found): boolean =>
    Object.keys(schema).length === 0 ||
    schema.additionalProperties === true ||
    (schema.type === 'object' && !schema.properties && typeof schema.additionalProperties !== 'object');
  const paths = answerParts()
    .filter(isOpen)
    .map(({ path }) => path);
  expect(paths.sort()).toEqual([
    // How an act ended, by its route.
    'AuditEntry.detail[]',
    // A stored fact: docs/reference/events.md.
    'Event.body[]',
    // Documents that describe themselves.
    'getJobSpecSchema',
    'getOpenapi',
    'getPolicySchema',
  ]);
});
