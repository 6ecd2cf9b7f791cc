// A store with everything that stands before the first workload: policy, projects, nodes with a session each, a leader's epoch.
import { randomBytes } from 'node:crypto';
import { freshId, type Inventory, type NodeId, type Policy } from '@muster/model';
import { type NodeSession, openStore, type PgStore } from '@muster/store';
import { withClient } from '../control/pg-client.ts';
import type { Bed } from '../control/system.ts';
import type { Cohort } from './arrivals.ts';

export interface KueueBed {
  readonly store: PgStore;
  readonly databaseUrl: string;
  readonly epoch: number;
  readonly sessions: ReadonlyMap<NodeId, NodeSession>;
}

const leaseMs = 3_600_000;
const by = 'bench';

export async function makeKueueBed(
  bed: Bed,
  name: string,
  cohorts: readonly Cohort[],
  policy: Policy,
  inventories: readonly Inventory[],
): Promise<KueueBed> {
  const databaseUrl = await bed.createDatabase(name);
  const store = await openStore({ url: databaseUrl });
  bed.lifetime.add(() => store.close());
  await setPolicy(store, databaseUrl, policy);
  await makeProjects(store, cohorts);
  const server = freshId('server', Date.now(), randomBytes(9));
  const lease = await store.acquireLease(
    { id: server, url: 'http://127.0.0.1:1', bootId: 'bench', pid: process.pid, pidStart: '1' },
    leaseMs,
    null,
  );
  const sessions = await joinNodes(store, server, inventories);
  // Statistics as autovacuum would have them after a while.
  await withClient(databaseUrl, (client) => client.query('ANALYZE'));
  return { store, databaseUrl, epoch: lease.epoch, sessions };
}

/** Before anybody has read it: there is nobody to tell. */
async function setPolicy(store: PgStore, databaseUrl: string, policy: Policy): Promise<void> {
  const { version } = await store.policy();
  await withClient(databaseUrl, (client) =>
    client.query(
      'INSERT INTO policy (version, policy, created_ms, created_by) VALUES ($1, $2::jsonb, now_ms(), $3)',
      [version + 1, JSON.stringify(policy), by],
    ),
  );
}

async function makeProjects(store: PgStore, cohorts: readonly Cohort[]): Promise<void> {
  const make = async (path: string): Promise<void> => {
    const made = await store.createProject(path, by);
    if (made.outcome !== 'committed') throw new Error(`project ${path}: ${JSON.stringify(made)}`);
  };
  for (const { name, queues } of cohorts) {
    await make(name);
    await Promise.all(queues.map((queue) => make(queue.name)));
  }
}

async function joinNodes(
  store: PgStore,
  server: Parameters<PgStore['hello']>[0]['server'],
  inventories: readonly Inventory[],
): Promise<ReadonlyMap<NodeId, NodeSession>> {
  const hash = randomBytes(32).toString('hex');
  const expiresMs = (await store.nowMs()) + leaseMs;
  const uses = inventories.length;
  await store.createEnrolment({ id: 'bench', hash, cluster: 'main', pool: 'cpu', by, expiresMs, uses });
  const sessions = new Map<NodeId, NodeSession>();
  await Promise.all(
    inventories.map(async (inventory, i) => {
      const node = freshId('node', Date.now(), randomBytes(9));
      const enrolled = await store.enrol({ hash, node, name: `n-${i}`, publicKey: `key-${i}` });
      if (enrolled.outcome !== 'committed') throw new Error(`node ${i}: ${JSON.stringify(enrolled)}`);
      const session = { node: enrolled.value.node, session: `session-${i}` };
      const hello = { server, bootId: 'bench', agentVersion: '0', isolation: false, inventory, tasks: [] };
      const welcome = await store.hello({ ...session, ...hello });
      if (welcome.outcome !== 'committed') throw new Error(`node ${i}: ${JSON.stringify(welcome)}`);
      sessions.set(session.node, session);
    }),
  );
  return sessions;
}
