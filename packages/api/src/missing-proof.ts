// What would prove the end of a run that nobody hears from: it starts nowhere else before that, so its owner should know what it
// waits for, and an operator what to do.
import { formatDurationMs, hasFencedCheckpoints, hasNextAttempt, type JobSpec } from '@muster/model';
import type { ClusterRow, JobRow, NodeRow, RunRow } from '@muster/store';
import type { Api } from './deps.ts';

/** Nodes whose names are told. */
const namedMax = 4;

/** Nothing for a run that is heard from. */
export async function missingProof(api: Api, { spec, state }: JobRow, run: RunRow | null): Promise<string> {
  if (run?.state.state !== 'unknown') return '';
  const open = run.tasks.filter(({ state: task }) => task.state !== 'ended');
  const ids = [...new Set(open.map(({ placement }) => placement.node))];
  const nodes = await Promise.all(ids.slice(0, namedMax).map((id) => api.store.node(id)));
  const silent = nodes.filter((node): node is NodeRow => node !== null && node.state.state !== 'ready');
  const [first] = silent;
  if (!first) return '';
  const names = silent.map(({ name }) => name).join(', ');
  const cluster = (await api.store.clusters()).find(({ name }) => name === first.cluster);
  if (!cluster || cluster.config.kind === 'agent') return `: ${leaseText(spec.stopAfterMs, names)}`;
  const why =
    cluster.state.state === 'degraded' || cluster.state.state === 'lost' ? ` (${cluster.state.reason})` : '';
  const { name } = cluster;
  const fence = fenceText(cluster, spec, 'run' in state && hasNextAttempt(state, run.state, spec.retry));
  return `: cluster ${name} must answer${why}, or an operator must say that it is gone (muster clusters lost ${name}, or muster nodes lost for ${names})${fence}`;
}

/** Whether it may start elsewhere without proof, and what is missing for that. */
function fenceText({ config }: ClusterRow, spec: JobSpec, goesOn: boolean): string {
  if (config.kind === 'agent') return '';
  const [store, job] = [hasFencedCheckpoints(config), spec.fenced === true];
  if (!store && !job) return '';
  if (!store)
    return '; it says that it is fenced, but its operator does not say so of the checkpoints there (fencedCheckpoints)';
  if (!job)
    return '; the checkpoints there refuse older attempts, but it does not say that it writes nowhere else (checkpoint.fenced), so what it writes may be written twice';
  if (!goesOn) return '; no newer attempt of it will refuse what it still writes';
  return `; or ${config.lostAfter} must pass without an answer, after which it starts elsewhere, because its checkpoints refuse the older attempt`;
}

function leaseText(stopAfterMs: number | null, names: string): string {
  if (stopAfterMs === null)
    return `it may run without its node's agent for ever, so ${names} must come back, or an operator must say that it is gone (muster nodes lost)`;
  const after = formatDurationMs(stopAfterMs);
  return `${names} must come back, or ${after} and 15s must pass since it was last heard, after which it has stopped by itself`;
}
