// Documents name files, link to each other and show jobs. All of that rots unless it is checked.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clusterConfigSchema, parsePolicy, parseSpec } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { musterProgram } from './cli.ts';

const root = join(import.meta.dirname, '..', '..');
const documents = [...globSync('*.md', { cwd: root }), ...globSync('docs/**/*.md', { cwd: root })].sort();
const clusterKinds = new Set(['agent', 'slurm', 'kubernetes']);

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

  test('shows jobs and clusters that would be accepted', () => {
    const blocks = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block]) => block ?? '');
    for (const block of blocks) {
      const shown = parse(block) as Record<string, unknown>;
      if (clusterKinds.has(String(shown.kind))) {
        expect(clusterConfigSchema.safeParse(shown).error?.issues ?? []).toEqual([]);
        continue;
      }
      // A fragment shows one field; the rest is a job's least.
      const job = 'command' in shown || 'groups' in shown ? shown : { command: ['true'], ...shown };
      const parsed = parseSpec(job, { project: 'p', tier: 'standard', stopAfterMs: () => null });
      expect(parsed.ok ? [] : parsed.problems).toEqual([]);
    }
  });

  test('shows policies that would be accepted', () => {
    for (const [, block] of text.matchAll(/```yml\n([\s\S]*?)```/g)) {
      const parsed = parsePolicy(parse(block ?? ''));
      expect(parsed.ok ? [] : parsed.problems).toEqual([]);
    }
  });

  test('shows commands and flags that exist', () => {
    const inBlocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) =>
      (block ?? '').split('\n'),
    );
    const inline = [...text.matchAll(/`(muster [^`]+)`/g)].map(([, line]) => line ?? '');
    expect(inBlocks.flatMap((line) => unknownIn(line, true))).toEqual([]);
    expect(inline.flatMap((line) => unknownIn(line, false))).toEqual([]);
  });
});

/** What a line says that the program does not know, or leaves out although it is to be typed and the program wants it. */
function unknownIn(line: string, typed: boolean): string[] {
  const command = /(?:^|\s)(?:muster|npm run muster --) ([a-z].*)$/.exec(line.split(/\s#/)[0] ?? '')?.[1];
  if (command === undefined) return [];
  const words = command.split(/\s+/);
  const own = words.indexOf('--') < 0 ? words : words.slice(0, words.indexOf('--'));
  let at = musterProgram();
  const unknown: string[] = [];
  for (const word of own) {
    const child = at.commands.find((each) => each.name() === word);
    if (child) at = child;
    else if (at.parent === null) return [`muster ${word}`];
    else if (/^--?[a-z]/.test(word) && !at.options.some(({ short, long }) => word === short || word === long))
      unknown.push(`${at.name()} ${word}`);
  }
  const missing = at.options.filter(
    ({ mandatory, short, long }) => mandatory && !own.includes(`${short}`) && !own.includes(`${long}`),
  );
  return typed ? [...unknown, ...missing.map(({ long }) => `${at.name()} without ${long}`)] : unknown;
}
