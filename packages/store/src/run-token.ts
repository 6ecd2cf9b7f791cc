// The token a run's tasks speak to the API with. It names its run, so that one row tells whether it is right, and lives as
// long as the run does. Only its hash is stored; each start command carries one of its own.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isRunId, type RunId } from '@muster/model';

const pattern = /^msr_(run_[0-9a-z]+_[0-9-]+)_[A-Za-z0-9_-]{43}$/;

export function mintRunToken(run: RunId): string {
  return `msr_${run}_${randomBytes(32).toString('base64url')}`;
}

export function hashRunToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** The run a token claims to be of; null when it is none. */
export function runOfToken(token: string): RunId | null {
  const run = pattern.exec(token)?.[1];
  return run !== undefined && isRunId(run) ? (run as RunId) : null;
}

export function isOneOf(token: string, hashes: readonly string[]): boolean {
  const mine = Buffer.from(hashRunToken(token));
  let found = false;
  for (const hash of hashes) {
    const other = Buffer.from(hash);
    if (other.length === mine.length && timingSafeEqual(mine, other)) found = true;
  }
  return found;
}
