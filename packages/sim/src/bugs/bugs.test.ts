import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bugs } from './bugs.ts';
import { patched } from './copied-tree.ts';

const root = join(import.meta.dirname, '../../../..');

test.each(bugs)('the patch still applies: $name', ({ changes }) => {
  const texts = new Map<string, string>();
  for (const { file, from, to } of changes) {
    const text = texts.get(file) ?? readFileSync(join(root, file), 'utf8');
    const changed = patched(file, text, from, to);
    expect(changed).not.toBe(text);
    texts.set(file, changed);
  }
});

test('there are at least ten of them, in rules, loops, engine and SQL', () => {
  expect(bugs.length).toBeGreaterThanOrEqual(10);
  expect(bugs.filter(({ postgres }) => postgres).length).toBeGreaterThanOrEqual(3);
});
