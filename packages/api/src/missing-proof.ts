// What would prove the end of a run that nobody hears from: it starts nowhere else before that, so its owner should know what it
// waits for, and an operator what to do.
import { formatDurationMs } from '@muster/model';
import type { JobRow, NodeRow, RunRow } from '@muster/store';
import type { Api } from './deps.ts';

/** Nodes whose names are told. */
const namedMax = 4;

/** Nothing for a run that is heard from. */
export async function missingProof(api: Api, { spec }: JobRow, run: RunRow | null): Promise<string> {
  if (run?.state.state !== 'unknown') return '';
  const open = run.tasks.filter(({ state }) => state.state !== 'ended');
  const ids = [...new Set(open.map(({ placement }) => placement.node))];
  const nodes = await Promise.all(ids.slice(0, namedMax).map((id) => api.store.node(id)));
  const silent = nodes.filter((node): node is NodeRow => node !== null && node.state.state !== 'ready');
  const [first] = silent;
  if (!first) return '';
  const names = silent.map(({ name }) => name).join(', ');
  const cluster = (await api.store.clusters()).find(({ name }) => name === first.cluster);
  if (!cluster || cluster.config.kind === 'agent') return `: ${leaseText(spec.stopAfterMs, names)}`;
  const { state } = cluster;
  const why = state.state === 'degraded' || state.state === 'lost' ? ` (${state.reason})` : '';
  const { name } = cluster;
  return `: cluster ${name} must answer${why}, or an operator must say that it is gone (muster clusters lost ${name}, or muster nodes lost for ${names})`;
}

function leaseText(stopAfterMs: number | null, names: string): string {
  if (stopAfterMs === null)
    return `it may run without its node's agent for ever, so ${names} must come back, or an operator must say that it is gone (muster nodes lost)`;
  const after = formatDurationMs(stopAfterMs);
  return `${names} must come back, or ${after} and 15s must pass since it was last heard, after which it has stopped by itself`;
}
