// The whole table of routes: what is served, documented and swept for authorisation.
import { agentRoutes } from './agents-connect.ts';
import { auditRoutes } from './audit.ts';
import { submitBatch } from './batch.ts';
import { checkpointRoutes } from './checkpoints.ts';
import { clusterPrices } from './cluster-prices.ts';
import { clusterRoutes } from './clusters.ts';
import { enrolmentRoutes } from './enrolment.ts';
import { listEvents } from './events.ts';
import { healthRoutes } from './health.ts';
import { jobRoutes } from './jobs.ts';
import { jobLogs } from './logs.ts';
import { declareClusterLost } from './lost-cluster.ts';
import { metaRoutes, openapiRoute } from './meta.ts';
import { moveRoutes } from './moves.ts';
import { nodeRoutes } from './nodes.ts';
import { openapiOf } from './openapi.ts';
import { policyRoutes } from './policy.ts';
import { projectRoutes } from './projects.ts';
import { quotaRoutes } from './quota.ts';
import { replay } from './replay.ts';
import type { Route } from './route.ts';
import { scoreRoutes } from './score.ts';
import { tokenRoutes } from './tokens.ts';
import { whatIf } from './what-if.ts';
import { whyJob } from './why.ts';

export const routes: readonly Route[] = [
  ...jobRoutes,
  ...moveRoutes,
  submitBatch,
  whyJob,
  jobLogs,
  listEvents,
  ...checkpointRoutes,
  whatIf,
  ...scoreRoutes,
  replay,
  ...nodeRoutes,
  ...clusterRoutes,
  declareClusterLost,
  clusterPrices,
  ...enrolmentRoutes,
  ...agentRoutes,
  ...projectRoutes,
  ...policyRoutes,
  ...quotaRoutes,
  ...tokenRoutes,
  ...auditRoutes,
  ...metaRoutes,
  openapiRoute(openapiDocument),
  ...healthRoutes,
];

export function openapiDocument(): unknown {
  return openapiOf(routes);
}
