// A fleet of simulated agents in a process of its own, connected to a control plane.
import { join } from 'node:path';
import { eventually } from '@muster/drivers/testing';
import { type Child, repository, startChild } from '../control/child.ts';
import type { ControlPlane } from '../control/system.ts';
import type { Lifetime } from '../lifetime.ts';
import type { FleetOrder } from './fleet-process.ts';
import type { FleetCounts } from './simulated-agent.ts';

export interface Fleet {
  readonly child: Child;
  counts(): FleetCounts;
}

export async function startFleet(
  lifetime: Lifetime,
  server: ControlPlane,
  { nodes, ...more }: Pick<FleetOrder, 'nodes' | 'devicesPerNode' | 'meanRunMs'>,
): Promise<Fleet> {
  const { token } = await server.client.nodes.createEnrolment({ uses: nodes });
  const order: FleetOrder = { url: server.url, enrolmentToken: token, nodes, ...more };
  const child = startChild(lifetime, {
    file: join(repository, 'packages/bench/src/fleet/fleet-process.ts'),
    args: [JSON.stringify(order)],
  });
  let counts: FleetCounts = { connected: 0, started: 0, ended: 0, broken: null };
  child.process.on('message', (message) => {
    counts = message as FleetCounts;
  });
  const check = (): FleetCounts => {
    if (counts.broken !== null) throw new Error(`${counts.broken}; ${server.child.output()}`);
    if (child.process.exitCode !== null) throw new Error(`the simulated fleet ended: ${child.output()}`);
    return counts;
  };
  await eventually(`${nodes} simulated agents connect`, 60_000, () => check().connected === nodes);
  return { child, counts: check };
}
