// `npm run sim:faults -- --seeds 1000 [--from N] [--postgres]`: runs so many seeds on all cores, shows how far it is, and prints
// of every failure the seed, the commit, the last events and the command that plays it again.
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { readFlags, wholeNumber } from '../flags.ts';
import type { SeedReport } from './run-seed.ts';

const usage = `npm run sim:faults -- [flags]: the control plane in virtual worlds full of faults, one a seed

  --seeds N      so many seeds (100)
  --from N       the first of them (1)
  --postgres     small worlds on a real PostgreSQL instead of the store in memory
  --first        end at the first failure
  --hashes       print the hash of every seed's event log
  --workers N    so many at once (as many as there are cores)`;

const values = readFlags(usage, {
  seeds: { type: 'string', default: '100' },
  from: { type: 'string', default: '1' },
  workers: { type: 'string', default: String(availableParallelism()) },
  postgres: { type: 'boolean', default: false },
  first: { type: 'boolean', default: false },
  hashes: { type: 'boolean', default: false },
});

const from = wholeNumber('--from', values.from, usage);
const count = wholeNumber('--seeds', values.seeds, usage);
const workers = Math.min(count, wholeNumber('--workers', values.workers, usage));
const failures: SeedReport[] = [];
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
  if (values.hashes) console.log(`${seed.seed} ${seed.hash}`);
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
  else if (done % 50 === 0 || done === count) process.stderr.write(`${line}\n`);
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
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

/** One worker takes the next seed as soon as it has told of the last. */
function work(): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: { postgres: values.postgres },
    });
    const give = (): void => {
      if (next >= from + count || (values.first && failures.length > 0)) worker.postMessage(null);
      else worker.postMessage(next++);
    };
    worker.on('message', (message: SeedReport | 'ready') => {
      if (message !== 'ready') report(message);
      give();
    });
    worker.on('error', reject);
    worker.on('exit', () => resolve());
  });
}

await Promise.all(Array.from({ length: workers }, work));
const seconds = (performance.now() - beganMs) / 1000;
const hours = (virtualMs / 3_600_000).toFixed(1);
console.log(
  `${done} seeds from ${from}: ${failures.length} failed; ${events} events, ${hours} virtual hours in ${seconds.toFixed(1)} s on ${workers} workers`,
);
process.exitCode = failures.length > 0 ? 1 : 0;
