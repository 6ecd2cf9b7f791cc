// What every kind of cluster can be said to be. Region and capacity become labels of its nodes, so that jobs can ask for them,
// the policy can price them and the topology can name them.
import * as z from 'zod';
import { isLabelValue, isName, namePatterns, nameRule } from './names.ts';
import { parseDurationMs } from './units.ts';

export const capacityKinds = ['owned', 'reserved', 'on-demand', 'spot'] as const;

const name = z.string().refine(isName, `must be ${nameRule}`).meta({ pattern: namePatterns.name });

export const clusterCommon = {
  pool: name.default('default').meta({ description: 'the pool of its nodes' }),
  region: z
    .string()
    .refine(isLabelValue, 'must be a label value')
    .meta({ pattern: namePatterns.labelValue, description: 'where it is; the label region of its nodes' })
    .optional(),
  capacity: z
    .enum(capacityKinds)
    .default('owned')
    .meta({ description: 'how it is paid for; the label capacity of its nodes' }),
};

/** For clusters that a driver speaks for: where their jobs find the server, when they count as lost, and what may then start elsewhere. */
export const clusterDriven = {
  serverUrl: z
    .string()
    .max(2000)
    .refine(isServerUrl, 'must be an address such as https://muster.example, without a path')
    .optional()
    .meta({
      description:
        "where its nodes reach a server, for MUSTER_SERVER_URL of its jobs; the leading server's own address when left out",
    }),
  lostAfter: durationWithin(10_000, 86_400_000, '10s to 1d')
    .default('15m')
    .meta({ description: 'how long it may not answer before it counts as lost; 10s to 1d' }),
  fencedCheckpoints: z.boolean().default(false).meta({
    description:
      'what jobs keep their checkpoints in refuses an attempt that is older than the newest; jobs that write only there (checkpoint.fenced) start elsewhere once it is lost',
  }),
};

/** http or https, a host, perhaps a port, and nothing else: what jobs ask for is put behind it. */
function isServerUrl(text: string): boolean {
  return /^https?:\/\/(\[[0-9a-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]{1,5})?$/.test(text);
}

/** A duration as people write it, and kept so. */
function durationWithin(minMs: number, maxMs: number, range: string) {
  return z.string().refine((text) => {
    const parsed = parseDurationMs(text);
    return parsed.ok && parsed.value >= minMs && parsed.value <= maxMs;
  }, `must be a duration such as 90s or 15m, from ${range}`);
}

const lastPort = 65_535;

/** Ports of a node that jobs may be given to meet at. */
export const portRange = z
  .strictObject({ first: z.int().min(1024).max(lastPort), count: z.int().min(1).max(10_000) })
  .refine(({ first, count }) => first + count - 1 <= lastPort, 'must end at port 65535 or below')
  .meta({ description: 'ports of a node that jobs may be given to meet at' });

/** A path on the machine of the server, or on the cluster's. */
export const absolutePath = z
  .string()
  .max(4096)
  .refine((path) => /^\/[^\0\n]*$/.test(path), 'must be an absolute path');
