// Reads the repository for the structure rules: the source files of every package and what each one declares.
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SourceFile } from './syntax.ts';

export const root = join(import.meta.dirname, '..', '..');

export function packageNames(): string[] {
  return readdirSync(join(root, 'packages')).filter((name) =>
    existsSync(join(root, 'packages', name, 'package.json')),
  );
}

export function sourceFiles(): SourceFile[] {
  const paths = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root });
  return paths.sort().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

export function declaredIn(packageFolder: string): Set<string> {
  const manifest = JSON.parse(readFileSync(join(root, packageFolder, 'package.json'), 'utf8'));
  return new Set(
    ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].flatMap((kind) =>
      Object.keys(manifest[kind] ?? {}),
    ),
  );
}

export function fileExists(path: string): boolean {
  return existsSync(join(root, path));
}
