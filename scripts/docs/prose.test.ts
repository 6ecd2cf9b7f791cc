// Documents name files, link to each other and show jobs. All of that rots unless it is checked.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSpec } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..');
const documents = [...globSync('*.md', { cwd: root }), ...globSync('docs/**/*.md', { cwd: root })].sort();

describe.each(documents)('%s', (path) => {
  const text = readFileSync(join(root, path), 'utf8');

  test('names only files that exist', () => {
    const named = [...text.matchAll(/`((?:packages|tests|scripts|docs)\/[\w./-]+)`/g)].map(
      ([, name]) => name ?? '',
    );
    expect(named.filter((name) => !existsSync(join(root, name)))).toEqual([]);
  });

  test('links only to what is there', () => {
    const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link]) => link ?? '');
    const local = links.filter((link) => !/^[a-z]+:/.test(link));
    expect(local.filter((link) => !existsSync(join(root, dirname(path), link)))).toEqual([]);
  });

  test('shows jobs that would be accepted', () => {
    const blocks = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block]) => block ?? '');
    for (const block of blocks) {
      const shown = parse(block) as Record<string, unknown>;
      // A fragment shows one field; the rest is a job's least.
      const job = 'command' in shown || 'groups' in shown ? shown : { command: ['true'], ...shown };
      const parsed = parseSpec(job, { project: 'p', tier: 'standard', stopAfterMs: () => null });
      expect(parsed.ok ? [] : parsed.problems).toEqual([]);
    }
  });
});
