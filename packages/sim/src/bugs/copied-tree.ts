// A copy of the tree that runs by itself: every file that git would keep, the installed packages as links, and the project's own
// packages linked to the copy.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Bug } from './bugs.ts';

export interface CopiedTree {
  readonly root: string;
  remove(): void;
}

export function copyTree(root: string): CopiedTree {
  const copy = mkdtempSync(join(tmpdir(), 'muster-bugs-'));
  const listed = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', 'packages', 'package.json', 'tsconfig.json'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  for (const file of listed.split('\n').filter((name) => name !== '')) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  linkModules(root, copy);
  return { root: copy, remove: () => rmSync(copy, { recursive: true, force: true }) };
}

function linkModules(root: string, copy: string): void {
  const own = join(copy, 'node_modules', '@muster');
  mkdirSync(own, { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@muster') symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name));
  for (const name of readdirSync(join(copy, 'packages')))
    symlinkSync(join(copy, 'packages', name), join(own, name));
}

/** Applies the bug; answers how to take it back. A change whose text is not there exactly once has rotted. */
export function applyBug(root: string, bug: Bug): () => void {
  const before = new Map<string, string>();
  for (const { file, from, to } of bug.changes) {
    const path = join(root, file);
    const text = readFileSync(path, 'utf8');
    if (!before.has(path)) before.set(path, text);
    writeFileSync(path, patched(file, text, from, to));
  }
  return () => {
    for (const [path, text] of before) writeFileSync(path, text);
  };
}

export function patched(file: string, text: string, from: string, to: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`"${from}" occurs ${parts.length - 1} times in ${file}`);
  return parts.join(to);
}
