// The job spec and the policy as JSON Schema, for editors. What JSON Schema cannot say (sizes in bytes, fields that exclude each
// other) is checked by the server.
import { jobSpecJsonSchema, policyJsonSchema } from '@muster/api';

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

/** The same that a server answers at /v1/schemas/job-spec.json. */
export function jobSpecSchema(): JsonSchema {
  return jobSpecJsonSchema() as JsonSchema;
}

export function jobSpecSchemaPage(): string {
  return `${JSON.stringify(jobSpecJsonSchema(), null, 2)}\n`;
}

export function policySchemaPage(): string {
  return `${JSON.stringify(policyJsonSchema(), null, 2)}\n`;
}
