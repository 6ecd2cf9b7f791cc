// Queries and bodies against their strict schemas, with the errors in our form: pointer, clipped value, what is allowed, and
// the nearest known name for an unknown one.
import { type FieldProblem, fieldProblems, pointer, shown } from '@muster/model';
import * as z from 'zod';
import { fieldRefusal, fieldSummary, refuse } from './problem.ts';

export function checkBody(schema: z.ZodType, body: unknown): unknown {
  if (body === undefined) throw refuse('bad-json', 'the body is empty; send JSON');
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw fieldRefusal(fieldProblems(parsed.error, body, schema));
}

const noQuery = z.strictObject({});

/** What an empty query means to each schema; most requests have none. */
const emptyQueries = new WeakMap<z.ZodObject, unknown>();

/** Form errors of a query are 400: the resource was never looked at. */
export function checkQuery(schema: z.ZodObject | null, query: object): unknown {
  if (!isEmpty(query)) return parseQuery(schema, query);
  const key = schema ?? noQuery;
  if (!emptyQueries.has(key)) emptyQueries.set(key, parseQuery(schema, {}));
  return emptyQueries.get(key);
}

function isEmpty(query: object): boolean {
  for (const _ in query) return false;
  return true;
}

function parseQuery(schema: z.ZodObject | null, query: object): unknown {
  const problems = nulProblems(query);
  if (problems.length === 0) {
    const parsed = (schema ?? noQuery).safeParse(query);
    if (parsed.success) return parsed.data;
    problems.push(...fieldProblems(parsed.error, query, schema ?? noQuery));
  }
  throw refuse('bad-request', fieldSummary(problems).detail, { errors: problems });
}

/** No name or text of ours has one, and the database takes none. */
function nulProblems(query: object): FieldProblem[] {
  return Object.entries(query).flatMap(([name, value]) => {
    if (![name, value].join('').includes('\0')) return [];
    const message = 'must not contain a NUL character';
    return [{ code: 'invalid-field' as const, path: pointer([name]), message, value: shown(value) }];
  });
}

const maxPage = 1000;

/** `limit`: at least 1, quietly capped. */
export const limitParam = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, `must be a whole number from 1 to ${maxPage}`)
  .transform((text) => Math.min(Number(text), maxPage))
  .optional()
  .meta({ description: `items on a page, at most ${maxPage}; 100 when left out` });

export const defaultLimit = 100;

export const flagParam = (description: string) =>
  z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .meta({ description });

export const countParam = (description: string) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number, 0 or more')
    .transform(Number)
    .optional()
    .meta({ description });

export const cursorParam = z
  .string()
  .max(500)
  .optional()
  .meta({ description: 'where the page before ended: its `next`' });

export const pageQuery = z.strictObject({ limit: limitParam, cursor: cursorParam });
