// A node's agent has connected: start-up, reconnect and server change are all this one path. The session replaces any
// older one, the inventory is stored, and every task row of the node is reconciled with what the agent holds.
import { canonicalJson, type Inventory, type NodeState, stepNode } from '@muster/model';
import type { Hello, Outcome, Welcome } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { longestBeatMs } from '../rules/beat.ts';
import { reconcileNode, seeRuns, welcomeEvents } from '../rules/node-rules.ts';
import { Changes, type NodeRecord } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { type LoadedNodes, lockNodesWithRuns } from './nodes.ts';
import { beatOfNodes } from './renew.ts';

type Refusal = 'not-found' | 'removed' | 'replaced';

export async function hello(database: Database, hello: Hello): Promise<Outcome<Welcome, Refusal>> {
  const { value, sequence } = await database.write<Welcome | Refusal>(
    async (tx) => {
      const reported = hello.tasks.map((task) => task.run);
      const locked = await lockNodesWithRuns(tx, [hello.node], reported);
      const node = locked.nodes.get(hello.node);
      if (!node) return 'not-found';
      const stepped = stepNode(node.state, { kind: 'hello', nowMs: tx.nowMs });
      if (!stepped.ok) return 'removed';
      // An old hello would end the runs that the newer connection has been given since.
      if (hello.replaces !== undefined && hello.replaces !== node.session) return 'replaced';
      await welcomeNode(tx, node, stepped.next, hello);
      await reconcile(tx, node, locked, hello);
      return { nodeName: node.name, epoch: tx.epoch, beatMs: await beat(tx, hello) };
    },
    { fenced: true },
  );
  return typeof value === 'string'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

async function welcomeNode(tx: Tx, node: NodeRecord, state: NodeState, hello: Hello): Promise<void> {
  const changed = await inventoryChanged(tx, hello);
  const generation = node.generation + (changed ? 1 : 0);
  await tx.query(updateNode, [
    node.id,
    JSON.stringify(state),
    state.state,
    generation,
    hello.session,
    hello.server,
    hello.bootId,
    hello.agentVersion,
    hello.isolation,
    hello.inventory.cpuMilli,
    hello.inventory.memoryMib,
    hello.inventory.devices.length,
  ]);
  const events = welcomeEvents(node, state, hello.inventory, generation);
  tx.append(events.map((body) => ({ body, project: null })));
}

// Hello counts as a renewal, so that the node is not silent again at once. That only ever delays an expiry.
// What is sold stays sold: limits never fall below use, and the device list never loses one in use.
const updateNode = {
  name: 'hello-node',
  text: `
UPDATE node SET state = $2::jsonb, state_name = $3, generation = $4, session = $5, server = $6, boot_id = $7,
  agent_version = $8, isolation = $9, renewed_ms = now_ms(), renewals = renewals + 1,
  cpu_milli = $10, cpu_milli_limit = greatest($10, cpu_milli_used),
  memory_mib = $11, memory_mib_limit = greatest($11, memory_mib_used),
  devices = $12, devices_limit = greatest($12, cardinality(devices_used))
WHERE id = $1`,
};

const storedInventory = { name: 'stored-inventory', text: 'SELECT inventory FROM inventory WHERE node = $1' };
const storeInventory = {
  name: 'store-inventory',
  text: `
INSERT INTO inventory (node, inventory) VALUES ($1, $2::jsonb)
ON CONFLICT (node) DO UPDATE SET inventory = excluded.inventory`,
};

async function inventoryChanged(tx: Tx, { node, inventory }: Hello): Promise<boolean> {
  const [row] = await tx.query<{ inventory: Inventory }>(storedInventory, [node]);
  if (row && canonicalJson(row.inventory) === canonicalJson(inventory)) return false;
  await tx.query(storeInventory, [node, JSON.stringify(inventory)]);
  return true;
}

async function reconcile(tx: Tx, node: NodeRecord, locked: LoadedNodes, hello: Hello): Promise<void> {
  const changes = new Changes(tx.nowMs);
  const runs = locked.runsOn(node.id);
  reconcileNode(changes, node, runs, hello.tasks);
  seeRuns(changes, runs, (id) => id === node.id || locked.nodes.get(id)?.state.state === 'ready');
  await applyChanges(tx, changes);
}

const beatText = {
  name: 'beat-of-node',
  text: `
WITH beat AS (${beatOfNodes})
UPDATE node SET beat_ms = coalesce((SELECT beat_ms FROM beat), ${longestBeatMs}) WHERE id = ($1::text[])[1]
RETURNING beat_ms AS "beatMs"`,
};

async function beat(tx: Tx, { node }: Hello): Promise<number> {
  const [row] = await tx.query<{ beatMs: number }>(beatText, [[node]]);
  return row?.beatMs ?? longestBeatMs;
}
