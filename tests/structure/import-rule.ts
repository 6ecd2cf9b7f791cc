// The direction of imports, from ARCHITECTURE: packages know only those below them, no file reaches into another
// package by a relative path, and every package a file imports is declared in its own package.json.
import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { type Finding, isNode, lineAt, parse, type SourceFile, type SyntaxNode, walk } from './syntax.ts';

const library = [
  'model',
  'engine',
  'predict',
  'store',
  'drivers',
  'agent',
  'control',
  'api',
  'client',
  'cli',
];

/** Which workspace packages each package may import. A package missing here fails the rule. */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  model: [],
  engine: ['model'],
  predict: ['model'],
  store: ['model'],
  drivers: ['model'],
  agent: ['model'],
  control: ['model', 'engine', 'predict', 'store', 'drivers'],
  api: ['model', 'engine', 'predict', 'store', 'drivers', 'control'],
  client: ['model'],
  cli: ['client', 'model'],
  web: ['client', 'model'],
  sim: [...library, 'web'],
  bench: [...library, 'web', 'sim'],
  muster: [...library, 'web', 'sim'],
};

export interface ImportWorld {
  /** Names a package's own package.json declares, by package folder name. */
  readonly declared: ReadonlyMap<string, ReadonlySet<string>>;
  /** What the root package.json declares: tools that only tests, test harnesses and benchmarks may import. */
  readonly rootTools: ReadonlySet<string>;
  readonly fileExists: (path: string) => boolean;
}

interface Specifier {
  readonly value: string;
  readonly offset: number;
  /** A `new URL(..., import.meta.url)` names a file to open, which need not be a module. */
  readonly isModule: boolean;
}

const builtins = new Set(builtinModules);

export function checkImports(file: SourceFile, world: ImportWorld): Finding[] {
  const owner = packageOf(file.path);
  if (owner === undefined) throw new Error(`${file.path} is not in a package`);
  if (!(owner in mayImport)) {
    return [{ path: file.path, line: 1, rule: `package ${owner} is missing from the import table` }];
  }
  const findings: Finding[] = [];
  for (const specifier of specifiersOf(parse(file))) {
    const rule = ruleBroken(file.path, owner, specifier, world);
    if (rule !== undefined)
      findings.push({ path: file.path, line: lineAt(file.text, specifier.offset), rule });
  }
  return findings;
}

/** A declared dependency must be an allowed one too, so that a wrong direction is refused before it is used. */
export function checkDeclared(owner: string, declared: ReadonlySet<string>): Finding[] {
  const path = `packages/${owner}/package.json`;
  const allowed = mayImport[owner];
  if (allowed === undefined)
    return [{ path, line: 1, rule: `package ${owner} is missing from the import table` }];
  return [...declared]
    .filter((name) => name.startsWith('@muster/') && !allowed.includes(name.slice('@muster/'.length)))
    .map((name) => ({ path, line: 1, rule: `${owner} may not depend on ${name}` }));
}

function ruleBroken(path: string, owner: string, specifier: Specifier, world: ImportWorld) {
  const { value } = specifier;
  if (value.startsWith('.')) return relativeRuleBroken(path, owner, specifier, world);
  if (!specifier.isModule || value.startsWith('node:')) return undefined;
  if (builtins.has(value)) return `'${value}' is a Node module: write 'node:${value}'`;
  const name = value
    .split('/')
    .slice(0, value.startsWith('@') ? 2 : 1)
    .join('/');
  if (name.startsWith('@muster/')) {
    const target = name.slice('@muster/'.length);
    if (target === owner) return `imports itself as '${value}': use a relative path`;
    if (!mayImport[owner]?.includes(target)) return `${owner} may not import ${name}`;
  }
  if (world.declared.get(owner)?.has(name)) return undefined;
  if (mayUseRootTools(path, owner) && world.rootTools.has(name)) return undefined;
  return `imports '${name}', which packages/${owner}/package.json does not declare`;
}

function relativeRuleBroken(path: string, owner: string, specifier: Specifier, world: ImportWorld) {
  const target = posix.join(posix.dirname(path), specifier.value);
  if (!target.startsWith(`packages/${owner}/`)) {
    return `'${specifier.value}' leaves package ${owner}: import the package by its name`;
  }
  // The compiler accepts './x.js' for x.ts; Node, which runs the source as it is, does not.
  if (specifier.isModule && !world.fileExists(target))
    return `'${specifier.value}' names no file: write its real extension`;
  return undefined;
}

function mayUseRootTools(path: string, owner: string): boolean {
  return owner === 'bench' || path.endsWith('.test.ts') || /\/(testing|conformance)\//.test(path);
}

export function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

function specifiersOf(program: SyntaxNode): Specifier[] {
  const found: Specifier[] = [];
  walk(program, (node) => {
    const source = sourceOf(node);
    if (isNode(source) && typeof source.value === 'string') {
      found.push({ value: source.value, offset: source.start, isModule: node.type !== 'NewExpression' });
    }
  });
  return found;
}

// Imports whose name is computed are not seen here; the purity rule forbids them in the packages it guards.
function sourceOf(node: SyntaxNode): unknown {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
    case 'ImportExpression':
    case 'TSImportType':
      return node.source;
    case 'TSExternalModuleReference':
      return node.expression;
    case 'NewExpression':
      return isFileUrl(node) ? (node.arguments as unknown[])[0] : undefined;
    default:
      return undefined;
  }
}

function isFileUrl(node: SyntaxNode): boolean {
  const [, base] = node.arguments as SyntaxNode[];
  const object = base?.type === 'MemberExpression' ? (base.object as SyntaxNode) : undefined;
  return (node.callee as SyntaxNode).name === 'URL' && object?.type === 'MetaProperty';
}
