// Reads the fleet that a trace is to be played on. Three forms, told apart by what is in them: pools as YAML or JSON, a list of nodes as Alibaba's openb has
// it, and nodes by virtual cluster as Philly's has it.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { nearest } from '@muster/model';
import { parse } from 'yaml';
import { Columns } from '../traces/columns.ts';
import type { Fleet, Pool } from './fleet.ts';

/** The file does not say a fleet; the message says what is wrong with it. */
export class FleetRefused extends Error {
  override readonly name = 'FleetRefused';
}

const nodesMax = 1_000_000;
const devicesMax = 1024;
const phillyDevices = 8;

export async function readFleet(path: string): Promise<Fleet> {
  const text = await textOf(path);
  try {
    return fleetIn(text);
  } catch (error) {
    throw new FleetRefused(`${basename(path)}: ${(error as Error).message}`);
  }
}

async function textOf(path: string): Promise<string> {
  try {
    const data = await readFile(path);
    return (data[0] === 0x1f && data[1] === 0x8b ? gunzipSync(data) : data).toString('utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new FleetRefused(
      code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${message}`,
    );
  }
}

function fleetIn(text: string): Fleet {
  const [first = '', ...rest] = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const columns = new Columns(first);
  if (columns.has('sn', 'gpu')) return ofNodeList(columns, rest);
  if (columns.has('vc', 'node num')) return ofClusters(columns, rest);
  return ofPools(yamlIn(text));
}

function yamlIn(text: string): unknown {
  try {
    return parse(text, { prettyErrors: false });
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`it is no list of nodes, and as YAML it cannot be read: ${message}`);
  }
}

/** Nodes with the same number of the same GPU are one pool; nodes without one sell nothing here. */
function ofNodeList(columns: Columns, lines: readonly string[]): Fleet {
  const pools = new Map<string, Pool>();
  for (const [i, line] of lines.entries()) {
    const fields = line.split(',');
    const devicesPerNode = columns.number(fields, 'gpu');
    if (!isWhole(devicesPerNode, 0, devicesMax))
      throw new Error(`line ${i + 2}: gpu is "${columns.text(fields, 'gpu')}", not a number of devices`);
    if (devicesPerNode === 0) continue;
    const model = columns.text(fields, 'model') || 'any';
    const name = `${model}-${devicesPerNode}`.toLowerCase();
    pools.set(name, { name, devicesPerNode, model, nodes: (pools.get(name)?.nodes ?? 0) + 1 });
  }
  return checked([...pools.values()], null);
}

function ofClusters(columns: Columns, lines: readonly string[]): Fleet {
  const pools = lines.map((line, i): Pool => {
    const fields = line.split(',');
    const nodes = columns.number(fields, 'node num');
    if (!isWhole(nodes, 1, nodesMax))
      throw new Error(`line ${i + 2}: "${line}" does not say a number of nodes`);
    return { name: columns.text(fields, 'vc'), nodes, devicesPerNode: phillyDevices, model: 'any' };
  });
  return checked(pools, null);
}

const fleetKeys = ['pools', 'pricePerDeviceHour'];
const poolKeys = ['name', 'nodes', 'devices', 'model'];

function ofPools(value: unknown): Fleet {
  const fleet = mapping(value, 'the file', fleetKeys);
  const { pools, pricePerDeviceHour: price = null } = fleet;
  if (!Array.isArray(pools) || pools.length === 0)
    throw new Error(
      'pools: must be a list of at least one pool, such as {name: main, nodes: 64, devices: 8}',
    );
  if (price !== null && (typeof price !== 'number' || price < 0))
    throw new Error('pricePerDeviceHour: must be a number from 0');
  return checked(pools.map(poolOf), price);
}

function poolOf(value: unknown, index: number): Pool {
  const where = `pools[${index}]`;
  const { name = `pool-${index}`, nodes, devices, model = 'any' } = mapping(value, where, poolKeys);
  if (typeof name !== 'string' || typeof model !== 'string')
    throw new Error(`${where}: name and model must be texts`);
  if (!isWhole(nodes, 1, nodesMax))
    throw new Error(`${where}.nodes: must be a whole number from 1 to ${nodesMax}`);
  if (!isWhole(devices, 1, devicesMax))
    throw new Error(`${where}.devices: must be a whole number from 1 to ${devicesMax}`);
  return { name, nodes, devicesPerNode: devices, model };
}

function mapping(value: unknown, where: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${where} must be a mapping with ${known.join(', ')}`);
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const near = nearest(key, known);
    throw new Error(
      `${where}: unknown key "${key}"; ${near ? `did you mean "${near}"?` : `known are ${known.join(', ')}`}`,
    );
  }
  return value as Readonly<Record<string, unknown>>;
}

function checked(pools: readonly Pool[], pricePerDeviceHour: number | null): Fleet {
  if (pools.length === 0) throw new Error('it has no node with a device');
  return { pools, pricePerDeviceHour };
}

function isWhole(value: unknown, from: number, to: number): value is number {
  return Number.isInteger(value) && (value as number) >= from && (value as number) <= to;
}
