// How a Kubernetes cluster is reached and what its operator says of the pods there. Jobs say none of this.
import * as z from 'zod';
import { absolutePath, clusterCommon, clusterDriven, portRange } from './cluster-common.ts';
import { isLabelValue, isName, nameRule } from './names.ts';

const name = z.string().refine(isName, `must be ${nameRule}`);
const text = z.string().min(1).max(253);

const toleration = z.strictObject({
  key: text,
  value: z
    .string()
    .refine((value) => value === '' || isLabelValue(value), 'must be a label value')
    .optional()
    .meta({ description: 'any value when left out' }),
  effect: z
    .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
    .optional()
    .meta({ description: 'any effect when left out' }),
});

export const kubernetesConfigSchema = z.strictObject({
  kind: z.literal('kubernetes'),
  ...clusterCommon,
  ...clusterDriven,
  kubeconfig: absolutePath.meta({ description: 'a kubeconfig file that the server can read' }),
  context: text.optional().meta({ description: "the file's current context when left out" }),
  namespace: name.default('muster').meta({ description: 'where its pods are; nobody else makes any there' }),
  image: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .meta({ description: 'for jobs that name no image; such jobs do not run here when left out' }),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  imagePullSecrets: z.array(text).max(20).default([]).meta({ description: 'secrets of the namespace' }),
  runtimeClass: text.optional(),
  tolerations: z
    .array(toleration)
    .max(50)
    .default([])
    .meta({ description: 'taints of nodes that its pods may go to all the same' }),
  checkpoints: z
    .union([z.strictObject({ claim: text }), z.strictObject({ path: absolutePath })])
    .optional()
    .meta({
      description:
        'a volume that every node sees, as the claim of a persistent volume or as a path of the nodes; each job gets a directory of its own on it, as MUSTER_CHECKPOINT_DIR',
    }),
  ports: portRange.default({ first: 29_400, count: 1000 }),
});

export type KubernetesConfig = z.output<typeof kubernetesConfigSchema>;
