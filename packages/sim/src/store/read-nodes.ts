// Nodes, leases and counts as people and the expire loop see them.
import { type NodeId, noInventory, strikesNow } from '@muster/model';
import type { Counts, Freeze, Lease, NodeQuery, NodeRow } from '@muster/store';
import type { MemoryDatabase } from './database.ts';
import { named } from './node-admin.ts';
import { byId, isNodeState, type StoredNode } from './tables.ts';

function nodeRow(database: MemoryDatabase, row: StoredNode): NodeRow {
  const { id, name, cluster, pool, generation, state, drain, trustMilli } = row;
  const { cpuMilliUsed, memoryMibUsed, renewedMs, agentVersion, isolation } = row;
  const inventory = row.inventory ?? noInventory;
  return {
    id,
    name,
    cluster,
    pool,
    generation,
    state,
    drain,
    trustMilli,
    strikes: strikesNow(row.strikes, database.nowMs()),
    inventory,
    cpuMilliUsed,
    memoryMibUsed,
    devicesUsed: inventory.devices.map((_, i) => row.devicesUsed[i] ?? 0),
    renewedMs,
    agentVersion,
    isolation,
  };
}

export function node(database: MemoryDatabase, idOrName: string): NodeRow | null {
  const { tables } = database;
  const row = tables.nodes.get(idOrName as NodeId) ?? named(tables, idOrName);
  return row ? nodeRow(database, row) : null;
}

export function nodes(database: MemoryDatabase, { cluster, after, limit }: NodeQuery): readonly NodeRow[] {
  return [...database.tables.nodes.values()]
    .filter((row) => !isNodeState(row, 'removed'))
    .filter((row) => (cluster === null || row.cluster === cluster) && (after === null || row.name > after))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, limit)
    .map((row) => nodeRow(database, row));
}

export function nodeSessions({ tables }: MemoryDatabase, ids: readonly NodeId[]): Map<NodeId, string | null> {
  const found = ids.flatMap((id) => tables.nodes.get(id) ?? []);
  return new Map(
    found.filter(({ state }) => state.state !== 'removed').map(({ id, session }) => [id, session]),
  );
}

export function nodeKey({ tables }: MemoryDatabase, id: NodeId) {
  const row = tables.nodes.get(id);
  return row ? { key: row.publicKey, session: row.session } : null;
}

export function leases({ tables }: MemoryDatabase): readonly Lease[] {
  const live = byId(tables.liveRuns.values());
  const runsOn = new Map<NodeId, Lease['runs'][number][]>();
  for (const { id: run, stopAfterMs, tasks } of live) {
    const held = tasks.filter(({ state }) => state.state !== 'ended').map((task) => task.node);
    for (const on of new Set(held)) {
      const list = runsOn.get(on) ?? [];
      list.push({ run, stopAfterMs });
      runsOn.set(on, list);
    }
  }
  return byId(tables.nodes.values()).flatMap(({ id, cluster, leased, state, renewals, renewedMs }) =>
    state.state === 'removed' || renewedMs === null || (!leased && state.state === 'ready')
      ? []
      : [{ node: id, cluster, leased, state: state.state, renewals, renewedMs, runs: runsOn.get(id) ?? [] }],
  );
}

export function frozen(database: MemoryDatabase): readonly Freeze[] {
  return [...database.tables.frozen.values()].sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
}

export function counts(database: MemoryDatabase): Counts {
  const { tables } = database;
  const present = [...tables.nodes.values()].filter((row) => !isNodeState(row, 'removed'));
  const submitted = [...tables.jobs.values()].filter(({ memberOf }) => memberOf === null);
  const nowMs = database.nowMs();
  return {
    jobs: tally(submitted.map(({ state }) => state.state)),
    nodes: tally(present.map(({ state }) => state.state)),
    quarantined: present.filter(({ drain }) => drain?.quarantine).length,
    spared: present.filter(({ drain, strikes }) => drain === null && strikesNow(strikes, nowMs)?.spared)
      .length,
    outboxOpen: tables.outbox.size,
    devices: sum(present.map(({ devices }) => devices)),
    devicesUsed: sum(present.map(({ devicesUsed }) => devicesUsed.filter((milli) => milli > 0).length)),
  };
}

function tally<Name extends string>(names: readonly Name[]): Partial<Record<Name, number>> {
  const counted: Partial<Record<Name, number>> = {};
  for (const name of names) counted[name] = (counted[name] ?? 0) + 1;
  return counted;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
