// Agents of nodes have connected, or the leader speaks for nodes of a cluster: start-up, reconnect and server change are all this one
// path. A session replaces any older one of its node, the inventory is stored, and every task row of the node is reconciled with what
// the agent holds. Those that come together are welcomed in one transaction: a cluster may have ten thousand nodes.
import { canonicalJson, type Inventory, type NodeId, type NodeState, stepNode } from '@muster/model';
import type { Hello, Outcome, Welcome } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { longestBeatMs } from '../rules/beat.ts';
import { reconcileNode, seeRuns, welcomeEvents } from '../rules/node-rules.ts';
import { Changes, type NodeRecord } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { type LoadedNodes, lockNodesWithRuns } from './nodes.ts';
import { beatOfNodes } from './renew.ts';

type Refusal = 'not-found' | 'removed' | 'replaced';
export type HelloOutcome = Outcome<Welcome, Refusal>;

/** A hello that is taken, with its node as it was and the state that it has from now on. */
interface Welcomed {
  readonly hello: Hello;
  readonly node: NodeRecord;
  readonly state: NodeState;
}

export function commitHellos(database: Database) {
  return async (hellos: readonly Hello[]): Promise<HelloOutcome[]> => {
    const { value, sequence } = await database.write(
      async (tx) => {
        const answers = new Map<Hello, Welcome | Refusal>();
        for (const wave of oneOfEachNode(hellos)) await welcomeAll(tx, wave, answers);
        return answers;
      },
      { fenced: true },
    );
    return hellos.map((hello) => {
      const answer = value.get(hello) ?? 'not-found';
      return typeof answer === 'string'
        ? { outcome: 'refused', refusal: answer }
        : { outcome: 'committed', sequence, value: answer };
    });
  };
}

/** The second hello of a node must see what the first one did. */
function oneOfEachNode(hellos: readonly Hello[]): Hello[][] {
  const waves: Hello[][] = [];
  const count = new Map<NodeId, number>();
  for (const hello of hellos) {
    const before = count.get(hello.node) ?? 0;
    count.set(hello.node, before + 1);
    const wave = waves[before] ?? [];
    wave.push(hello);
    waves[before] = wave;
  }
  return waves;
}

async function welcomeAll(
  tx: Tx,
  hellos: readonly Hello[],
  answers: Map<Hello, Welcome | Refusal>,
): Promise<void> {
  const reported = hellos.flatMap(({ tasks }) => tasks.map(({ run }) => run));
  const locked = await lockNodesWithRuns(
    tx,
    hellos.map(({ node }) => node),
    reported,
  );
  const welcomed: Welcomed[] = [];
  for (const hello of hellos) {
    const judged = judge(hello, locked.nodes.get(hello.node), tx.nowMs);
    if (typeof judged === 'string') answers.set(hello, judged);
    else welcomed.push(judged);
  }
  if (welcomed.length === 0) return;
  await welcomeNodes(tx, welcomed);
  await reconcile(tx, welcomed, locked);
  const beats = await beatsOf(tx, welcomed);
  for (const { hello, node } of welcomed)
    answers.set(hello, { nodeName: node.name, epoch: tx.epoch, beatMs: beats.get(node.id) ?? longestBeatMs });
}

function judge(hello: Hello, node: NodeRecord | undefined, nowMs: number): Welcomed | Refusal {
  if (!node) return 'not-found';
  const stepped = stepNode(node.state, { kind: 'hello', nowMs });
  if (!stepped.ok) return 'removed';
  // An old hello would end the runs that the newer connection has been given since.
  if (hello.replaces !== undefined && hello.replaces !== node.session) return 'replaced';
  return { hello, node, state: stepped.next };
}

async function welcomeNodes(tx: Tx, welcomed: readonly Welcomed[]): Promise<void> {
  const changed = await storeInventories(tx, welcomed);
  const generationOf = ({ node }: Welcomed): number => node.generation + (changed.has(node.id) ? 1 : 0);
  const hellos = welcomed.map(({ hello }) => hello);
  await tx.query(updateNodes, [
    welcomed.map(({ node }) => node.id),
    welcomed.map(({ state }) => JSON.stringify(state)),
    welcomed.map(({ state }) => state.state),
    welcomed.map(generationOf),
    hellos.map(({ session }) => session),
    hellos.map(({ server }) => server),
    hellos.map(({ bootId }) => bootId),
    hellos.map(({ agentVersion }) => agentVersion),
    hellos.map(({ isolation }) => isolation),
    hellos.map(({ inventory }) => inventory.cpuMilli),
    hellos.map(({ inventory }) => inventory.memoryMib),
    hellos.map(({ inventory }) => inventory.devices.length),
  ]);
  for (const one of welcomed) {
    const events = welcomeEvents(one.node, one.state, one.hello.inventory, generationOf(one));
    tx.append(events.map((body) => ({ body, project: null })));
  }
}

// Hello counts as a renewal, so that the node is not silent again at once. That only ever delays an expiry.
// What is sold stays sold: limits never fall below use, and the device list never loses one in use.
const updateNodes = {
  name: 'hello-nodes',
  text: `
UPDATE node SET state = h.state::jsonb, state_name = h.state_name, generation = h.generation, session = h.session, server = h.server,
  boot_id = h.boot_id, agent_version = h.agent_version, isolation = h.isolation, renewed_ms = now_ms(), renewals = renewals + 1,
  cpu_milli = h.cpu, cpu_milli_limit = greatest(h.cpu, cpu_milli_used),
  memory_mib = h.memory, memory_mib_limit = greatest(h.memory, memory_mib_used),
  devices = h.devices, devices_limit = greatest(h.devices, cardinality(devices_used))
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bool[],
  $10::bigint[], $11::bigint[], $12::bigint[])
  AS h (id, state, state_name, generation, session, server, boot_id, agent_version, isolation, cpu, memory, devices)
WHERE node.id = h.id`,
};

const storedInventories = {
  name: 'stored-inventories',
  text: 'SELECT node, inventory FROM inventory WHERE node = ANY ($1::text[])',
};
const storeInventory = {
  name: 'store-inventories',
  text: `
INSERT INTO inventory (node, inventory) SELECT node, inventory::jsonb FROM unnest($1::text[], $2::text[]) AS i (node, inventory)
ON CONFLICT (node) DO UPDATE SET inventory = excluded.inventory`,
};

/** Gives the nodes whose inventory is another one than before. */
async function storeInventories(tx: Tx, welcomed: readonly Welcomed[]): Promise<ReadonlySet<NodeId>> {
  const ids = welcomed.map(({ node }) => node.id);
  const rows = await tx.query<{ node: NodeId; inventory: Inventory }>(storedInventories, [ids]);
  const stored = new Map(rows.map(({ node, inventory }) => [node, canonicalJson(inventory)]));
  const changed = welcomed.filter(
    ({ node, hello }) => stored.get(node.id) !== canonicalJson(hello.inventory),
  );
  if (changed.length > 0)
    await tx.query(storeInventory, [
      changed.map(({ node }) => node.id),
      changed.map(({ hello }) => JSON.stringify(hello.inventory)),
    ]);
  return new Set(changed.map(({ node }) => node.id));
}

async function reconcile(tx: Tx, welcomed: readonly Welcomed[], locked: LoadedNodes): Promise<void> {
  const changes = new Changes(tx.nowMs);
  const here = new Set(welcomed.map(({ node }) => node.id));
  for (const { node, hello } of welcomed) reconcileNode(changes, node, locked.runsOn(node.id), hello.tasks);
  const runs = new Set(welcomed.flatMap(({ node }) => locked.runsOn(node.id)));
  seeRuns(changes, [...runs], (id) => here.has(id) || locked.nodes.get(id)?.state.state === 'ready');
  await applyChanges(tx, changes);
}

const beatText = {
  name: 'beat-of-nodes',
  text: `
WITH beat AS (${beatOfNodes})
UPDATE node SET beat_ms = coalesce(beat.beat_ms, ${longestBeatMs})
FROM unnest($1::text[]) AS s (id) LEFT JOIN beat ON beat.node = s.id
WHERE node.id = s.id RETURNING node.id, node.beat_ms AS "beatMs"`,
};

async function beatsOf(tx: Tx, welcomed: readonly Welcomed[]): Promise<ReadonlyMap<NodeId, number>> {
  const ids = welcomed.map(({ node }) => node.id);
  const rows = await tx.query<{ id: NodeId; beatMs: number }>(beatText, [ids]);
  return new Map(rows.map(({ id, beatMs }) => [id, beatMs]));
}
