// Each node's commands go where its session is: to the hub of the agents, or to the cluster that speaks for it.
import type { Driver } from '@muster/drivers';
import type { NodeId } from '@muster/model';
import type { Cluster } from './cluster.ts';
import type { DispatchDriver } from './dispatch.ts';

export function byNode(agents: DispatchDriver, clusters: () => readonly Cluster[]): DispatchDriver {
  const of = (node: NodeId): Pick<Driver, 'submit' | 'stop'> =>
    clusters().find((cluster) => cluster.speaksFor(node)) ?? agents;
  return {
    sessions: () => [...agents.sessions(), ...clusters().flatMap((cluster) => cluster.sessions())],
    submit: (target, command) => of(target.node).submit(target, command),
    stop: (target, command) => of(target.node).stop(target, command),
  };
}
