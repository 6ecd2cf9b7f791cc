// A gang is not split over clusters: no driver starts a part of one, and tasks in different clusters seldom reach each other. So every gang
// is kept in one, also where it only prefers to be together or is to be spread: what it says of its places then holds inside that
// cluster, group by group. It is so whether or not a cluster with a driver is connected yet, because a gang may wait until there is one.
import { type FieldProblem, type JobSpec, shown, type TopologyDemand } from '@muster/model';

export type KeptGang =
  | { readonly ok: true; readonly spec: JobSpec }
  | { readonly ok: false; readonly problem: FieldProblem };

const cluster: TopologyDemand = { level: 'cluster', mode: 'required' };

/** `levels` from the widest to the narrowest. `driven`: a driver speaks for one of the clusters. */
export function inOneCluster(spec: JobSpec, levels: readonly string[], driven: boolean): KeptGang {
  const tasks = spec.groups.reduce((sum, { demand }) => sum + demand.tasks, 0);
  const { topology } = spec;
  const isInside = topology !== null && isNarrower(topology.level, levels);
  if (tasks <= 1 || (isInside && topology.mode === 'required')) return { ok: true, spec };
  if (!levels.includes('cluster'))
    return driven ? { ok: false, problem: noClusterLevel } : { ok: true, spec };
  if (topology?.mode === 'spread' && !isInside) return { ok: false, problem: spreadOver(topology.level) };
  if (topology === null || !isInside) return { ok: true, spec: { ...spec, topology: cluster } };
  const groups = spec.groups.map((group) => ({
    ...group,
    demand: { ...group.demand, topology: group.demand.topology ?? topology },
  }));
  return { ok: true, spec: { ...spec, topology: cluster, groups } };
}

/** A domain of the level lies in one cluster. */
function isNarrower(level: string, levels: readonly string[]): boolean {
  return (
    level === 'node' || (levels.includes('cluster') && levels.indexOf(level) > levels.indexOf('cluster'))
  );
}

const noClusterLevel: FieldProblem = {
  code: 'invalid-field',
  path: '/topology/level',
  message:
    'a job of several tasks stays in one cluster, and the topology of the policy has no level "cluster"; an operator can add it there',
  value: null,
};

function spreadOver(level: string): FieldProblem {
  const message = `the tasks of a job stay in one cluster, so they are not spread over the level "${level}"; submit one job for each place`;
  return { code: 'invalid-field', path: '/topology/level', message, value: shown(level) };
}
