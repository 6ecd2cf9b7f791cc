// No hidden inputs. `model` and `engine` are pure and synchronous: time, seeds and ids are arguments, so that the
// same state gives the same plan in production, in the simulator and in what-if, on every machine. `control`
// is asynchronous but takes its clock, timers and randomness as arguments, so that the simulator runs it
// unchanged; only packages/control/src/host/ supplies the real ones.
//
// A local named like a banned global is refused as well: it would read as the thing that is banned.
import { type Finding, isNode, lineAt, parse, type SourceFile, type SyntaxNode, walk } from './syntax.ts';

export type Discipline = 'pure' | 'injected';

/** Which discipline a file stands under; undefined when the rule does not concern it. */
export function disciplineOf(path: string): Discipline | undefined {
  if (path.endsWith('.test.ts')) return undefined;
  // How many cases tests try is said in the environment; the reference engine beside it stays pure.
  if (path === 'packages/engine/src/testing/cases.ts') return undefined;
  if (/^packages\/(model|engine)\/src\//.test(path)) return 'pure';
  if (path.startsWith('packages/control/src/host/')) return undefined;
  if (path.startsWith('packages/control/src/')) return 'injected';
  return undefined;
}

const clocksAndChance = 'takes time, timers and randomness as arguments';
const bannedEverywhere = [
  'performance',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'process',
  'crypto',
  'globalThis',
  'global',
];
const bannedWhenPure = [
  ...bannedEverywhere,
  'Date',
  'queueMicrotask',
  'fetch',
  'Promise',
  'PromiseLike',
  'console',
  'Intl',
  'require',
];
// Their last digit differs between machines and engine versions, and a plan must not.
const inexactMath =
  /^(exp|expm1|pow|log|log2|log10|log1p|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|cbrt|hypot)$/;
const localeDependent = /^(localeCompare|toLocale\w+)$/;
const hiddenInputModules = /^(node:)?(timers|timers\/promises|perf_hooks|process)$/;
const deterministicCrypto = ['createHash', 'createHmac', 'hash', 'timingSafeEqual'];

type Visit = (node: SyntaxNode, parent: SyntaxNode | undefined, field: string) => string | undefined;

export function checkPurity(file: SourceFile, discipline: Discipline): Finding[] {
  const visit = discipline === 'pure' ? whenPure : whenInjected;
  const findings: Finding[] = [];
  walk(parse(file), (node, parent, field) => {
    const rule = visit(node, parent, field);
    if (rule !== undefined) findings.push({ path: file.path, line: lineAt(file.text, node.start), rule });
  });
  return findings;
}

const whenPure: Visit = (node, parent, field) => {
  if (node.async === true) return 'async: pure code is synchronous';
  if (node.type === 'AwaitExpression' || node.await === true) return 'await: pure code is synchronous';
  if (node.type === 'ImportExpression') return 'import(): pure code loads nothing';
  const source = node.type.startsWith('TSImport') ? undefined : moduleName(node);
  if (source?.startsWith('node:')) return `${source}: pure code uses no Node modules`;
  if (isInexactPower(node)) return '**: differs between machines, as Math.pow does';
  if (node.type === 'Identifier' && parent && isMemberName(node, parent, field)) {
    const name = String(node.name);
    if (localeDependent.test(name)) return `${name}: depends on the machine's locale; compare code units`;
    return undefined;
  }
  if (node.type !== 'Identifier') return undefined;
  return bannedMath(node, parent, field, true) ?? bannedName(node, bannedWhenPure, 'pure code');
};

const whenInjected: Visit = (node, parent, field) => {
  const source = moduleName(node);
  if (source !== undefined && hiddenInputModules.test(source)) return `${source}: control ${clocksAndChance}`;
  if (source === 'node:crypto' && !importsOnly(node, deterministicCrypto)) {
    return `node:crypto: only ${deterministicCrypto.join(', ')} here; control ${clocksAndChance}`;
  }
  if (node.type === 'ImportExpression' && source === undefined) return 'import() of a computed name';
  if (node.type !== 'Identifier' || (parent && isMemberName(node, parent, field))) return undefined;
  if (node.name === 'Date')
    return parent && readsClock(parent, field) ? `Date: control ${clocksAndChance}` : undefined;
  return bannedMath(node, parent, field, false) ?? bannedName(node, bannedEverywhere, 'control');
};

function bannedName(node: SyntaxNode, names: readonly string[], who: string): string | undefined {
  const name = String(node.name);
  if (!names.includes(name)) return undefined;
  return who === 'control' ? `${name}: control ${clocksAndChance}` : `${name}: not in ${who}`;
}

function bannedMath(node: SyntaxNode, parent: SyntaxNode | undefined, field: string, pure: boolean) {
  if (node.name !== 'Math') return undefined;
  if (parent?.type !== 'MemberExpression' || field !== 'object' || parent.computed === true) {
    return 'Math: name its function directly, as in Math.max, so that it can be checked';
  }
  const name = String((parent.property as SyntaxNode).name);
  if (name === 'random') return 'Math.random: randomness is an argument';
  if (pure && inexactMath.test(name)) return `Math.${name}: its last digit differs between machines`;
  return undefined;
}

// A date made from a number and the parsing of a text are calculations; everything else asks the clock.
function readsClock(parent: SyntaxNode, field: string): boolean {
  if (parent.type === 'TSTypeReference') return false;
  if (parent.type === 'BinaryExpression' && parent.operator === 'instanceof') return false;
  if (parent.type === 'NewExpression' && field === 'callee')
    return (parent.arguments as unknown[]).length === 0;
  if (parent.type === 'MemberExpression' && field === 'object' && parent.computed !== true) {
    return !['UTC', 'parse'].includes(String((parent.property as SyntaxNode).name));
  }
  return true;
}

// A power of two is exact on every machine, and so is one the parser can see through; others go through pow.
function isInexactPower(node: SyntaxNode): boolean {
  if (node.operator !== '**' && node.operator !== '**=') return false;
  const [base, exponent] = [node.left as SyntaxNode, node.right as SyntaxNode];
  return base.value !== 2 && !(base.type === 'Literal' && exponent.type === 'Literal');
}

/** Whether the identifier is the name of a member or field, and so not a reference to a global. */
function isMemberName(node: SyntaxNode, parent: SyntaxNode, field: string): boolean {
  if (parent.type === 'MemberExpression') return field === 'property' && parent.computed !== true;
  if (parent.type === 'TSQualifiedName') return field === 'right';
  if (field === 'label') return true;
  if (field === 'imported' || field === 'exported') return true;
  if (field !== 'key' || parent.computed === true) return false;
  // In `{ process }` the key is also the reference; the value holds the same name and is visited by itself.
  return isNode(parent.value) ? parent.value !== node : true;
}

function moduleName(node: SyntaxNode): string | undefined {
  const source = node.source;
  return isNode(source) && typeof source.value === 'string' ? source.value : undefined;
}

function importsOnly(node: SyntaxNode, names: readonly string[]): boolean {
  if (node.importKind === 'type') return true;
  if (node.type !== 'ImportDeclaration') return false;
  return (node.specifiers as SyntaxNode[]).every(
    (specifier) => isNode(specifier.imported) && names.includes(String(specifier.imported.name)),
  );
}
