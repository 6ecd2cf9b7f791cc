// Enrolment, drain, trust, strikes and removal of nodes; freeze and thaw of clusters.
import {
  addStrike,
  type Drain,
  type EventBody,
  mayQuarantine,
  type NodeId,
  type Strike,
  type StrikeRule,
  type Strikes,
} from '@muster/model';
import type { Enrolment, EnrolRefusal, EnrolRequest, Freeze, Outcome, Struck } from '@muster/store';
import {
  drainAfter,
  drainByCluster,
  drainedEvent,
  enrolRefusal,
  quarantine,
  struckEvents,
} from '@muster/store/rules';
import { check, type MemoryDatabase, type Tx } from './database.ts';
import { leaveNodes } from './liveness.ts';
import { isNodeState, type StoredNode, type Tables } from './tables.ts';

export function createEnrolment({ tables }: MemoryDatabase, enrolment: Enrolment): void {
  check(!tables.enrolments.has(enrolment.hash), 'an enrolment has its own hash');
  tables.enrolments.set(enrolment.hash, { ...enrolment, usesLeft: enrolment.uses });
}

export function enrol(
  database: MemoryDatabase,
  request: EnrolRequest,
): Outcome<{ readonly node: NodeId }, EnrolRefusal> {
  const { value, sequence } = database.write<NodeId | { refusal: EnrolRefusal }>(({ tables, nowMs }) => {
    const used = tables.enrolments.get(request.hash);
    if (!used || used.usesLeft === 0 || used.expiresMs <= nowMs) return { refusal: 'bad-token' };
    const existing = named(tables, request.name);
    const refusal = existing && enrolRefusal(existing, used.cluster);
    if (refusal) return { refusal };
    used.usesLeft--;
    if (!existing) {
      const cluster = tables.clusters.get(used.cluster);
      const drain = cluster ? drainByCluster(cluster, null, nowMs) : null;
      tables.nodes.set(request.node, { ...freshNode(request, used, nowMs), drain });
      return request.node;
    }
    // A new key ends whatever spoke with the old one.
    existing.publicKey = request.publicKey;
    existing.session = null;
    return existing.id;
  });
  return typeof value === 'string'
    ? { outcome: 'committed', sequence, value: { node: value } }
    : { outcome: 'refused', refusal: value.refusal };
}

export function named(tables: Tables, name: string): StoredNode | null {
  for (const node of tables.nodes.values())
    if (node.name === name && node.state.state !== 'removed') return node;
  return null;
}

export function freshNode(
  request: Pick<EnrolRequest, 'node' | 'name' | 'publicKey'>,
  { cluster, pool }: Pick<Enrolment, 'cluster' | 'pool'>,
  nowMs: number,
): StoredNode {
  return {
    id: request.node,
    name: request.name,
    cluster,
    pool,
    publicKey: request.publicKey,
    leased: true,
    knownAs: null,
    generation: 0,
    state: { state: 'silent', sinceMs: nowMs },
    drain: null,
    trustMilli: 1000,
    strikes: null,
    session: null,
    server: null,
    bootId: null,
    agentVersion: null,
    isolation: false,
    renewedMs: null,
    renewals: 0,
    beatMs: 30_000,
    inventory: null,
    cpuMilli: 0,
    cpuMilliLimit: 0,
    cpuMilliUsed: 0,
    memoryMib: 0,
    memoryMibLimit: 0,
    memoryMibUsed: 0,
    devices: 0,
    devicesLimit: 0,
    devicesUsed: [],
    portsUsed: new Set(),
    runs: 0,
    exclusiveRun: null,
  };
}

export function drain(
  database: MemoryDatabase,
  id: NodeId,
  wish: Pick<Drain, 'by' | 'reason'> | null,
  by: string,
): Outcome<null, 'not-found'> {
  return decide(database, (tx) => {
    const node = present(tx.tables, id);
    if (!node) return 'not-found';
    const next = drainAfter(node, wish, tx.nowMs);
    if (next === 'same') return null;
    node.drain = next;
    // Whoever lets work onto a node again has looked at it.
    if (next === null) node.strikes = null;
    append(tx, [drainedEvent(node, next, by)]);
    return null;
  });
}

export function trust(
  database: MemoryDatabase,
  id: NodeId,
  trustMilli: number,
  by: string,
): Outcome<null, 'not-found'> {
  return decide(database, (tx) => {
    const node = present(tx.tables, id);
    if (!node) return 'not-found';
    if (node.trustMilli === trustMilli) return null;
    node.trustMilli = trustMilli;
    // Of a node that has never spoken nobody has heard yet.
    if (node.generation > 0)
      append(tx, [{ kind: 'node.trusted', node: id, name: node.name, trustMilli, by }]);
    return null;
  });
}

export function strike(
  database: MemoryDatabase,
  id: NodeId,
  item: Strike,
  rule: StrikeRule,
): Outcome<Struck, 'not-found'> {
  const { value, sequence } = database.write<Struck | null>((tx) => {
    const node = present(tx.tables, id);
    if (!node) return null;
    const strikes = addStrike(node.strikes, item, rule, tx.nowMs);
    const outcome = struckOutcome(tx.tables, node, strikes, rule);
    const drained = outcome === 'quarantined' ? quarantine(strikes) : null;
    append(tx, struckEvents(node, strikes, outcome, drained, rule));
    node.strikes = { ...strikes, spared: outcome === 'spared' };
    node.drain = drained ?? node.drain;
    return { name: node.name, strikes: strikes.count, outcome };
  });
  return value === null
    ? { outcome: 'refused', refusal: 'not-found' }
    : { outcome: 'committed', sequence, value };
}

function struckOutcome(
  tables: Tables,
  node: StoredNode,
  strikes: Strikes,
  rule: StrikeRule,
): Struck['outcome'] {
  // Whoever drained it already has said all there is to say.
  if (strikes.count < rule.limit || node.drain !== null) return 'counted';
  const pool = [...tables.nodes.values()].filter(
    (one) => one.cluster === node.cluster && one.pool === node.pool && isNodeState(one, 'ready', 'silent'),
  );
  const quarantined = pool.filter((one) => one.drain?.quarantine).length;
  const open = pool.filter((one) => one !== node && isNodeState(one, 'ready') && one.drain === null).length;
  return mayQuarantine({ nodes: pool.length, quarantined, open }, rule) ? 'quarantined' : 'spared';
}

export function removeNode(
  database: MemoryDatabase,
  id: NodeId,
  by: string,
): Outcome<null, 'not-found' | 'in-use' | 'takes-work'> {
  return decide(database, (tx) => {
    const node = present(tx.tables, id);
    if (!node) return 'not-found';
    if (node.runs > 0) return 'in-use';
    if (isNodeState(node, 'ready') && node.drain === null) return 'takes-work';
    leaveNodes(tx, [node], () => ({ kind: 'remove', nowMs: tx.nowMs }), by);
    return null;
  });
}

/** Once for a silence: asking again neither prolongs it nor undoes that somebody thawed it. */
export function freeze(database: MemoryDatabase, epoch: number, item: Freeze): Outcome<null, 'stale-epoch'> {
  return decide(database, (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const { frozen } = tx.tables;
    if (frozen.has(item.cluster)) return null;
    const { cluster, silent, nodes, untilMs } = item;
    frozen.set(cluster, { cluster, silent, nodes, untilMs });
    append(tx, [{ kind: 'cluster.frozen', cluster, silent, nodes, untilMs }]);
    return null;
  });
}

export function thaw(database: MemoryDatabase, cluster: string, by: string): Outcome<null, 'not-frozen'> {
  return decide(database, (tx) => {
    const freeze = tx.tables.frozen.get(cluster);
    if (!freeze || freeze.untilMs <= tx.nowMs) return 'not-frozen';
    tx.tables.frozen.set(cluster, { ...freeze, untilMs: tx.nowMs });
    append(tx, [{ kind: 'cluster.thawed', cluster, by }]);
    return null;
  });
}

export function silenceOver(
  database: MemoryDatabase,
  epoch: number,
  cluster: string,
): Outcome<null, 'stale-epoch'> {
  return decide(database, (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const live = (tx.tables.frozen.get(cluster)?.untilMs ?? 0) > tx.nowMs;
    tx.tables.frozen.delete(cluster);
    if (live) append(tx, [{ kind: 'cluster.thawed', cluster, by: 'muster' }]);
    return null;
  });
}

function present(tables: Tables, id: NodeId): StoredNode | null {
  const node = tables.nodes.get(id);
  return node && !isNodeState(node, 'removed') ? node : null;
}

function append(tx: Tx, bodies: readonly EventBody[]): void {
  tx.append(bodies.map((body) => ({ body, project: null })));
}

function decide<Refusal extends string>(
  database: MemoryDatabase,
  body: (tx: Tx) => null | Refusal,
): Outcome<null, Refusal> {
  const { value, sequence } = database.write(body);
  return value === null ? { outcome: 'committed', sequence, value } : { outcome: 'refused', refusal: value };
}
