// From an untrusted value to a whole job spec, or to the list of everything wrong with it, each with its JSON pointer,
// the offending value and what is allowed. Used by the API for every submit and by the CLI before it sends one.
import type * as z from 'zod';
import { completeSpec, type JobSpec, type SpecDefaults } from './job-spec.ts';
import { nearest } from './names.ts';
import { jobSpecSchema, type RawJobSpec } from './spec.ts';
import { clip } from './units.ts';
import { unsupportedFields } from './unsupported.ts';

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

export function parseSpec(input: unknown, defaults: SpecDefaults): ParsedSpec {
  const parsed = jobSpecSchema.safeParse(input);
  if (!parsed.success) return { ok: false, problems: fieldProblems(parsed.error, input) };
  const unsupported = unsupportedProblems(parsed.data);
  if (unsupported.length > 0) return { ok: false, problems: unsupported };
  const completed = completeSpec(parsed.data, defaults);
  if (completed.ok) return completed;
  const { path, message } = completed;
  return { ok: false, problems: [{ code: 'invalid-field', path, message, value: null }] };
}

function unsupportedProblems(raw: RawJobSpec): FieldProblem[] {
  return unsupportedFields.flatMap(({ used, message }) => {
    const path = used(raw);
    return path === null ? [] : [{ code: 'unsupported-field' as const, path, message, value: null }];
  });
}

/** Zod's issues in our form; shared by every strict body of the API. */
export function fieldProblems(error: z.ZodError, input: unknown): FieldProblem[] {
  return error.issues.flatMap((issue) => issueProblems(issue, [], input));
}

type Issue = z.core.$ZodIssue;

function issueProblems(issue: Issue, prefix: readonly PropertyKey[], input: unknown): FieldProblem[] {
  const at = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const near = nearest(key, knownKeys(at));
      const message = `unknown field "${clip(key)}"${near ? `; did you mean "${near}"?` : ''}`;
      return { code: 'unknown-field' as const, path: pointer([...at, key]), message, value: null };
    });
  }
  if (issue.code === 'invalid_union') {
    // The branch that got furthest says what the writer most likely meant.
    const branches = issue.errors.map((issues) =>
      issues.flatMap((inner) => issueProblems(inner as Issue, at, input)),
    );
    const deepest = branches.sort((a, b) => depth(b) - depth(a))[0];
    if (deepest && deepest.length > 0) return deepest;
  }
  return [
    { code: 'invalid-field', path: pointer(at), message: issue.message, value: show(lookup(input, at)) },
  ];
}

function depth(problems: readonly FieldProblem[]): number {
  return Math.max(0, ...problems.map((problem) => problem.path.split('/').length));
}

export function pointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function lookup(input: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = input;
  for (const part of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value;
}

function show(value: unknown): string | null {
  return value === undefined ? null : clip(JSON.stringify(value) ?? String(value));
}

/** The field names the schema allows at a path, for "did you mean". */
export function knownKeys(path: readonly PropertyKey[]): string[] {
  let schemas: z.core.$ZodType[] = [jobSpecSchema];
  for (const part of path) schemas = schemas.flatMap((schema) => children(schema, part));
  return [
    ...new Set(schemas.flatMap((schema) => objectShapes(schema).flatMap((shape) => Object.keys(shape)))),
  ];
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
