// A child process with a whole fleet of simulated agents: enrols them through the API, connects them, and tells its parent
// every half second how many are connected and what started and ended.
import { generateKeyPairSync } from 'node:crypto';
import type { Inventory, NodeId } from '@muster/model';
import { expectOk, HttpConnection, requestText } from '../load/http-connection.ts';
import { type AgentIdentity, type FleetCounts, SimulatedAgent } from './simulated-agent.ts';

export interface FleetOrder {
  readonly url: string;
  readonly enrolmentToken: string;
  readonly nodes: number;
  readonly devicesPerNode: number;
  /** Mean of an exponential distribution. */
  readonly meanRunMs: number;
}

/** The API limits enrolments by address; a fleet has many, and so has loopback. */
const nodesPerAddress = 250;
const connectAtOnce = 50;
const tellEveryMs = 500;

function inventoryOf(i: number, devices: number): Inventory {
  return {
    cpuMilli: 128_000,
    memoryMib: 2 * 1024 * 1024,
    devices: Array.from({ length: devices }, (_, index) => ({
      index,
      kind: 'gpu',
      model: 'H100',
      memoryMib: 81_920,
      uuid: `GPU-bench-${i}-${index}`,
    })),
    labels: { rack: `rack-${Math.floor(i / 32)}`, zone: `zone-${i % 4}` },
    capabilities: ['signals', 'unlike-groups', 'uneven-nodes'],
    address: '127.0.0.1',
    ports: { first: 20_000, count: 1000 },
  };
}

async function enrolAll(order: FleetOrder): Promise<AgentIdentity[]> {
  const { hostname, port } = new URL(order.url);
  const identities: AgentIdentity[] = [];
  const lane = async (first: number): Promise<void> => {
    const from = `127.0.0.${2 + first / nodesPerAddress}`;
    const connection = await HttpConnection.open({ host: hostname, port: Number(port), from });
    for (let i = first; i < Math.min(order.nodes, first + nodesPerAddress); i++)
      identities.push(await enrol(order, connection, i));
    connection.close();
  };
  const firsts = Array.from(
    { length: Math.ceil(order.nodes / nodesPerAddress) },
    (_, i) => i * nodesPerAddress,
  );
  await Promise.all(firsts.map(lane));
  return identities;
}

async function enrol(order: FleetOrder, connection: HttpConnection, i: number): Promise<AgentIdentity> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const body = JSON.stringify({
    token: order.enrolmentToken,
    name: `sim-${i}`,
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  });
  const text = requestText({ method: 'POST', path: '/v1/enrol', token: 'none', body });
  const { node } = JSON.parse(expectOk(await connection.send(text), text).body.toString()) as {
    node: NodeId;
  };
  return { node, key: privateKey, inventory: inventoryOf(i, order.devicesPerNode) };
}

async function connectAll(
  order: FleetOrder,
  identities: readonly AgentIdentity[],
  counts: FleetCounts,
): Promise<void> {
  const runMs = (): number => -Math.log(1 - Math.random()) * order.meanRunMs;
  for (const [i, identity] of identities.entries()) {
    new SimulatedAgent(order.url, identity, counts, runMs);
    while (i + 1 - counts.connected >= connectAtOnce && counts.broken === null)
      await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const order = JSON.parse(process.argv[2] ?? '{}') as FleetOrder;
const counts: FleetCounts = { connected: 0, started: 0, ended: 0, broken: null };
setInterval(() => process.send?.(counts), tellEveryMs);
process.on('disconnect', () => process.exit());
await connectAll(order, await enrolAll(order), counts);
