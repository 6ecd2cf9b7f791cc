// `npm run sim:bugs`: applies each deliberate bug to a copy of the tree and runs the fault simulation there until it is caught.
// Prints by which seed and rule, and fails when one is not caught within 200 seeds.
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

async function simulate(tree: string, { postgres }: Bug): Promise<Caught | null> {
  const flags = [
    '--seeds',
    values.seeds,
    '--first',
    '--workers',
    values.workers,
    ...(postgres ? ['--postgres'] : []),
  ];
  const child = spawn(process.execPath, [join(tree, 'packages/sim/src/faults/main.ts'), ...flags], {
    cwd: tree,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (data: Buffer) => {
    text += String(data);
  });
  child.stderr.on('data', (data: Buffer) => {
    text += String(data);
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const failed = /seed (\d+) failed at commit \S+: (.*)/.exec(text);
  if (failed) return { seed: Number(failed[1]), message: failed[2] ?? '' };
  if (code !== 0) throw new Error(`the simulation broke:\n${text.slice(-3000)}`);
  return null;
}

const tree = copyTree(root);
let missed = 0;
try {
  for (const bug of chosen) {
    const undo = applyBug(tree.root, bug);
    const beganMs = performance.now();
    const caught = await simulate(tree.root, bug);
    const seconds = ((performance.now() - beganMs) / 1000).toFixed(0);
    const where = bug.postgres ? ', on PostgreSQL' : '';
    if (caught)
      console.log(
        `caught by seed ${caught.seed} in ${seconds} s${where}: ${bug.name}\n    ${caught.message.slice(0, 160)}`,
      );
    else console.log(`NOT CAUGHT in ${values.seeds} seeds, ${seconds} s${where}: ${bug.name}`);
    if (!caught) missed++;
    undo();
  }
} finally {
  tree.remove();
}
process.exitCode = missed > 0 ? 1 : 0;
