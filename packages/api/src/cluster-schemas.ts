// The views of clusters as schemas, as in view-schemas.ts.
import { type ClusterTestView, type ClusterView, clusterConfigSchema } from '@muster/model';
import * as z from 'zod';
import { name, text, time, view, whole } from './schema-parts.ts';

name(clusterConfigSchema, 'ClusterConfig');

export const clusterSchema = view<ClusterView>('Cluster', {
  name: text,
  kind: text,
  config: clusterConfigSchema
    .nullable()
    .meta({ description: 'null for one that was never added and exists by its agents' }),
  serverUrl: text.nullable().meta({
    description: 'where its jobs find a server (MUSTER_SERVER_URL); null where agents say that',
  }),
  state: z.enum(['new', 'connected', 'degraded', 'lost']),
  stateSince: time.nullable(),
  reason: text.nullable(),
  answeredAt: time.nullable(),
  drain: z.object({ by: text, reason: text, since: time }).nullable(),
  nodes: z.object({ total: whole, ready: whole, open: whole }),
  devices: z.object({ total: whole, used: whole }),
  runs: whole,
  unproven: whole.meta({ description: 'runs there of which nobody knows whether they still run' }),
  createdAt: time.nullable(),
  createdBy: text.nullable(),
});

export const clusterTestSchema = view<ClusterTestView>('ClusterTest', {
  kind: text,
  answered: z.boolean(),
  error: text.nullable(),
  settled: z.boolean(),
  nodes: z.array(
    z.object({
      name: text,
      closed: text.nullable(),
      cpuMilli: whole,
      memoryMib: whole,
      devices: z.record(text, whole).meta({ description: 'how many of each model' }),
      labels: z.record(text, text),
    }),
  ),
  runs: whole,
  lacks: z.array(text),
});
