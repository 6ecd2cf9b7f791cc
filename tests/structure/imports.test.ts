import { describe, expect, test } from 'vitest';
import { checkDeclared, checkImports, type ImportWorld } from './import-rule.ts';
import { declaredIn, fileExists, packageNames, sourceFiles } from './repository.ts';
import { describeFinding } from './syntax.ts';

describe('the repository', () => {
  const world: ImportWorld = {
    declared: new Map(packageNames().map((name) => [name, declaredIn(`packages/${name}`)])),
    rootTools: declaredIn('.'),
    fileExists,
  };

  test('imports go one way, by package name, and are declared', () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(0);
    expect(files.flatMap((file) => checkImports(file, world)).map(describeFinding)).toEqual([]);
  });

  test('packages declare only what they may import', () => {
    const findings = packageNames().flatMap((name) => checkDeclared(name, world.declared.get(name)!));
    expect(findings.map(describeFinding)).toEqual([]);
  });
});

describe('the import rule', () => {
  const world: ImportWorld = {
    declared: new Map([
      ['engine', new Set(['@muster/model', '@muster/store'])],
      ['cli', new Set(['@muster/client', 'yaml'])],
      ['muster', new Set(['@muster/sim', '@muster/bench'])],
      ['control', new Set(['@muster/sim'])],
    ]),
    rootTools: new Set(['vitest']),
    fileExists: (path) => path === 'packages/engine/src/fit.ts',
  };
  const findings = (path: string, text: string) => checkImports({ path, text }, world).map(describeFinding);

  test.each([
    ['packages/engine/src/a.ts', `import { x } from './fit.ts';`],
    ['packages/engine/src/deep/a.ts', `export * from '../fit.ts';`],
    ['packages/engine/src/a.ts', `import type { Job } from '@muster/model';`],
    [
      'packages/engine/src/a.ts',
      `// import { x } from '@muster/store';\nconst s = "import '@muster/store'";`,
    ],
    ['packages/engine/src/a.test.ts', `import { test } from 'vitest';`],
    ['packages/engine/src/testing/a.ts', `import { test } from 'vitest';`],
    ['packages/cli/src/a.ts', `import { parse } from 'yaml';\nimport fs from 'node:fs';`],
    ['packages/muster/src/a.ts', `import '@muster/sim';`],
    ['packages/engine/src/a.ts', `const folder = new URL('../migrations/', import.meta.url);`],
  ])('accepts in %s: %s', (path, text) => {
    expect(findings(path, text)).toEqual([]);
  });

  test.each([
    [
      'packages/engine/src/a.ts',
      `\nimport { x } from '@muster/store';`,
      '2 engine may not import @muster/store',
    ],
    ['packages/engine/src/a.ts', `import type { X } from '@muster/store';`, '1 engine may not import'],
    ['packages/engine/src/a.ts', `export * from '@muster/store/testing';`, '1 engine may not import'],
    ['packages/engine/src/a.ts', `const x = import('@muster/store');`, '1 engine may not import'],
    ['packages/engine/src/a.ts', `let x: import('@muster/store').Y;`, '1 engine may not import'],
    ['packages/engine/src/a.test.ts', `import '@muster/store';`, '1 engine may not import'],
    ['packages/engine/src/a.ts', `import '@muster/engine';`, '1 imports itself'],
    ['packages/engine/src/a.ts', `import '../../store/src/x.ts';`, "1 '../../store/src/x.ts' leaves package"],
    ['packages/engine/src/a.ts', `import '../../../tests/x.ts';`, '1 '],
    ['packages/engine/src/a.ts', `new URL('../../store/x.sql', import.meta.url);`, 'leaves package engine'],
    ['packages/engine/src/a.ts', `import './fit.js';`, 'write its real extension'],
    ['packages/engine/src/a.ts', `import 'vitest';`, 'does not declare'],
    ['packages/cli/src/a.ts', `import '@muster/model';`, 'packages/cli/package.json does not declare'],
    ['packages/cli/src/a.ts', `import '@muster/api';`, 'cli may not import'],
    ['packages/cli/src/a.ts', `import 'fs';`, "write 'node:fs'"],
    ['packages/muster/src/a.ts', `import '@muster/bench';`, 'muster may not import @muster/bench'],
    ['packages/control/src/a.ts', `import '@muster/sim';`, 'control may not import @muster/sim'],
    ['packages/novel/src/a.ts', ``, 'package novel is missing from the import table'],
  ])('refuses in %s: %s', (path, text, expected) => {
    const found = findings(path, text);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`${path}:`);
    expect(found[0]).toContain(expected);
  });

  test('refuses a declared dependency that points the wrong way', () => {
    const found = checkDeclared('store', new Set(['@muster/engine', '@muster/model', 'pg']));
    expect(found.map(describeFinding)).toEqual([
      'packages/store/package.json:1 store may not depend on @muster/engine',
    ]);
  });

  test('does not pass a file that it cannot parse', () => {
    expect(() => findings('packages/engine/src/a.ts', 'const = ;')).toThrow('does not parse');
  });
});
