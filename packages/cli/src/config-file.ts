// A strict YAML file of settings, for the parts that are configured by one: an unknown key, a wrong type or a secret that everybody can
// read refuses the start and names file, line and key.
import { readFileSync, statSync } from 'node:fs';
import { clip, nearest } from '@muster/model';
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { usage } from './failure.ts';
import { clean } from './text/clean.ts';
import { whyUnreadable } from './unreadable.ts';

export interface Setting<T> {
  readonly kind: 'text' | 'number' | 'flag';
  /** The file must not be readable by everybody when it holds this one. */
  readonly secret?: boolean;
  /** Returns what is wrong with a value, or null. */
  readonly check?: (value: T) => string | null;
}

// biome-ignore lint/suspicious/noExplicitAny: each setting's own type is in its kind
export type Settings = Readonly<Record<string, Setting<any>>>;

const typeOf = { text: 'string', number: 'number', flag: 'boolean' } as const;
const nameOf = { text: 'a text', number: 'a number', flag: 'true or false' } as const;

export interface ConfigFile {
  readonly values: Readonly<Record<string, unknown>>;
  /** `file:line: key` of each setting that the file has, for what only shows later to be wrong with it. */
  readonly places: Readonly<Record<string, string>>;
}

export function readConfigFile(path: string, settings: Settings): ConfigFile {
  const text = readText(path);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const refuse = (offset: number, message: string): Error =>
    usage(`${path}:${lines.linePos(offset).line}: ${message}`);
  const [broken] = document.errors;
  if (broken) throw refuse(broken.pos[0], broken.message);
  if (document.contents === null) return { values: {}, places: {} };
  if (!isMap(document.contents)) throw refuse(0, 'must be a mapping of settings');
  const values: Record<string, unknown> = {};
  const places: Record<string, string> = {};
  for (const { key, value } of document.contents.items) {
    const offset = isScalar(key) ? (key.range?.[0] ?? 0) : 0;
    const name = isScalar(key) ? String(key.value) : '';
    const setting = Object.hasOwn(settings, name) ? settings[name] : undefined;
    if (!setting) throw refuse(offset, unknownKey(name, Object.keys(settings)));
    const given: unknown = isScalar(value) ? value.value : value;
    if (typeof given !== typeOf[setting.kind])
      throw refuse(offset, `${name}: must be ${nameOf[setting.kind]}`);
    const wrong = setting.check?.(given) ?? null;
    if (wrong !== null) throw refuse(offset, `${name}: ${wrong}`);
    if (setting.secret && isOpen(path))
      throw refuse(
        offset,
        `${name}: is a secret, and everybody can read this file; run: chmod o-rwx ${path}`,
      );
    values[name] = given;
    places[name] = `${path}:${lines.linePos(offset).line}: ${name}`;
  }
  return { values, places };
}

function unknownKey(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return `unknown key "${clip(clean(name))}"; ${near ? `did you mean "${near}"?` : `known are ${known.join(', ')}`}`;
}

function isOpen(path: string): boolean {
  return (statSync(path).mode & 0o007) !== 0;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw usage(`cannot read ${path}: ${whyUnreadable(error)}`);
  }
}
