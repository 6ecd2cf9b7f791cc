// The demand of a queue entry is stored once for all its jobs, so that an engine can be rebuilt from a million rows
// without reading a million specs. A process remembers which entries it has stored; retention may remove one behind
// its back, and then the rebuild takes the demand from the job's spec.
import { createHash } from 'node:crypto';
import { entryFacts, entryHead, entryKey } from '@muster/model';
import type { Submit } from '../contract.ts';
import type { Call } from '../database.ts';

/** MD5 because a uuid column holds it; it names rows and guards nothing. */
export function entryHash(entry: string): string {
  const hex = createHash('md5').update(entry).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export const insertEntries = {
  name: 'insert-entries',
  text: `
INSERT INTO entry (hash, demand, seen_ms)
SELECT DISTINCT ON (hash) hash, demand::jsonb, now_ms() FROM unnest($1::uuid[], $2::text[]) AS e (hash, demand) ORDER BY hash
ON CONFLICT (hash) DO UPDATE SET demand = excluded.demand, verdict = NULL, seen_ms = excluded.seen_ms WHERE entry.demand IS NULL`,
};

const rememberedMax = 20_000;

export class KnownEntries {
  readonly #stored = new Set<string>();
  /** Canonical text and hash of a demand cost more than its insert; most jobs of a batch ask for the same. */
  readonly #hashes = new Map<string, string>();

  hash({ spec, principal, demand, estimate }: Submit, demandText: string): string {
    const facts = entryFacts(spec, principal, estimate);
    const text = `${entryHead(facts)}|${demandText}`;
    const found = this.#hashes.get(text);
    if (found) return found;
    const hash = entryHash(entryKey(facts, demand));
    if (this.#hashes.size >= rememberedMax) this.#hashes.clear();
    this.#hashes.set(text, hash);
    return hash;
  }

  /** Those that are not known to be stored, and the call that stores them; `remember` them once it is committed. */
  unknown(hashes: readonly string[], demands: readonly string[]) {
    const fresh = new Map<string, string>();
    hashes.forEach((hash, i) => {
      if (!this.#stored.has(hash)) fresh.set(hash, demands[i] as string);
    });
    const values = [[...fresh.keys()], [...fresh.values()]];
    const calls: readonly Call[] = fresh.size > 0 ? [{ statement: insertEntries, values }] : [];
    return { hashes: [...fresh.keys()], calls };
  }

  remember(hashes: readonly string[]): void {
    if (this.#stored.size + hashes.length > rememberedMax) this.#stored.clear();
    for (const hash of hashes) this.#stored.add(hash);
  }
}
