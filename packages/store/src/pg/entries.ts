// The demand of a queue entry is stored once for all its jobs, so that an engine can be rebuilt from a million rows
// without reading a million specs. A process remembers which entries it has stored; retention may remove one behind
// its back, and then the rebuild takes the demand from the job's spec.
import { createHash } from 'node:crypto';
import { entryKey, type JobDemand } from '@muster/model';
import type { Submit } from '../contract.ts';
import type { Tx } from '../database.ts';

/** MD5 because a uuid column holds it; it names rows and guards nothing. */
export function entryHash(entry: string): string {
  const hex = createHash('md5').update(entry).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function entryOf({ spec, demand }: Submit): string {
  return entryHash(entryKey(spec.project, spec.tier, spec.priority, demand));
}

const insert = {
  name: 'insert-entries',
  text: `
INSERT INTO entry (hash, demand, seen_ms)
SELECT hash, demand::jsonb, now_ms() FROM unnest($1::uuid[], $2::text[]) AS e (hash, demand) ORDER BY hash
ON CONFLICT (hash) DO UPDATE SET demand = excluded.demand, seen_ms = excluded.seen_ms WHERE entry.demand IS NULL`,
};

const rememberedMax = 50_000;

export class KnownEntries {
  readonly #known = new Set<string>();

  /** Stores what is new; `remember` what this returns once it is committed. */
  async store(
    tx: Tx,
    items: readonly { readonly hash: string; readonly demand: JobDemand }[],
  ): Promise<string[]> {
    const fresh = new Map<string, JobDemand>();
    for (const { hash, demand } of items) if (!this.#known.has(hash)) fresh.set(hash, demand);
    if (fresh.size === 0) return [];
    const demands = [...fresh.values()].map((demand) => JSON.stringify(demand));
    await tx.query(insert, [[...fresh.keys()], demands]);
    return [...fresh.keys()];
  }

  remember(hashes: readonly string[]): void {
    if (this.#known.size + hashes.length > rememberedMax) this.#known.clear();
    for (const hash of hashes) this.#known.add(hash);
  }
}
