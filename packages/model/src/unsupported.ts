// The one table of what the spec can say and no part of Muster does yet. A submit that uses such a field is refused
// with 422 unsupported-field and its path; a row leaves this table in the change that makes its field work. A test
// submits every field of the spec and expects its effect or its row here.
import type { RawJobSpec } from './spec.ts';

export interface Unsupported {
  /** The field as a JSON pointer pattern; * stands for any index. */
  readonly field: string;
  readonly message: string;
  readonly used: (spec: RawJobSpec) => string | null;
}

const when =
  (path: string, used: (spec: RawJobSpec) => boolean) =>
  (spec: RawJobSpec): string | null =>
    used(spec) ? path : null;

function taskCounts(spec: RawJobSpec) {
  return [
    { path: '/tasks', value: spec.tasks },
    ...(spec.groups ?? []).map((group, i) => ({ path: `/groups/${i}/tasks`, value: group.tasks })),
  ];
}

/** Those of the spec's fields that no part honours yet, with their paths. */
export function unsupportedUses(spec: RawJobSpec): { readonly path: string; readonly message: string }[] {
  const found: { path: string; message: string }[] = [];
  for (const { used, message } of unsupportedFields) {
    const path = used(spec);
    if (path !== null) found.push({ path, message });
  }
  return found;
}

export const unsupportedFields: readonly Unsupported[] = [
  {
    field: '/kind',
    message: 'only batch jobs run today; service and interactive jobs are not supported yet',
    used: when('/kind', (spec) => spec.kind !== 'batch'),
  },
  {
    field: '/secrets',
    message: 'secrets are not supported yet',
    used: when('/secrets', (spec) => spec.secrets !== undefined),
  },
  {
    field: '/dependencies',
    message: 'dependencies are not supported yet',
    used: when('/dependencies', (spec) => spec.dependencies !== undefined),
  },
  {
    field: '/tasks',
    message: 'elastic task counts are not supported yet; min and max must be equal',
    used: (spec) =>
      taskCounts(spec).find(({ value }) => typeof value === 'object' && value.min !== value.max)?.path ??
      null,
  },
];
