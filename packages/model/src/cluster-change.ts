// Which fields of a cluster's configuration may change. Those that say which cluster it is may not while runs are on it: another cluster
// does not list them, and what is not listed counts as over. Nor may the place of checkpoints, where the next attempts look for them.
import { canonicalJson } from './canonical-json.ts';
import type { ClusterConfig } from './cluster.ts';

const never = ['kind'] as const;
/** Kept with every node when it joins. */
const withoutNodes = ['pool'] as const;
const withoutRuns = [
  'directory',
  'conf',
  'ssh',
  'kubeconfig',
  'context',
  'namespace',
  'checkpoints',
] as const;

export type ConfigRefusal = 'other-kind' | 'has-nodes' | 'in-use';

/** Null when nothing stands against it; `runs`: those that hold anything there. */
export function configRefusal(
  before: ClusterConfig,
  after: ClusterConfig,
  { nodes, runs }: { readonly nodes: number; readonly runs: number },
): ConfigRefusal | null {
  if (changed(before, after, never).length > 0) return 'other-kind';
  if (nodes > 0 && changed(before, after, withoutNodes).length > 0) return 'has-nodes';
  return runs > 0 && changed(before, after, withoutRuns).length > 0 ? 'in-use' : null;
}

/** The fields that a change is refused for. */
export function refusedFields(before: ClusterConfig, after: ClusterConfig, refusal: ConfigRefusal): string[] {
  const fields = { 'other-kind': never, 'has-nodes': withoutNodes, 'in-use': withoutRuns }[refusal];
  return changed(before, after, fields);
}

function changed(before: ClusterConfig, after: ClusterConfig, fields: readonly string[]): string[] {
  return fields.filter((field) => text(before, field) !== text(after, field));
}

/** With which key a login node is reached may change: it is the same node. */
function text(config: ClusterConfig, field: string): string {
  const value = (config as Readonly<Record<string, unknown>>)[field];
  if (field !== 'ssh' || typeof value !== 'object' || value === null) return canonicalJson(value ?? null);
  const { key: _, knownHosts: __, ...reached } = value as Record<string, unknown>;
  return canonicalJson(reached);
}
