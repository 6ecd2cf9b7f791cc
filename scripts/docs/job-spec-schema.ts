// The job spec as JSON Schema, for editors. What JSON Schema cannot say (sizes in bytes, fields that exclude each
// other) is checked by the server.
import { jobSpecSchema } from '@muster/model';
import * as z from 'zod';

export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly additionalProperties?: JsonSchema | false;
}

export function jobSpecJsonSchema(): JsonSchema & Record<string, unknown> {
  const { $schema, ...body } = z.toJSONSchema(jobSpecSchema, { io: 'input', target: 'draft-2020-12' });
  return {
    $schema,
    title: 'Muster job',
    description: 'A job as people write it, in YAML or JSON.',
    ...(body as JsonSchema),
  };
}

export function jobSpecSchemaPage(): string {
  return `${JSON.stringify(jobSpecJsonSchema(), null, 2)}\n`;
}
