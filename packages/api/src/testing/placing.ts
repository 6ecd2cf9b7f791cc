// Takes a job through its life by the store's own intentions, as the leader and a node's agent would.
import type { JobId, NodeId, RunId, ServerId, TaskExit } from '@muster/model';
import type { DispatchSession } from '@muster/store';
import { aPlan, aUnit, joinNode, lead, placement, sayHello } from '@muster/store/testing';
import type { World } from './world.ts';

export interface PlayedNode extends DispatchSession {
  readonly name: string;
}

/** A ready node whose agent is connected to this world's server. */
export async function connectNode(world: World, name: string): Promise<PlayedNode> {
  const joined = await joinNode(world.store, { name });
  return reconnectNode(world, joined.node, name, world.control.server);
}

export async function reconnectNode(
  world: World,
  node: NodeId,
  name: string,
  server: ServerId,
): Promise<PlayedNode> {
  const { session } = await sayHello(world.store, node, { name, server });
  if (server === world.control.server) world.control.connectedNodes.add(node);
  return { node, session, fenced: true, name };
}

export interface PlacedRun {
  readonly run: RunId;
  readonly nodes: readonly PlayedNode[];
}

let portsGiven = 0;

/** Plans, starts and reports as running the next attempt of a job, one task a node. */
export async function runJob(world: World, job: JobId, nodes: readonly PlayedNode[]): Promise<PlacedRun> {
  const { store } = world;
  const epoch = await lead(store);
  const row = await store.job(job);
  if (!row) throw new Error(`no job ${job}`);
  const generations = await Promise.all(
    nodes.map(async ({ node }) => (await store.node(node))?.generation ?? 1),
  );
  const unit = aUnit(
    job,
    nodes.map(({ node }) => placement(node)),
    {
      attempt: 'attempt' in row.state ? row.state.attempt : 1,
      port: 20_000 + (portsGiven++ % 100),
      jobVersion: row.version,
      nodeGenerations: nodes.map(({ node }, i) => [node, generations[i] ?? 1] as const),
    },
  );
  const planned = await store.commitPlan(epoch, aPlan([unit]));
  if (planned.outcome !== 'committed' || planned.value.applied.length !== 1)
    throw new Error(`not planned: ${JSON.stringify(planned)}`);
  await store.takeOutbox(nodes, 100);
  for (const [rank, session] of nodes.entries())
    await store.observe(session, [{ kind: 'started', run: unit.run, rank, pid: 1 }]);
  return { run: unit.run, nodes };
}

export async function endRun(world: World, { run, nodes }: PlacedRun, exit: TaskExit): Promise<void> {
  for (const [rank, session] of nodes.entries())
    await world.store.observe(session, [{ kind: 'ended', run, rank, exit }]);
}
