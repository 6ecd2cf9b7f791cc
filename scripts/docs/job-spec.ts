import { unsupportedFields } from '@muster/model';
import { type JsonSchema, jobSpecSchema } from './job-spec-schema.ts';
import { code, page, table } from './markdown.ts';

interface Field {
  readonly path: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
}

/** Fields in the order of the schema, each before its parts. The two forms of accelerators have the same parts. */
function fields(schema: JsonSchema, path: string, required: boolean): Field[] {
  const own = path === '' ? [] : [{ path, schema, required }];
  const object = [schema, ...(schema.anyOf ?? [])].find((option) => option.properties);
  if (object) {
    const parts = Object.entries(object.properties ?? {}).flatMap(([name, part]) =>
      fields(part, `${path}/${name}`, object.required?.includes(name) ?? false),
    );
    return [...own, ...parts];
  }
  const each = schema.items ?? (schema.additionalProperties || undefined);
  return each?.properties ? [...own, ...fields(each, `${path}/*`, false).slice(1)] : own;
}

function typeText(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(typeText).join(' or ');
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.type === 'array') return `list of ${schema.items ? typeText(schema.items) : 'values'}`;
  if (schema.type === 'object') return schema.properties ? 'object' : 'map of names to values';
  if (schema.pattern?.includes('GiB')) return 'size';
  if (schema.pattern?.includes('ms|s|m|h|d')) return 'duration';
  return schema.type === 'string' ? 'text' : (schema.type ?? 'any');
}

function limitText(schema: JsonSchema): string {
  const options = [schema, ...(schema.anyOf ?? [])];
  const number = options.find((option) => option.minimum !== undefined || option.maximum !== undefined);
  if (number) return `${number.minimum ?? ''} to ${number.maximum ?? ''}`;
  const list = options.find((option) => option.maxItems !== undefined);
  if (list) return `${list.minItems ?? 0} to ${list.maxItems} items`;
  const isGrammar = /size|duration/.test(typeText(schema));
  return schema.maxLength !== undefined && !isGrammar ? `${schema.maxLength} characters` : '';
}

function defaultText({ schema, required }: Field): string {
  if (required) return 'required';
  return schema.default === undefined ? '' : code(JSON.stringify(schema.default));
}

/** The sentence of the table of unsupported fields that covers this field, or nothing. */
function unsupportedText(path: string): string {
  // Groups and single accelerators are covered by the same rows; a row about a field covers its parts.
  const plain = path.replace('/groups/*', '').replace('/accelerators/', '/accelerators/*/');
  const row = unsupportedFields.find(
    ({ field }) => plain === field || (plain.startsWith(`${field}/`) && field !== '/tasks'),
  );
  return row ? `**Not yet:** ${row.message}.` : '';
}

export function jobSpecPage(): string {
  const rows = fields(jobSpecSchema(), '', false).map((field) => [
    code(field.path),
    typeText(field.schema),
    defaultText(field),
    limitText(field.schema),
    [field.schema.description, unsupportedText(field.path)].filter(Boolean).join('. '),
  ]);
  return page(
    'Job spec',
    [
      'Every field of a job, as JSON pointers; `*` stands for any index or name. Unknown fields are refused.',
      'Sizes are a number and `MiB`, `GiB`, `TiB` or `PiB`; durations a number and `ms`, `s`, `m`, `h` or `d`, and may be joined (`1h30m`).',
      'Names are lower-case letters, digits and inner hyphens, 1 to 63 characters.',
      'What is marked "not yet" is refused with `unsupported-field`, never ignored.',
      'For editors: [job-spec.schema.json](job-spec.schema.json).',
    ].join(' '),
    table(['field', 'type', 'default', 'limits', 'meaning'], rows),
  );
}
