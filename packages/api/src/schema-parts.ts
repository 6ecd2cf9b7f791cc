// What the schemas of answers are made of. Each is tied to the type of its view, so that a field or a kind that is added to a
// view and not to its schema does not compile.
import * as z from 'zod';

/** Schemas that get a name in the document. */
export const named = z.registry<{ id: string }>();
export const namedSchemas: z.ZodType[] = [];

export function name(schema: z.ZodType, id: string): void {
  named.add(schema, { id });
  namedSchemas.push(schema);
}

type Shape<V> = Record<keyof V, z.ZodType>;

/** A schema with exactly the fields of a view. */
export function fields<V extends object>(shape: Shape<V>): z.ZodType<V> {
  return z.object(shape) as unknown as z.ZodType<V>;
}

/** The same, with a name. */
export function view<V extends object>(id: string, shape: Shape<V>): z.ZodType<V> {
  const schema = fields<V>(shape);
  name(schema, id);
  return schema;
}

/** The members of the union `V` of which `K` can be `Word`. */
type Member<V, K extends keyof V, Word> = V extends unknown ? (Word extends V[K] ? V : never) : never;

/** A schema with exactly the members of a union, which `key` tells apart. */
export function kinds<V extends object, K extends keyof V & string>(
  key: K,
  shapes: { readonly [Word in V[K] & string]: Shape<Omit<Member<V, K, Word>, K>> },
): z.ZodType<V> {
  const members = Object.entries<Shape<object>>(shapes).map(([word, shape]) =>
    z.object({ [key]: z.literal(word), ...shape }),
  );
  return z.discriminatedUnion(key, members as never) as unknown as z.ZodType<V>;
}

export const text = z.string();
export const whole = z.int();
export const time = z.string().meta({ format: 'date-time', description: 'RFC 3339' });
export const textMap = z.record(z.string(), z.string());
export const open = z.record(z.string(), z.unknown());
export const reason = z.object({ code: text, message: text });
export const money = z.number().meta({ description: 'money' });
export const milli = whole.meta({ description: 'thousandths of devices' });

/** The only numbers of an answer that count milliseconds: a moment is a `time`. A test reads the description. */
export function durationMs(what: string): z.ZodInt {
  return whole.meta({ description: `duration in milliseconds: ${what}` });
}
