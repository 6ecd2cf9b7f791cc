// What a node has, as its agent (or a cluster's API) reports it. Amounts are whole numbers.
import type { Capability } from './demand.ts';

export interface Device {
  /** Position on the node; what a placement names. Dense from 0. */
  readonly index: number;
  readonly kind: string;
  readonly model: string;
  readonly memoryMib: number;
  /** The fast link to the node's other devices, such as nvlink; where it is not known, as the policy's hardware table says. */
  readonly interconnect?: string | undefined;
  /** Compute capability times ten for NVIDIA devices; where it is not known, as the policy's hardware table says. */
  readonly generation?: number | undefined;
  /** The device's own identity (GPU UUID); declared devices have a made-up one. */
  readonly uuid: string;
}

export interface Inventory {
  readonly cpuMilli: number;
  /** Where cores are given in steps, such as whole ones, a task takes as many steps as hold what it asks for. */
  readonly cpuStepMilli?: number | undefined;
  readonly memoryMib: number;
  readonly devices: readonly Device[];
  readonly labels: Readonly<Record<string, string>>;
  readonly capabilities: readonly Capability[];
  /** Address other nodes reach this one at, for rendezvous. */
  readonly address: string;
  /** Ports the plan may assign on this node. */
  readonly ports: { readonly first: number; readonly count: number };
}

/** What a node has that never said what it has. */
export const noInventory: Inventory = {
  cpuMilli: 0,
  memoryMib: 0,
  devices: [],
  labels: {},
  capabilities: [],
  address: '',
  ports: { first: 1, count: 0 },
};
