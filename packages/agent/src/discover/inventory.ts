// What this node has: discovered, then corrected by what the operator declared.
import { createHash } from 'node:crypto';
import { arch, availableParallelism, networkInterfaces, platform, totalmem } from 'node:os';
import type { Device, Inventory } from '@muster/model';
import { type AgentOptions, defaultPorts } from '../options.ts';
import { findNvidia, type NvidiaFound } from './nvidia.ts';

export interface Discovered {
  readonly inventory: Inventory;
  /** Uuids of the devices that a program knows by them; declared ones are known by their number. */
  readonly realUuids: ReadonlySet<string>;
  readonly trouble: string | null;
}

type Declared = Pick<AgentOptions, 'devices' | 'cpuMilli' | 'memoryMib' | 'labels' | 'address' | 'ports'> & {
  readonly server?: string;
};

export async function discover(declared: Declared, node: string, find = findNvidia): Promise<Discovered> {
  const nvidia = await find();
  const devices = listDevices(declared, nvidia, node);
  const driver = nvidia.driver ? { 'nvidia.driver': labelValue(nvidia.driver) } : {};
  const inventory: Inventory = {
    cpuMilli: declared.cpuMilli ?? availableParallelism() * 1000,
    memoryMib: declared.memoryMib ?? memoryMib(),
    devices,
    labels: {
      os: platform(),
      arch: arch(),
      ...driver,
      ...declared.labels,
    },
    // Tasks that share a device take turns on it; nothing keeps one from the other's memory.
    capabilities: ['fractions', 'signals', 'unlike-groups', 'uneven-nodes', 'output-limit'],
    address: declared.address ?? findAddress(declared.server),
    ports: declared.ports ?? defaultPorts,
  };
  const realUuids = new Set(nvidia.devices.map(({ uuid }) => uuid));
  return { inventory, realUuids, trouble: nvidia.trouble };
}

function listDevices(declared: Declared, nvidia: NvidiaFound, node: string): Device[] {
  const wanted = declared.devices ?? [];
  const kinds = new Set(wanted.map(({ kind }) => kind));
  const real = kinds.has('gpu') ? [] : nvidia.devices.map((device) => ({ kind: 'gpu', ...device }));
  const made = wanted.flatMap(({ count, ...device }, row) =>
    Array.from({ length: count }, (_, i) => ({
      ...device,
      uuid: madeUpUuid(`${node}/${device.kind}/${row}/${i}`),
    })),
  );
  return [...real, ...made].map((device, index) => ({ index, ...device }));
}

/** The same after every restart, so that a declared device keeps its identity. */
function madeUpUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `declared-${hex.slice(0, 24)}`;
}

function memoryMib(): number {
  // Zero or beyond the machine's own when no control group limits us.
  const limit = process.constrainedMemory();
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.floor(bytes / (1024 * 1024));
}

/**
 * The first address that is not this machine's own; the loopback one when there is no other. A server on loopback means
 * that the whole fleet is this machine, and loopback survives a change of network.
 */
function findAddress(server: string | undefined): string {
  const host = server === undefined ? '' : new URL(server).hostname;
  if (host === 'localhost' || host === '[::1]' || host.startsWith('127.')) return '127.0.0.1';
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80'));
  const best = outside.find(({ family }) => family === 'IPv4') ?? outside[0];
  return best?.address ?? '127.0.0.1';
}

function labelValue(text: string): string {
  const clean = text.replace(/[^A-Za-z0-9._-]/g, '-').slice(0, 63);
  return clean.replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '') || 'unknown';
}
