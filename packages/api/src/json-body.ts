// From the bytes of a body to a value that holds nothing surprising. JSON.parse is fast and right but keeps the last of two
// equal keys, takes any depth, and lets NUL and lone surrogates in through escapes; so one linear scan of the bytes
// measures depth and counts keys before parsing, and a walk of the parsed value counts them again: fewer means one was
// written twice. The slow, exact looks happen only for bodies that are going to be refused or contain escapes.
import { isUtf8 } from 'node:buffer';
import { clip, pointer, shown } from '@muster/model';
import { duplicateKey } from './json-duplicate.ts';
import { type RefusedError, refuse } from './problem.ts';

const maxDepth = 64;
const quote = 0x22;
const backslash = 0x5c;

/** Undefined for an empty body; routes that need one say so. */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    throw refuse('bad-json', 'the body starts with a byte order mark; send plain UTF-8');
  if (!isUtf8(bytes)) throw refuse('bad-json', 'the body is not valid UTF-8');
  const keysWritten = scan(bytes);
  const text = bytes.toString('utf8');
  const value = parse(text);
  const careful = bytes.includes('\\u') || bytes.includes('__proto__') || bytes.includes('constructor');
  const keysRead = careful ? inspect(value, []) : countKeys(value);
  if (keysRead !== keysWritten) {
    const at = duplicateKey(text) ?? [];
    throw badPlace(at, `the body names "${clip(pointer(at))}" twice`, undefined);
  }
  return value;
}

/** Counts `:` outside strings, one for each key of valid JSON, and refuses depth before anything is built. */
function scan(bytes: Buffer): number {
  let depth = 0;
  let keys = 0;
  const end = bytes.length;
  for (let i = 0; i < end; i++) {
    switch (bytes[i]) {
      case quote:
        for (i++; i < end && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++;
        break;
      case 0x3a: // :
        keys++;
        break;
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > maxDepth)
          throw refuse('bad-json', `the body is nested deeper than ${maxDepth} levels at byte ${i}`);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
    }
  }
  return keys;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be read';
    throw refuse('bad-json', `the body is not JSON: ${clip(why, 160)}`);
  }
}

function countKeys(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countKeys(item);
    return count;
  }
  for (const key in value) {
    count++;
    const item = (value as Record<string, unknown>)[key];
    if (typeof item === 'object') count += countKeys(item);
  }
  return count;
}

/** Counts keys as countKeys does, and looks at every string and key on the way. */
function inspect(value: unknown, path: readonly (string | number)[]): number {
  if (typeof value === 'string') {
    checkText(value, path);
    return 0;
  }
  if (value === null || typeof value !== 'object') return 0;
  if (Array.isArray(value)) return value.reduce((sum, item, i) => sum + inspect(item, [...path, i]), 0);
  let count = 0;
  for (const key of Object.keys(value)) {
    const at = [...path, key];
    checkText(key, at);
    // Harmless as own properties here, but no later merge or lookup shall ever meet them.
    if (key === '__proto__' || key === 'constructor') {
      const problem = {
        code: 'unknown-field' as const,
        path: pointer(at),
        message: `unknown field "${key}"`,
      };
      throw refuse('unknown-field', `${problem.path}: ${problem.message}`, {
        errors: [{ ...problem, value: null }],
      });
    }
    count += 1 + inspect((value as Record<string, unknown>)[key], at);
  }
  return count;
}

function checkText(text: string, path: readonly (string | number)[]): void {
  const where = clip(pointer(path)) || 'the body';
  if (text.includes('\0')) throw badPlace(path, `${where} contains a NUL character`, text);
  if (!text.isWellFormed()) throw badPlace(path, `${where} contains half of a surrogate pair`, text);
}

/** Bad JSON whose place is known. */
function badPlace(at: readonly (string | number)[], message: string, value: unknown): RefusedError {
  const error = { code: 'invalid-field' as const, path: pointer(at), message, value: shown(value) };
  return refuse('bad-json', message, { errors: [error] });
}
