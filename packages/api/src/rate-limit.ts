// Token buckets: one for each API token, and one for each address that fails to authenticate or enrols. A bucket that is
// full again says nothing its absence would not, so full ones are swept away and memory follows the active callers.
import type { RateLimit } from './deps.ts';
import { refuse } from './problem.ts';

interface Bucket {
  left: number;
  atMs: number;
}

export interface Buckets {
  /** Takes one from the caller's bucket; throws `too-many` with Retry-After when it is empty. */
  take(key: string, limit: RateLimit): void;
  /** Puts back what was taken for something that turned out not to count. */
  giveBack(key: string, limit: RateLimit): void;
}

const sweepAt = 10_000;

export function createBuckets(clock: { nowMs(): number }): Buckets {
  const buckets = new Map<string, Bucket>();
  return {
    take(key, limit) {
      const nowMs = clock.nowMs();
      let bucket = buckets.get(key);
      if (!bucket) {
        if (buckets.size >= sweepAt) sweep(buckets, nowMs, limit);
        bucket = { left: limit.burst, atMs: nowMs };
        buckets.set(key, bucket);
      }
      // A clock that steps back refills nothing rather than taking away.
      const passedMs = Math.max(0, nowMs - bucket.atMs);
      bucket.left = Math.min(limit.burst, bucket.left + (passedMs * limit.perSecond) / 1000);
      bucket.atMs = nowMs;
      if (bucket.left < 1) {
        const seconds = Math.max(1, Math.ceil((1 - bucket.left) / limit.perSecond));
        throw refuse(
          'too-many',
          `more than ${limit.perSecond} requests a second; try again in ${seconds} s`,
          {
            headers: { 'retry-after': String(seconds) },
          },
        );
      }
      bucket.left -= 1;
    },
    giveBack(key, limit) {
      const bucket = buckets.get(key);
      if (bucket) bucket.left = Math.min(limit.burst, bucket.left + 1);
    },
  };
}

function sweep(buckets: Map<string, Bucket>, nowMs: number, limit: RateLimit): void {
  const refillMs = (limit.burst / limit.perSecond) * 1000;
  for (const [key, bucket] of buckets) if (nowMs - bucket.atMs > refillMs) buckets.delete(key);
  // An attacker with a million addresses must not take our memory: forgetting everybody is the lesser evil.
  if (buckets.size >= sweepAt) buckets.clear();
}
