// From an untrusted value to a whole job spec, or to the list of everything wrong with it, each with its JSON pointer,
// the offending value and what is allowed. Used by the API for every submit and by the CLI before it sends one.
import * as z from 'zod';
import { completeSpec, type JobSpec, type SpecDefaults } from './job-spec.ts';
import { nearest } from './names.ts';
import { type JobSpecInput, jobSpecSchema } from './spec.ts';
import { clip } from './units.ts';
import { unsupportedUses } from './unsupported.ts';

export interface FieldProblem {
  readonly code: 'invalid-field' | 'unknown-field' | 'unsupported-field';
  /** JSON pointer; '' is the whole value. */
  readonly path: string;
  readonly message: string;
  /** The offending value, clipped; null when there is none. */
  readonly value: string | null;
}

export type ParsedSpec =
  | { readonly ok: true; readonly spec: JobSpec }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/**
 * The same answers from generated code when the value is good. Making it takes longer than a hundred parses, so a CLI that
 * checks one file does without, and a server makes it after the first few.
 */
let fastSchema: typeof jobSpecSchema | null = null;
let slowParses = 0;
const slowParsesMax = 10;

export function parseSpec(input: unknown, defaults: SpecDefaults): ParsedSpec {
  if (fastSchema === null && ++slowParses > slowParsesMax) fastSchema = z.compile(jobSpecSchema);
  const parsed = (fastSchema ?? jobSpecSchema).safeParse(input);
  if (!parsed.success) return { ok: false, problems: fieldProblems(parsed.error, input) };
  const leftOut = prototypeKeys(input);
  if (leftOut.length > 0) return { ok: false, problems: leftOut };
  const unsupported = unsupportedUses(parsed.data);
  if (unsupported.length > 0) return refusedUses('unsupported-field', unsupported, input);
  const completed = completeSpec(parsed.data, defaults);
  return completed.ok ? completed : refusedUses('invalid-field', completed.problems, input);
}

function refusedUses(
  code: FieldProblem['code'],
  uses: readonly { readonly path: string; readonly message: string }[],
  input: unknown,
): ParsedSpec {
  const problems = uses.map(({ path, message }) => {
    const parts = path.split('/').slice(1);
    return { code, path, message, value: shown(lookup(input, parts)) };
  });
  return { ok: false, problems };
}

/** Zod leaves a record's own `__proto__` out without a word; what we do not honour we refuse. */
function prototypeKeys(input: unknown): FieldProblem[] {
  const spec = input as JobSpecInput;
  const problems: FieldProblem[] = [];
  const look = (path: string, record: object | undefined): void => {
    if (record === undefined || !Object.hasOwn(record, '__proto__')) return;
    const message = 'is not allowed as a name';
    problems.push({ code: 'invalid-field', path: `${path}/__proto__`, message, value: null });
  };
  look('/env', spec.env);
  look('/labels', spec.labels);
  look('/secrets', spec.secrets);
  for (const [i, group] of (spec.groups ?? []).entries()) look(`/groups/${i}/env`, group.env);
  return problems;
}

/** A list longer than this helps nobody, and making it would take longer than the request deserves. */
const maxProblems = 50;

/** Zod's issues in our form; shared by every strict body of the API. `schema` is what the body was parsed with. */
export function fieldProblems(
  error: z.ZodError,
  input: unknown,
  schema: z.core.$ZodType = jobSpecSchema,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const told = new Set<string>();
  for (const issue of error.issues) {
    for (const problem of issueProblems(issue, [], input, schema)) {
      // A number far out of its range breaks several rules that have one sentence.
      const text = `${problem.path} ${problem.message}`;
      if (!told.has(text)) problems.push(problem);
      told.add(text);
    }
    if (problems.length >= maxProblems) break;
  }
  return problems.slice(0, maxProblems);
}

type Issue = z.core.$ZodIssue;

function issueProblems(
  issue: Issue,
  prefix: readonly PropertyKey[],
  input: unknown,
  schema: z.core.$ZodType,
): FieldProblem[] {
  const at = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(at, schema);
    return issue.keys.slice(0, maxProblems).map((key) => {
      const message = known.includes(key)
        ? `${kindOf(input, at)} has no field "${clip(key)}"; another kind has`
        : `unknown field "${clip(key)}"${hint(key, known)}`;
      return { code: 'unknown-field' as const, path: pointer([...at, key]), message, value: null };
    });
  }
  if (issue.code === 'invalid_union') {
    // The branch that got furthest says what the writer most likely meant.
    const branches = issue.errors.map((issues) =>
      issues.slice(0, maxProblems).flatMap((inner) => issueProblems(inner as Issue, at, input, schema)),
    );
    const deepest = branches.sort((a, b) => depth(b) - depth(a))[0];
    if (deepest && deepest.length > 0) return deepest;
  }
  const value = lookup(input, at);
  const message = issueText(issue, value, numberRule(issue, at, schema));
  return [{ code: 'invalid-field', path: pointer(at), message, value: shown(value) }];
}

/** What has a field that belongs to another of its kinds. */
function kindOf(input: unknown, at: readonly PropertyKey[]): string {
  const kind = lookup(input, [...at, 'kind']);
  return typeof kind === 'string' ? `the kind ${clip(kind)}` : 'this kind';
}

/** Where there are few names, all of them; a long list helps less than the reference page. */
function hint(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  if (near) return `; did you mean "${near}"?`;
  return known.length > 0 && known.length <= 8 ? `; there are ${known.join(', ')}` : '';
}

/** The whole range of a number, whichever end of it or of its type was missed; null when the issue is another. */
function numberRule(issue: Issue, at: readonly PropertyKey[], schema: z.core.$ZodType): string | null {
  const kind =
    issue.code === 'invalid_type'
      ? issue.expected
      : issue.code === 'too_small' || issue.code === 'too_big'
        ? issue.origin
        : '';
  if (kind !== 'number' && kind !== 'int') return null;
  const number = schemasAt(at, schema)
    .flatMap(unwrap)
    .find((each) => each instanceof z.ZodNumber);
  // One that words its rule itself.
  if (number?.def.error) return issue.message;
  if (typeof number?.minValue !== 'number' || typeof number.maxValue !== 'number') return null;
  return `must be ${number.isInt ? 'a whole number' : 'a number'} from ${number.minValue} to ${number.maxValue}`;
}

/** The schema's own words for a wrong type are a programmer's. */
function issueText(issue: Issue, value: unknown, rule: string | null): string {
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message;
  if (rule !== null)
    return value === undefined ? `is missing; it ${rule}` : `${rule}, not ${givenText(value)}`;
  if (issue.code !== 'invalid_type') return issue.message;
  const wanted = typeWords[issue.expected] ?? issue.expected;
  if (value === undefined) return `is missing; it must be ${wanted}`;
  return `must be ${wanted}, not ${givenText(value)}`;
}

function givenText(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return String(value);
  return Array.isArray(value) ? 'a list' : (typeWords[typeof value] ?? typeof value);
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list, such as [a, b]',
  object: 'a mapping of fields',
  record: 'a mapping of names to values',
};

function depth(problems: readonly FieldProblem[]): number {
  return Math.max(0, ...problems.map((problem) => problem.path.split('/').length));
}

export function pointer(path: readonly PropertyKey[]): string {
  return path
    .map((part) => `/${clip(String(part), 200).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}

function lookup(input: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = input;
  for (const part of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value;
}

const maxShown = 80;

/** A value as an answer shows it: JSON, clipped; null when there is none. */
export function shown(value: unknown): string | null {
  if (value === undefined) return null;
  // Clipped inside its quotes; escapes can still make it longer.
  if (typeof value === 'string') return clip(JSON.stringify(clip(value, maxShown - 2)), maxShown);
  if (typeof value !== 'object' || value === null) return clip(String(value), maxShown);
  try {
    return clip(JSON.stringify(value), maxShown);
  } catch {
    // YAML can say what JSON cannot: values that contain themselves, whole numbers of any length.
    return Array.isArray(value) ? '[...]' : '{...}';
  }
}

/** The field names the schema allows at a path, for "did you mean". */
export function knownKeys(path: readonly PropertyKey[], schema: z.core.$ZodType = jobSpecSchema): string[] {
  const shapes = schemasAt(path, schema).flatMap(objectShapes);
  return [...new Set(shapes.flatMap((shape) => Object.keys(shape)))];
}

function schemasAt(path: readonly PropertyKey[], schema: z.core.$ZodType): z.core.$ZodType[] {
  let schemas: z.core.$ZodType[] = [schema];
  for (const part of path) schemas = schemas.flatMap((each) => children(each, part));
  return schemas;
}

type Def = {
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
  options?: z.core.$ZodType[];
  element?: z.core.$ZodType;
  shape?: Record<string, z.core.$ZodType>;
  valueType?: z.core.$ZodType;
};

function unwrap(schema: z.core.$ZodType): z.core.$ZodType[] {
  const def = schema._zod.def as Def;
  if (def.innerType) return unwrap(def.innerType);
  if (def.in) return unwrap(def.in);
  if (def.options) return def.options.flatMap(unwrap);
  return [schema];
}

function objectShapes(schema: z.core.$ZodType): Record<string, z.core.$ZodType>[] {
  return unwrap(schema).flatMap((inner) => {
    const shape = (inner._zod.def as Def).shape;
    return shape ? [shape] : [];
  });
}

function children(schema: z.core.$ZodType, part: PropertyKey): z.core.$ZodType[] {
  return unwrap(schema).flatMap((inner) => {
    const def = inner._zod.def as Def;
    if (def.element && typeof part === 'number') return [def.element];
    const child = def.shape && typeof part === 'string' ? def.shape[part] : undefined;
    if (child) return [child];
    return def.valueType ? [def.valueType] : [];
  });
}
