// A cluster that an operator connects: how it is reached and what its nodes are said to be, as its configuration says; and whether
// it answers. A cluster of agents is one too, and needs no configuration. Prices are the policy's, by cluster and capacity: one place.
import * as z from 'zod';
import { clusterCommon } from './cluster-common.ts';
import { kubernetesConfigSchema } from './kubernetes-config.ts';
import { nearest } from './names.ts';
import { slurmConfigSchema } from './slurm-config.ts';
import { parseDurationMs } from './units.ts';

/** For nodes that have an agent each; only says what they are. */
const agentConfigSchema = z.strictObject({ kind: z.literal('agent'), ...clusterCommon });

export const clusterConfigSchema = z.discriminatedUnion(
  'kind',
  [agentConfigSchema, slurmConfigSchema, kubernetesConfigSchema],
  { error: ({ code, input }) => (code === 'invalid_union' ? kindText(input) : undefined) },
);

function kindText(input: unknown): string {
  const { kind } = input as { readonly kind?: unknown };
  const near = typeof kind === 'string' ? nearest(kind, ['slurm', 'kubernetes', 'agent']) : undefined;
  return `must be slurm, kubernetes or agent${near ? `; did you mean "${near}"?` : ''}`;
}

/** As it is kept, with every default said. */
export type ClusterConfig = z.output<typeof clusterConfigSchema>;
/** As people write it. */
export type ClusterConfigInput = z.input<typeof clusterConfigSchema>;
export type ClusterKind = ClusterConfig['kind'];
export type ConfigOf<K extends ClusterKind> = Extract<ClusterConfig, { readonly kind: K }>;

export type ClusterState =
  /** Nobody has looked at it yet. */
  | { readonly state: 'new'; readonly sinceMs: number }
  | { readonly state: 'connected'; readonly sinceMs: number }
  /** It has not answered for a while: nothing new is put there, and what runs there goes on. */
  | { readonly state: 'degraded'; readonly sinceMs: number; readonly reason: string }
  /** It has not answered for so long that somebody should look. What ran there may still run: that is proven by its answer, or by an operator's word. */
  | { readonly state: 'lost'; readonly sinceMs: number; readonly reason: string };

export const degradedAfterMs = 60_000;

/** Null where there is nobody who could answer: agents are heard one by one. */
export function lostAfterMs(config: ClusterConfig): number | null {
  if (config.kind === 'agent') return null;
  const parsed = parseDurationMs(config.lostAfter);
  return parsed.ok ? parsed.value : null;
}

/**
 * Where the runs of a cluster are kept, in words; null where each node keeps its own. What is found there and is not known is taken
 * for a leftover and stopped, so two clusters in one place would stop each other's runs.
 */
export function placeOfRuns(config: ClusterConfig): string | null {
  switch (config.kind) {
    case 'agent':
      return null;
    case 'slurm': {
      const path = `/${config.directory
        .split('/')
        .filter((part) => part !== '' && part !== '.')
        .join('/')}`;
      return `directory ${path}${config.ssh === undefined ? '' : ` on ${config.ssh.host}`}`;
    }
    case 'kubernetes': {
      const { namespace, kubeconfig, context } = config;
      return `namespace ${namespace} of ${context === undefined ? '' : `context ${context} in `}${kubeconfig}`;
    }
  }
}

/** Whether its operator said that an older attempt cannot write to the checkpoints of its jobs. */
export function hasFencedCheckpoints(config: ClusterConfig): boolean {
  return config.kind !== 'agent' && config.fencedCheckpoints;
}

/** What a look at the cluster gave: an answer, or for how long there was none, and why. */
export type ClusterSign =
  | { readonly kind: 'answer' }
  | { readonly kind: 'silence'; readonly forMs: number; readonly why: string };

/** The one way from state to state. */
export function stepCluster(
  state: ClusterState,
  sign: ClusterSign,
  lostAfter: number,
  nowMs: number,
): ClusterState {
  if (sign.kind === 'answer')
    return state.state === 'connected' ? state : { state: 'connected', sinceMs: nowMs };
  const next = sign.forMs >= lostAfter ? 'lost' : sign.forMs >= degradedAfterMs ? 'degraded' : null;
  // A lost cluster is not merely degraded because somebody began to count anew.
  if (next === null || next === state.state || state.state === 'lost') return state;
  return { state: next, sinceMs: nowMs, reason: sign.why };
}
