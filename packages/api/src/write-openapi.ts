// Writes docs/reference/openapi.json: node packages/api/src/write-openapi.ts
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openapiDocument } from './routes.ts';

const lineWidth = 110;
export const openapiFile = join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'openapi.json');

export function openapiText(): string {
  return `${JSON.stringify(openapiDocument(), null, 2).replace(/\[[^[\]{}]*\]/g, collapsed)}\n`;
}

/** Short lists on one line, as the formatter of the repository has them. */
function collapsed(list: string, offset: number, text: string): string {
  const flat = list.replace(/\n\s*/g, ' ').replace('[ ', '[').replace(/ \]$/, ']');
  const start = offset - text.lastIndexOf('\n', offset) - 1;
  return start + flat.length + 1 <= lineWidth ? flat : list;
}

if (import.meta.main) {
  mkdirSync(dirname(openapiFile), { recursive: true });
  writeFileSync(openapiFile, openapiText());
}
