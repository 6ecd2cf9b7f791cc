// `npm run sim:faults -- --seeds 1000 [--from N] [--postgres]`: runs so many seeds on all cores, shows how far it is, and prints
// of every failure the seed, the commit, the last events and the command that plays it again.
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { readFlags, wholeNumber } from '../flags.ts';
import type { SeedReport } from './run-seed.ts';
import { runPool } from './seed-pool.ts';

const usage = `npm run sim:faults -- [flags]: the control plane in virtual worlds full of faults, one a seed

  --seeds N      so many seeds (100)
  --from N       the first of them (1)
  --postgres     small worlds on a real PostgreSQL instead of the store in memory
  --first        end at the first failure
  --hashes       print the hash of every seed's event log, in the order of the seeds
  --limit S      a seed that takes longer than so many seconds has failed (60, with --postgres 300)
  --workers N    so many at once (as many as there are cores)`;

const values = readFlags(usage, {
  seeds: { type: 'string', default: '100' },
  from: { type: 'string', default: '1' },
  workers: { type: 'string', default: String(availableParallelism()) },
  limit: { type: 'string', default: '' },
  postgres: { type: 'boolean', default: false },
  first: { type: 'boolean', default: false },
  hashes: { type: 'boolean', default: false },
});

const from = wholeNumber('--from', values.from, usage);
const count = wholeNumber('--seeds', values.seeds, usage);
const workers = Math.min(count, wholeNumber('--workers', values.workers, usage));
const limit = values.limit || (values.postgres ? '300' : '60');
const seedLimitMs = 1000 * wholeNumber('--limit', limit, usage);
const failures: SeedReport[] = [];
const hashes = new Map<number, string>();
const isTerminal = process.stderr.isTTY === true;
const beganMs = performance.now();
let next = from;
let done = 0;
let events = 0;
let virtualMs = 0;

function report(seed: SeedReport): void {
  done++;
  events += seed.events;
  virtualMs += seed.virtualMs;
  hashes.set(seed.seed, seed.hash);
  if (seed.failure) {
    failures.push(seed);
    tell(seed);
  }
  progress();
}

function progress(): void {
  const seconds = (performance.now() - beganMs) / 1000;
  const line = `${done} of ${count} seeds, ${failures.length} failed, ${seconds.toFixed(0)} s`;
  if (isTerminal) process.stderr.write(`\r${line}   `);
  else if (done % 25 === 0 || done === count) process.stderr.write(`${line}\n`);
}

function tell({ seed, failure, faults, tail }: SeedReport): void {
  const again = `npm run sim:faults -- --seeds 1 --from ${seed}${values.postgres ? ' --postgres' : ''}`;
  console.log(`\nseed ${seed} failed at commit ${commit()}: ${failure?.message}`);
  console.log(`  faults: ${faults.join(', ')}`);
  for (const line of tail) console.log(`  ${line}`);
  console.log(`  again: ${again}\n`);
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}

// Only then: what starts servers comes with the tests of the store, and with their tools.
const server = values.postgres ? await (await import('./postgres.ts')).startPostgres() : null;
try {
  await runPool({
    workers,
    seedLimitMs,
    template: server?.template ?? null,
    next: () => (next >= from + count || (values.first && failures.length > 0) ? null : next++),
    report,
  });
} finally {
  await server?.stop();
}
if (values.hashes)
  for (const [seed, hash] of [...hashes].sort(([a], [b]) => a - b)) console.log(`${seed} ${hash}`);
const seconds = (performance.now() - beganMs) / 1000;
const hours = (virtualMs / 3_600_000).toFixed(1);
console.log(
  `${done} seeds from ${from}: ${failures.length} failed; ${events} events, ${hours} virtual hours in ${seconds.toFixed(1)} s on ${workers} workers`,
);
process.exitCode = failures.length > 0 ? 1 : 0;
