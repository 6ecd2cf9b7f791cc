// Ordering a move: what may be moved, where it may go, and whether it ever could run there. The engine is asked first, so that nothing
// is stopped for a place that does not exist.
import {
  type Constraint,
  entryFacts,
  entryHead,
  isArray,
  type JobId,
  jobDemand,
  type MoveOrder,
  moveDemand,
  type NodeId,
  nearest,
  placeText,
  type RunId,
  verdictText,
} from '@muster/model';
import type { ChangeRefusal, JobRow } from '@muster/store';
import type { Api } from './deps.ts';
import { outcomeUnknown } from './outcome.ts';
import { notFound, type RefusedError, refuse } from './problem.ts';

export interface OrderedMove {
  readonly sequence: number;
  /** Why it will have to wait for its place, as things are now; null when it starts there at once. */
  readonly waits: string | null;
}

/** Where to: the cluster that is named, or any other than those where the job is now. */
export async function placeFor(api: Api, row: JobRow, to: string | null): Promise<Constraint> {
  const from = await clustersOf(api, row);
  if (to === null) return { label: 'cluster', op: 'not-in', values: from };
  await knownCluster(api, to);
  if (from.length === 1 && from[0] === to)
    throw refuse('conflict', `${row.id} runs in cluster ${to} already; it stays where it is`);
  return { label: 'cluster', op: 'in', values: [to] };
}

export async function knownCluster(api: Api, name: string): Promise<void> {
  const names = (await api.store.clusterSums()).map(({ cluster }) => cluster);
  if (names.includes(name)) return;
  const near = nearest(name, names);
  throw refuse(
    'conflict',
    `no cluster "${name}" has nodes${near ? `; did you mean "${near}"?` : ''}; nothing is moved`,
  );
}

async function clustersOf(api: Api, row: JobRow): Promise<string[]> {
  const run = (await api.store.runs(row.id)).find(({ id }) => id === runOf(row));
  const ids = new Set<NodeId>(run?.tasks.map(({ placement }) => placement.node));
  const nodes = await Promise.all([...ids].map((id) => api.store.node(id)));
  return [...new Set(nodes.flatMap((node) => node?.cluster ?? []))].sort();
}

/** The run that is to be moved; refused where there is none that could be. */
function runOf({ id, state }: JobRow): RunId {
  if (isArray(state))
    throw refuse(
      'conflict',
      `${id} is an array, and arrays are not moved; cancel and submit it again elsewhere`,
    );
  switch (state.state) {
    case 'starting':
    case 'running':
      return state.run;
    case 'queued':
    case 'held':
      throw refuse(
        'conflict',
        `${id} is ${state.state} and runs nowhere, so there is nothing to move; constraints of its spec say where it may start`,
      );
    case 'stopping':
      throw refuse(
        'conflict',
        `${id} is being stopped because ${state.by} cancelled it; it starts nowhere again`,
      );
    case 'ended':
      throw refuse('conflict', `${id} has ended; submit it again to run it again`);
  }
}

export async function orderMove(
  api: Api,
  row: JobRow,
  place: Constraint,
  reason: string | null,
  by: string,
): Promise<OrderedMove> {
  const order = orderOf(row, place, reason);
  const waits = await waitingThere(api, row, order);
  const answer = await api.store.move(row.id, order, by);
  if (answer.outcome === 'unknown') throw outcomeUnknown(`read ${row.id} to see`);
  if (answer.outcome === 'refused') throw notMoved(answer.refusal, row.id);
  return { sequence: answer.sequence, waits };
}

function orderOf(row: JobRow, place: Constraint, reason: string | null): MoveOrder {
  const { spec, submittedBy, estimate } = row;
  const head = entryHead(entryFacts(spec, submittedBy, estimate ?? undefined));
  return { run: runOf(row), place, reason, base: { head, demand: jobDemand(spec) } };
}

/** What the engine says to such a job, asked anew; throws where it could never start. */
async function waitingThere(api: Api, row: JobRow, order: MoveOrder): Promise<string | null> {
  const { spec, submittedBy, estimate } = row;
  const facts = entryFacts(spec, submittedBy, estimate ?? undefined);
  const demand = moveDemand({ ...order, by: '', over: false });
  const { verdict } = await api.control.consider({ ...facts, demand });
  if (verdict?.kind === 'impossible')
    throw refuse(
      'conflict',
      `${row.id} could never start when moved ${placeText(order.place)}, so it stays where it is: ${verdictText(verdict)}`,
    );
  return verdict?.kind === 'waits' ? verdictText(verdict) : null;
}

function notMoved(
  refusal: ChangeRefusal | 'not-now' | 'already-ended' | 'stale-run' | 'member',
  id: JobId,
): RefusedError {
  if (refusal === 'not-found') return notFound('job', id);
  if (refusal === 'member')
    return refuse(
      'conflict',
      `${id} is a member of an array, and arrays are not moved; cancel and submit it again elsewhere`,
    );
  return refuse('conflict', `${id} has another state by now; look at it, then decide anew`);
}

export function notUnmoved(refusal: ChangeRefusal | string, { id, state }: JobRow): RefusedError {
  if (refusal === 'not-found') return notFound('job', id);
  if (refusal === 'already-ended') return refuse('conflict', `${id} has ended`);
  return refuse('conflict', `${id} is ${state.state} where it was to go already; move it back instead`);
}
