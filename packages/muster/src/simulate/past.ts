// What a live system has been asked to do, read over its API: the nodes it has, the policy in force, and the events of the last days.
import type { MusterClient } from '@muster/client';
import type { NodeFacts, NodeView } from '@muster/model';
import { type PastJob, PastJobs } from '@muster/sim';

export interface Past {
  readonly jobs: readonly PastJob[];
  /** Jobs that are left out, by why. */
  readonly excluded: ReadonlyMap<string, number>;
  readonly events: number;
  /** Of the first event that was read; null when there was none. */
  readonly since: string | null;
}

const atOnce = 500;

export async function readPast(
  client: MusterClient,
  sinceMs: number,
  nowMs: number,
  onProgress: (part: number) => void,
): Promise<Past> {
  const past = new PastJobs();
  const jobs: PastJob[] = [];
  const excluded = new Map<string, number>();
  const keep = (told: PastJob | { readonly excluded: string }): void => {
    if ('excluded' in told) excluded.set(told.excluded, (excluded.get(told.excluded) ?? 0) + 1);
    else jobs.push(told);
  };
  let events = 0;
  let since: string | null = null;
  const range = await rangeSince(client, sinceMs);
  if (range) {
    const all = client.events.all({ after: range.after, limit: atOnce });
    for await (const { kind, body, at, sequence } of all) {
      // A busy log grows while it is read; what comes now belongs to no past.
      if (sequence > range.last) break;
      since ??= at;
      const told = past.take({ kind, body: body as Readonly<Record<string, unknown>> });
      if (told) keep(told);
      if (++events % atOnce === 0) onProgress((sequence - range.first) / (range.last - range.first + 1));
    }
  }
  for (const { told } of past.unfinished(nowMs)) keep(told);
  return { jobs, excluded, events, since };
}

interface Range {
  /** The position to read on from. */
  readonly after: string;
  readonly first: number;
  readonly last: number;
}

/** Events are found by number and not by time, so the first of a time is found by halving. */
async function rangeSince(client: MusterClient, sinceMs: number): Promise<Range | null> {
  const begin = await client.events.list({ after: 0, limit: 1 });
  const end = await client.events.list({ after: -1, limit: 1 });
  const [oldest, newest] = [begin.items[0], end.items[0]];
  if (!oldest || !newest) return null;
  const log = begin.next?.split('.')[0];
  if (log === undefined || Date.parse(oldest.at) >= sinceMs)
    return { after: '0', first: oldest.sequence, last: newest.sequence };
  let [low, high] = [oldest.sequence, newest.sequence + 1];
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    const { items } = await client.events.list({ after: `${log}.${middle - 1}`, limit: 1 });
    if (items[0] && Date.parse(items[0].at) < sinceMs) low = middle;
    else high = middle;
  }
  return { after: `${log}.${low}`, first: low + 1, last: newest.sequence };
}

/** Plenty: a node's list of them is not told, and they hardly ever run out. */
const ports = { first: 20_000, count: 40_000 };

export function nodeFacts(view: NodeView): NodeFacts {
  const { id: node, name, cluster, pool, generation, drain } = view;
  const { cpuMilli, memoryMib, labels, capabilities, address } = view;
  return {
    node,
    name,
    cluster,
    pool,
    generation,
    state: 'ready',
    drain: drain && {
      by: drain.by,
      reason: drain.reason,
      sinceMs: Date.parse(drain.since),
      ...(drain.quarantine ? { quarantine: true } : {}),
    },
    trustMilli: Math.round(view.trust * 1000),
    inventory: {
      cpuMilli,
      memoryMib,
      devices: view.devices.map(({ used: _, ...device }) => device),
      labels,
      capabilities,
      address,
      ports,
    },
  };
}
