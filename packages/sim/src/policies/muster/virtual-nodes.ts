// The fleet as the engine is told of it: nodes that joined and are ready.
import type { NodeFacts, NodeId } from '@muster/model';
import { devicesOf, type Fleet, isCounted, type Pool } from '../../replay/fleet.ts';

/** Plenty: a replay sells devices, and nothing else is scarce. */
const cpusPerDevice = 8;
const memoryMibPerDevice = 65_536;
/** Every run takes one for its rendezvous. */
const ports = { first: 20_000, count: 40_000 };

export function nodesOf(fleet: Fleet): NodeFacts[] {
  if (isCounted(fleet)) return [node('counted', 'main', devicesOf(fleet) * 1000, 0, 'any')];
  return fleet.pools.flatMap((pool) => Array.from({ length: pool.nodes }, (_, i) => nodeOf(pool, i)));
}

function nodeOf({ name, devicesPerNode, model }: Pool, index: number): NodeFacts {
  const id = `${name}-${String(index).padStart(6, '0')}`;
  return node(id, name, devicesPerNode * cpusPerDevice * 1000, devicesPerNode, model);
}

function node(name: string, pool: string, cpuMilli: number, devices: number, model: string): NodeFacts {
  return {
    node: `node_${name}` as NodeId,
    name,
    cluster: 'replay',
    pool,
    generation: 1,
    state: 'ready',
    drain: null,
    inventory: {
      cpuMilli,
      memoryMib: Math.max(1, devices) * memoryMibPerDevice,
      devices: Array.from({ length: devices }, (_, index) => ({
        index,
        kind: 'gpu',
        model,
        memoryMib: memoryMibPerDevice,
        uuid: `${name}-${index}`,
      })),
      labels: {},
      capabilities: ['fractions', 'unlike-groups', 'uneven-nodes'],
      address: name,
      ports,
    },
  };
}
