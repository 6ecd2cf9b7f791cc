// The typed SDK of the API: `createClient({ url, token })`. Nothing but fetch underneath, so it runs in Node and in a
// browser.
import { accessApi } from './access.ts';
import { clustersApi } from './clusters.ts';
import { eventsApi } from './events.ts';
import { nodesApi } from './fleet.ts';
import { jobsApi } from './jobs.ts';
import { logsApi } from './logs.ts';
import { questionsApi } from './questions.ts';
import { type ClientOptions, createTransport } from './transport.ts';
import { type WatchOptions, watchJob } from './watch.ts';

export function createClient(options: ClientOptions) {
  const transport = createTransport(options);
  const jobs = jobsApi(transport);
  const events = eventsApi(transport);
  return {
    url: transport.url,
    jobs: {
      ...jobs,
      ...logsApi(transport),
      /** The job each time it changed, the last time ended. */
      watch: (id: string, watch?: WatchOptions) => watchJob({ jobs, events }, id, watch),
    },
    events,
    nodes: nodesApi(transport),
    clusters: clustersApi(transport),
    ...questionsApi(transport),
    ...accessApi(transport),
  };
}

export type MusterClient = ReturnType<typeof createClient>;
