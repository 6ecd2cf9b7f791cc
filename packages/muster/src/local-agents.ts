// Agents beside the server, in the same process: each a node of its own with its own folder, its own part of the ports and,
// where there are several, its own part of the machine.
import { renameSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { type AgentHandle, enrolAgent, openStateDir, readIdentity, runAgent } from '@muster/agent';
import { type MusterClient, MusterError } from '@muster/client';
import { type NodeId, type NodeView, OperationalError } from '@muster/model';
import type { Logger } from 'pino';
import type { Machine } from './machine-flags.ts';
import { nodeName } from './node-name.ts';

export interface LocalAgents {
  /** As they were when all had connected. */
  readonly nodes: readonly NodeView[];
  /** Tasks go on under their supervisors. */
  stop(): Promise<void>;
}

export interface LocalAgentsOptions {
  readonly client: MusterClient;
  readonly server: string;
  readonly dir: string;
  readonly count: number;
  readonly machine: Machine;
  readonly ports: { readonly first: number; readonly count: number };
  readonly taskUser?: string | undefined;
  /** Address for rendezvous; loopback is enough while all nodes are here. */
  readonly address?: string | undefined;
  readonly log: Logger;
  /** Whether this very server has the node's connection: the database may still tell of the last time. */
  readonly isConnected: (node: NodeId) => boolean;
  readonly name?: string | undefined;
}

export async function startLocalAgents(options: LocalAgentsOptions): Promise<LocalAgents> {
  const { client, server, count, ports, log, address, taskUser } = options;
  const base = options.name ?? nodeName();
  const perAgent = Math.floor(ports.count / count);
  const begin = async (i: number): Promise<{ name: string; handle: AgentHandle }> => {
    const dir = join(options.dir, `agent-${i + 1}`);
    const name = await enrolOnce(client, server, dir, count === 1 ? base : `${base}-${i + 1}`);
    const handle = await runAgent({
      server,
      dir,
      log: log.child({ agent: name }),
      ...part(options.machine, i, count),
      ports: { first: ports.first + i * perAgent, count: perAgent },
      address,
      taskUser,
    });
    return { name, handle };
  };
  const begun = await Promise.allSettled(Array.from({ length: count }, (_, i) => begin(i)));
  const agents = begun.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async (): Promise<void> => void (await Promise.all(agents.map(({ handle }) => handle.stop())));
  const failed = begun.find((one) => one.status === 'rejected');
  if (failed) {
    await stop();
    throw failed.reason;
  }
  return {
    nodes: await readyNodes(
      options,
      agents.map(({ name }) => name),
    ),
    stop,
  };
}

const readyWithinMs = 30_000;

/** The nodes once all have connected; after a while those that there are, as they are. */
async function readyNodes(
  { client, isConnected }: LocalAgentsOptions,
  names: readonly string[],
): Promise<NodeView[]> {
  let known = false;
  for (const deadline = performance.now() + readyWithinMs; ; ) {
    const nodes: NodeView[] = [];
    for await (const node of client.nodes.all()) if (names.includes(node.name)) nodes.push(node);
    const ready = nodes.filter((node) => node.state === 'ready' && isConnected(node.id)).length;
    // The rows were read before we knew that all are connected: once more shows what they said on connecting.
    if ((known && ready === names.length) || performance.now() > deadline) return nodes;
    known = ready === names.length;
    if (!known) await new Promise((wake) => setTimeout(wake, 50));
  }
}

/** Several agents must not each offer the whole machine; its real devices belong to the first. */
export function part(machine: Machine, index: number, count: number): Machine {
  if (count === 1) return machine;
  const noGpus = { kind: 'gpu', count: 0, model: 'generic', memoryMib: 0 };
  return {
    ...machine,
    // At least one core: a job that does not say how many it needs asks for one, and would be impossible for ever.
    cpuMilli: machine.cpuMilli ?? Math.max(1000, Math.floor((availableParallelism() * 1000) / count)),
    memoryMib: machine.memoryMib ?? Math.max(1, Math.floor(totalmem() / 1024 / 1024 / count)),
    devices: machine.devices ?? (index === 0 ? undefined : [noGpus]),
  };
}

/** The name under which this folder is a node of this database, after enrolling it if need be. */
async function enrolOnce(client: MusterClient, server: string, dir: string, name: string): Promise<string> {
  const known = knownIn(dir);
  if (known && (await isNode(client, known.node))) return known.name;
  // The folder belongs to a node of another database: kept aside, because its tasks may still be looked for.
  if (known) renameSync(dir, `${dir}.of-${known.node}`);
  const { token } = await client.nodes.createEnrolment({ uses: 1 });
  await enrolAgent({ server, token, name, dir });
  return name;
}

function knownIn(dir: string) {
  try {
    return readIdentity(openStateDir(dir));
  } catch (error) {
    if (error instanceof OperationalError && error.code === 'not-found') return null;
    throw error;
  }
}

async function isNode(client: MusterClient, id: string): Promise<boolean> {
  try {
    return (await client.nodes.get(id)).state !== 'removed';
  } catch (error) {
    if (error instanceof MusterError && error.code === 'not-found') return false;
    throw error;
  }
}
