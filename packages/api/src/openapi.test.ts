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
