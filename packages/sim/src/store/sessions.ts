// What comes over a node's connection: hello, renewals, observations. Only the session a node has now may speak for it.
import { canonicalJson, stepNode } from '@muster/model';
import type { Hello, Observed, Outcome, Renewal, Renewed, Welcome } from '@muster/store';
import {
  Changes,
  longestBeatMs,
  type ObserveCall,
  observeCalls,
  reconcileNode,
  type SessionAnswer,
  seeRuns,
  shortestBeatMs,
  welcomeEvents,
} from '@muster/store/rules';
import { applyChanges } from './apply.ts';
import type { MemoryDatabase, Tx } from './database.ts';
import { loadNodes, loadWithRuns } from './load.ts';
import type { StoredNode, StoredRun, Tables } from './tables.ts';

export function hello(
  database: MemoryDatabase,
  message: Hello,
): Outcome<Welcome, 'not-found' | 'removed' | 'replaced'> {
  const { value, sequence } = database.write<Welcome | 'not-found' | 'removed' | 'replaced'>((tx) => {
    const { tables, nowMs, epoch } = tx;
    const node = tables.nodes.get(message.node);
    if (!node) return 'not-found';
    const stepped = stepNode(node.state, { kind: 'hello', nowMs });
    if (!stepped.ok) return 'removed';
    // An old hello would end the runs that the newer connection has been given since.
    if (message.replaces !== undefined && message.replaces !== node.session) return 'replaced';
    welcome(tx, node, stepped.next, message);
    const changes = new Changes(nowMs);
    const reported = message.tasks.map(({ run }) => run);
    const loaded = loadNodes(tables, [node.id], reported);
    const runs = loaded.runsOn(node.id);
    reconcileNode(changes, node, runs, message.tasks);
    seeRuns(changes, runs, (id) => id === node.id || tables.nodes.get(id)?.state.state === 'ready');
    applyChanges(tx, changes);
    node.beatMs = beatOf(tables, node);
    return { nodeName: node.name, epoch, beatMs: node.beatMs };
  });
  return typeof value === 'string'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

/** Hello counts as a renewal. What is sold stays sold: limits never fall below use. */
function welcome(tx: Tx, node: StoredNode, state: StoredNode['state'], message: Hello): void {
  const { inventory } = message;
  const changed = !node.inventory || canonicalJson(node.inventory) !== canonicalJson(inventory);
  const generation = node.generation + (changed ? 1 : 0);
  tx.append(welcomeEvents(node, state, inventory, generation).map((body) => ({ body, project: null })));
  Object.assign(node, {
    state,
    generation,
    inventory: changed ? (JSON.parse(JSON.stringify(inventory)) as typeof inventory) : node.inventory,
    session: message.session,
    server: message.server,
    bootId: message.bootId,
    agentVersion: message.agentVersion,
    isolation: message.isolation,
    renewedMs: tx.nowMs,
    renewals: node.renewals + 1,
    cpuMilli: inventory.cpuMilli,
    cpuMilliLimit: Math.max(inventory.cpuMilli, node.cpuMilliUsed),
    memoryMib: inventory.memoryMib,
    memoryMibLimit: Math.max(inventory.memoryMib, node.memoryMibUsed),
    devices: inventory.devices.length,
    devicesLimit: Math.max(inventory.devices.length, node.devicesUsed.length),
  });
}

function beatOf(tables: Tables, { id }: StoredNode): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (const run of tables.liveRuns.values())
    if (run.stopAfterMs !== null && livesOn(run, id)) shortest = Math.min(shortest, run.stopAfterMs);
  if (shortest === Number.POSITIVE_INFINITY) return longestBeatMs;
  return Math.min(longestBeatMs, Math.max(shortestBeatMs, Math.floor(shortest / 5)));
}

function livesOn(run: StoredRun, node: StoredNode['id']): boolean {
  return run.tasks.some((task) => task.node === node && task.state.state !== 'ended');
}

export function renewAll(database: MemoryDatabase, renewals: readonly Renewal[]): SessionAnswer<Renewed>[] {
  const { value, sequence } = database.write((tx) => {
    const current = renewals.filter(({ node, session }) => tx.tables.nodes.get(node)?.session === session);
    for (const id of new Set(current.map(({ node }) => node))) {
      const node = tx.tables.nodes.get(id) as StoredNode;
      node.renewedMs = tx.nowMs;
      node.renewals++;
      node.beatMs = beatOf(tx.tables, node);
    }
    return renewals.map((renewal) => (current.includes(renewal) ? renewedOf(tx.tables, renewal) : null));
  });
  return value.map((renewed) => (renewed ? { sequence, value: renewed } : 'stale-session'));
}

function renewedOf(tables: Tables, { node, keys }: Renewal): Renewed {
  const live = [...new Set(keys)].flatMap((key) => {
    const run = tables.liveRuns.get(key);
    return run && livesOn(run, node) ? [{ run: run.id, stopAfterMs: run.stopAfterMs }] : [];
  });
  return { live, beatMs: tables.nodes.get(node)?.beatMs ?? longestBeatMs };
}

export function observeAll(
  database: MemoryDatabase,
  calls: readonly ObserveCall[],
): SessionAnswer<Observed>[] {
  const { value, sequence } = database.write((tx) => {
    const { runs } = loadWithRuns(
      tx.tables,
      calls.flatMap(({ items }) => items.map(({ run }) => run)),
    );
    const changes = new Changes(tx.nowMs);
    const observed = observeCalls(changes, calls, runs, (node) => tx.tables.nodes.get(node)?.session);
    applyChanges(tx, changes);
    return observed;
  });
  return value.map((observed) => (observed ? { sequence, value: observed } : 'stale-session'));
}
