// Every generated page. To add one: a file here that makes its text from the code, and a row in this list.
import { cliPage } from './cli.ts';
import { environmentPage } from './environment.ts';
import { errorsPage } from './errors.ts';
import { eventsPage } from './events.ts';
import { jobSpecPage } from './job-spec.ts';
import { jobSpecSchemaPage, policySchemaPage } from './job-spec-schema.ts';
import { metricsPage } from './metrics.ts';
import { statesPage } from './states.ts';

export interface Page {
  /** From the repository's root. */
  readonly path: string;
  readonly make: () => string | Promise<string>;
}

export const pages: readonly Page[] = [
  { path: 'docs/reference/states.md', make: statesPage },
  { path: 'docs/reference/errors.md', make: errorsPage },
  { path: 'docs/reference/events.md', make: eventsPage },
  { path: 'docs/reference/environment.md', make: environmentPage },
  { path: 'docs/reference/cli.md', make: cliPage },
  { path: 'docs/reference/metrics.md', make: metricsPage },
  { path: 'docs/reference/job-spec.md', make: jobSpecPage },
  { path: 'docs/reference/job-spec.schema.json', make: jobSpecSchemaPage },
  { path: 'docs/reference/policy.schema.json', make: policySchemaPage },
];
