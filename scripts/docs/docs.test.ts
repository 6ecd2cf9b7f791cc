import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pages } from './pages.ts';

const root = join(import.meta.dirname, '..', '..');

test.each(pages)(
  '$path is what the code says; if not, run `npm run docs` and commit',
  async ({ path, make }) => {
    expect(readFileSync(join(root, path), 'utf8')).toBe(await make());
  },
);
