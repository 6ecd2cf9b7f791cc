// Where in a file a JSON pointer points: at a wrong value the value, at an unknown field its name, at a missing field the
// nearest thing around it.
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Node } from 'yaml';

export interface Spot {
  readonly line: number;
  readonly column: number;
}

export type Part = 'name' | 'value';

export function place(
  document: Document,
  pointer: string,
  part: Part,
  spotAt: (offset: number) => Spot,
): Spot {
  let at: Node | null = document.contents;
  let offset = at?.range?.[0] ?? 0;
  for (const key of pointerParts(pointer)) {
    if (isAlias(at)) at = at.resolve(document) ?? null;
    const next = child(at, key);
    if (next === null) break;
    at = next.value;
    // A block stands below its name, and the name is what a reader looks for.
    const isBlock = (isMap(at) || isSeq(at)) && !at.flow;
    offset = part === 'name' || isBlock ? next.offset : (at?.range?.[0] ?? next.offset);
  }
  return spotAt(offset);
}

function child(node: Node | null, part: string): { value: Node | null; offset: number } | null {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === part);
    if (!pair || !isNode(pair.key)) return null;
    const value = isNode(pair.value) ? pair.value : null;
    return { value, offset: pair.key.range?.[0] ?? 0 };
  }
  if (isSeq(node)) {
    const item = node.items[Number(part)];
    return isNode(item) ? { value: item, offset: item.range?.[0] ?? 0 } : null;
  }
  return null;
}

export function pointerParts(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}
