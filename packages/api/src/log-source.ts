// Where the output of a task is: which attempt, which node, and which server that node's agent is connected to.
import type { NodeId, RunId } from '@muster/model';
import type { JobRow, RunRow, ServerInfo } from '@muster/store';
import type { Api } from './deps.ts';
import { type RefusedError, refuse } from './problem.ts';

export interface LogTask {
  readonly run: RunId;
  readonly attempt: number;
  readonly rank: number;
  readonly node: NodeId;
  readonly nodeName: string;
}

/** The task of the asked or newest attempt; null while there is no such attempt yet. */
export function taskOf(runs: readonly RunRow[], rank: number, attempt: number | null): LogTask | null {
  const run = attempt === null ? runs.at(-1) : runs.find((row) => row.attempt === attempt);
  const task = run?.tasks.find((row) => row.placement.rank === rank);
  if (!run || !task) return null;
  return { run: run.id, attempt: run.attempt, rank, node: task.placement.node, nodeName: task.nodeName };
}

export function checkRank(row: JobRow, rank: number): void {
  const tasks = row.spec.groups.reduce((sum, group) => sum + group.demand.tasks, 0);
  if (rank >= tasks)
    throw refuse(
      'bad-request',
      `${row.id} has ${tasks} ${tasks === 1 ? 'task' : 'tasks'}; rank must be 0 to ${tasks - 1}`,
    );
}

export type Place =
  | { readonly at: 'here' }
  | { readonly at: 'elsewhere'; readonly server: ServerInfo }
  | { readonly at: 'nowhere' };

/** `forwarded` requests are answered here or not at all: one hop, so that two servers never pass one to and fro. */
export async function placeOf(api: Api, node: NodeId, forwarded: boolean): Promise<Place> {
  if (api.control.agents.isConnected(node)) return { at: 'here' };
  const server = forwarded ? null : await api.store.serverOfNode(node);
  return server && server.id !== api.control.server ? { at: 'elsewhere', server } : { at: 'nowhere' };
}

export function unreachable({ nodeName }: LogTask): RefusedError {
  return refuse(
    'node-unreachable',
    `the output is on node ${nodeName}, which is not connected now; try again when it is back`,
    { headers: { 'retry-after': '5' } },
  );
}
