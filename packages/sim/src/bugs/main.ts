// `npm run sim:bugs`: applies each deliberate bug to a copy of the tree and runs the fault simulation there until it is caught.
// Prints as it goes by which seed and rule, at the end a table, and fails when one is not caught within 200 seeds.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { readFlags, wholeNumber } from '../flags.ts';
import { type Bug, bugs } from './bugs.ts';
import { applyBug, copyTree } from './copied-tree.ts';

const usage = `npm run sim:bugs -- [flags]: each deliberate bug, applied to a copy of the tree, must be caught by the fault simulation

  --only TEXT    only bugs whose name holds this
  --seeds N      within so many seeds (200)
  --workers N    so many at once (as many as there are cores)`;

const values = readFlags(usage, {
  seeds: { type: 'string', default: '200' },
  only: { type: 'string', default: '' },
  workers: { type: 'string', default: String(availableParallelism()) },
});
wholeNumber('--seeds', values.seeds, usage);
wholeNumber('--workers', values.workers, usage);
const chosen = bugs.filter(({ name }) => name.includes(values.only));
if (chosen.length === 0) {
  console.error(
    `no bug has "${values.only}" in its name; there are:\n  ${bugs.map(({ name }) => name).join('\n  ')}`,
  );
  process.exit(2);
}

const root = join(import.meta.dirname, '../../../..');

interface Caught {
  readonly seed: number;
  readonly message: string;
}

interface Tried {
  readonly bug: Bug;
  readonly caught: Caught | null;
  readonly seconds: number;
}

async function simulate(tree: string, { postgres }: Bug, onProgress: (line: string) => void) {
  const program = join(tree, 'packages/sim/src/faults/main.ts');
  const flags = ['--seeds', values.seeds, '--first', '--workers', values.workers];
  const child = spawn(process.execPath, [program, ...flags, ...(postgres ? ['--postgres'] : [])], {
    cwd: tree,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (data: Buffer) => {
    text += String(data);
  });
  child.stderr.on('data', (data: Buffer) => {
    text += String(data);
    onProgress(String(data).trim());
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const failed = /seed (\d+) failed at commit \S+: (.*)/.exec(text);
  if (failed) return { seed: Number(failed[1]), message: failed[2] ?? '' };
  if (code !== 0) throw new Error(`the simulation broke:\n${text.slice(-3000)}`);
  return null;
}

async function tryBug(tree: string, bug: Bug): Promise<Tried> {
  const undo = applyBug(tree, bug);
  const beganMs = performance.now();
  try {
    const caught = await simulate(tree, bug, (line) => console.error(`    ${line}`));
    return { bug, caught, seconds: (performance.now() - beganMs) / 1000 };
  } finally {
    undo();
  }
}

function row({ bug, caught, seconds }: Tried): string {
  const where = bug.postgres ? 'PostgreSQL' : 'memory';
  const seed = caught ? String(caught.seed) : 'NOT CAUGHT';
  const rule = caught ? (caught.message.split(':')[0] ?? '') : '';
  return line(seed, rule, where, seconds.toFixed(0), bug.name);
}

function line(seed: string, rule: string, where: string, seconds: string, name: string): string {
  return `${seed.padStart(10)}  ${rule.padEnd(8)}  ${where.padEnd(10)}  ${seconds.padStart(5)}  ${name}`;
}

const beganMs = performance.now();
const tree = copyTree(root);
const tried: Tried[] = [];
try {
  for (const [i, bug] of chosen.entries()) {
    console.error(`bug ${i + 1} of ${chosen.length}: ${bug.name}${bug.postgres ? ' (on PostgreSQL)' : ''}`);
    const one = await tryBug(tree.root, bug);
    tried.push(one);
    const outcome = one.caught
      ? `caught by seed ${one.caught.seed}: ${one.caught.message.slice(0, 140)}`
      : `NOT CAUGHT in ${values.seeds} seeds`;
    console.error(`    ${outcome}`);
  }
} finally {
  tree.remove();
}
console.log(line('seed', 'rule', 'store', 's', 'bug'));
for (const one of tried) console.log(row(one));
const missed = tried.filter(({ caught }) => caught === null).length;
const minutes = ((performance.now() - beganMs) / 60_000).toFixed(1);
console.log(
  `${tried.length - missed} of ${tried.length} caught in ${minutes} min on ${values.workers} workers`,
);
process.exitCode = missed > 0 ? 1 : 0;
