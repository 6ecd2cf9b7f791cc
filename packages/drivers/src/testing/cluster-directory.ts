// The directory of a test's cluster. It is held while its process lives, so that whoever starts the next cluster can tell what a
// killed run left, say so, and take it away: processes, mounts, control groups and the directory itself.
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { cleanUp, type Leftovers, leftoversOf } from './container-leftovers.ts';
import { hold } from './held-names.ts';

export interface ClusterDirectory {
  readonly dir: string;
  /** Everything in it was stopped. */
  remove(): void;
}

const prefix = 'muster-cluster-';
/** Written once it is held: what has no such file is another's, or was not held yet. */
const mark = '.held';

export async function clusterDirectory(kind: 'slurm' | 'kubernetes' | 'ssh'): Promise<ClusterDirectory> {
  for (const line of await clearKilledRuns(tmpdir())) console.warn(line);
  const dir = mkdtempSync(join(tmpdir(), `${prefix}${kind}-`));
  chmodSync(dir, 0o711);
  const letGo = await hold(dir);
  writeFileSync(join(dir, mark), '');
  return {
    dir,
    remove() {
      // Kept for a look; the next run is to leave it alone.
      if (process.env.MUSTER_KEEP) rmSync(join(dir, mark), { force: true });
      else rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
      letGo?.();
    },
  };
}

/** A line for each directory in this one that something was left of. */
export async function clearKilledRuns(parent: string): Promise<string[]> {
  const dirs = readdirSync(parent)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(parent, name));
  const told: string[] = [];
  for (const dir of dirs) {
    const letGo = existsSync(join(dir, mark)) ? await hold(dir) : null;
    if (!letGo) continue;
    // Another may have cleared it up between the two.
    if (existsSync(join(dir, mark))) told.push(clear(dir));
    letGo();
  }
  return told;
}

function clear(dir: string): string {
  const before = leftoversOf(dir);
  cleanUp(dir);
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  return `cleared up what a killed test run left in ${basename(dir)}: ${textOf(before)}`;
}

function textOf({ processes, mounts, cgroups }: Leftovers): string {
  return `${processes.length} processes, ${mounts.length} mounts, ${cgroups.length} control groups`;
}
