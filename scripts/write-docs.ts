// `npm run docs`: writes the generated reference pages. A unit test fails when a checked-in page differs.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pages } from './docs/pages.ts';

const root = join(import.meta.dirname, '..');

for (const { path, make } of pages) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), await make());
  console.log(path);
}
