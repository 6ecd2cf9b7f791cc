// What both structure rules stand on: a parsed source file, a walk over its syntax, and the form of a finding.
// The parser is Vite's (already here for vitest and the web pages); TypeScript 7 has no stable one.
import { parseSync } from 'vite';

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

export interface SourceFile {
  /** From the repository root, with forward slashes: `packages/engine/src/fit.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
}

export function describeFinding(finding: Finding): string {
  return `${finding.path}:${finding.line} ${finding.rule}`;
}

export function parse(file: SourceFile): SyntaxNode {
  const { program, errors } = parseSync(file.path, file.text);
  const first = errors[0];
  // A file that cannot be read must not pass as a file without findings.
  if (first) throw new Error(`${file.path} does not parse: ${first.message}`);
  return program as unknown as SyntaxNode;
}

export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let i = text.indexOf('\n'); i !== -1 && i < offset; i = text.indexOf('\n', i + 1)) line += 1;
  return line;
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';
}

/** Calls `visit` for every node, with its parent and the name of the field that holds it. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, parent: SyntaxNode | undefined, field: string) => void,
  parent?: SyntaxNode,
  field = '',
): void {
  visit(node, parent, field);
  for (const [name, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, visit, node, name);
    }
  }
}
