// What runs take from nodes and give back, as differences: the row's CHECKs see the sum, so that no device, core or
// MiB is sold twice (S1) even if the code that planned it were wrong.
import type { NodeId } from '@muster/model';
import type { Tx } from '../database.ts';
import type { Delta } from '../rules/capacity-rules.ts';

const lock = {
  name: 'lock-capacity',
  text: 'SELECT FROM node WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
};

// A release also pulls the limits of a node that shrank back down to what it has.
const change = {
  name: 'change-capacity',
  text: `
UPDATE node SET
  cpu_milli_used = cpu_milli_used + d.cpu,
  cpu_milli_limit = greatest(cpu_milli, least(cpu_milli_limit, cpu_milli_used + d.cpu)),
  memory_mib_used = memory_mib_used + d.memory,
  memory_mib_limit = greatest(memory_mib, least(memory_mib_limit, memory_mib_used + d.memory)),
  devices_used = CASE WHEN d.devices = '{}' THEN devices_used ELSE ARRAY(
    SELECT coalesce(used, 0) + coalesce(more, 0)
    FROM unnest(devices_used, d.devices::int[]) WITH ORDINALITY AS u (used, more, i) ORDER BY i) END,
  ports_used = CASE WHEN d.taken = '{}' AND d.freed = '{}' THEN ports_used
    ELSE ARRAY(SELECT unnest(ports_used) EXCEPT SELECT unnest(d.freed::int[])) || d.taken::int[] END,
  runs = node.runs + d.runs,
  exclusive_run = coalesce(d.exclusive, CASE WHEN d.freed_exclusive THEN NULL ELSE exclusive_run END)
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::int[],
  $8::text[], $9::boolean[])
  AS d (id, cpu, memory, devices, taken, freed, runs, exclusive, freed_exclusive)
WHERE node.id = d.id`,
};

export async function changeCapacity(tx: Tx, deltas: ReadonlyMap<NodeId, Delta>): Promise<void> {
  const rows = [...deltas];
  const ids = rows.map(([node]) => node);
  const locked = tx.query(lock, [ids]);
  const changed = tx.query(change, [
    ids,
    rows.map(([, delta]) => delta.cpuMilli),
    rows.map(([, delta]) => delta.memoryMib),
    rows.map(([, delta]) => arrayText(delta.devices)),
    rows.map(([, delta]) => arrayText(delta.portsTaken)),
    rows.map(([, delta]) => arrayText(delta.portsFreed)),
    rows.map(([, delta]) => delta.runs),
    rows.map(([, delta]) => delta.exclusiveTaken),
    rows.map(([, delta]) => delta.exclusiveFreed),
  ]);
  await Promise.all([locked, changed]);
}

export function arrayText(values: readonly number[]): string {
  return `{${Array.from(values, (value) => value ?? 0).join(',')}}`;
}
