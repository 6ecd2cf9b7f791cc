// What every kind of cluster can be said to be. Region and capacity become labels of its nodes, so that jobs can ask for them,
// the policy can price them and the topology can name them.
import * as z from 'zod';
import { isLabelValue, isName, namePatterns, nameRule } from './names.ts';

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
