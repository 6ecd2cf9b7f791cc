// The machine that a trace is played on: pools of equal nodes. A pool of nodes with one device each is a machine whose devices are merely counted.
import { CountedRoom } from './counted-room.ts';
import { NodeRoom } from './node-room.ts';
import { PooledRoom } from './pooled-room.ts';
import type { Room } from './room.ts';

export interface Pool {
  readonly name: string;
  readonly nodes: number;
  readonly devicesPerNode: number;
  /** What the devices are, such as H100. */
  readonly model: string;
}

export interface Fleet {
  readonly pools: readonly Pool[];
  /** In money; null where nobody said. */
  readonly pricePerDeviceHour: number | null;
}

/** One pool, without a price. */
export function fleetOf(nodes: number, devicesPerNode: number): Fleet {
  return { pools: [{ name: 'main', nodes, devicesPerNode, model: 'any' }], pricePerDeviceHour: null };
}

export function devicesOf({ pools }: Fleet): number {
  return pools.reduce((sum, { nodes, devicesPerNode }) => sum + nodes * devicesPerNode, 0);
}

export function isCounted({ pools }: Fleet): boolean {
  return pools.every(({ devicesPerNode }) => devicesPerNode === 1);
}

export function roomOf(fleet: Fleet, jobs: number): Room {
  if (isCounted(fleet)) return new CountedRoom(devicesOf(fleet));
  const rooms = fleet.pools.map(({ nodes, devicesPerNode }) => new NodeRoom(nodes, devicesPerNode, jobs));
  return rooms.length === 1 ? rooms[0]! : new PooledRoom(rooms, jobs);
}
