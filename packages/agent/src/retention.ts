// Removes what ended tasks left: output and scratch directories older than the age kept, and the oldest output beyond
// the space kept. Removal is done by rm(1), which walks with directory handles: a task's user may change a tree while
// it is being removed, and a walk by names could be led elsewhere.
import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeepOutput } from './options.ts';
import { listPieces } from './supervisor/output-files.ts';
import type { TaskKey } from './supervisor/protocol.ts';

export interface RetentionDirs {
  readonly output: string;
  readonly scratch: string;
}

interface Kept {
  readonly key: TaskKey;
  readonly changedMs: number;
  readonly bytes: number;
}

export async function removeOld(
  dirs: RetentionDirs,
  keep: KeepOutput,
  isLive: (key: TaskKey) => boolean,
  nowMs: number,
): Promise<number> {
  const outputs = (await listKept(dirs.output, true)).filter(({ key }) => !isLive(key));
  const scratches = (await listKept(dirs.scratch, false)).filter(({ key }) => !isLive(key));
  const oldestFirst = outputs.sort((a, b) => a.changedMs - b.changedMs);
  let total = oldestFirst.reduce((sum, { bytes }) => sum + bytes, 0);
  const gone: string[] = [];
  for (const { key, changedMs, bytes } of oldestFirst) {
    if (nowMs - changedMs < keep.ageMs && total <= keep.totalMib * 1024 * 1024) break;
    gone.push(join(dirs.output, key), join(dirs.scratch, key));
    total -= bytes;
  }
  for (const { key, changedMs } of scratches)
    if (nowMs - changedMs >= keep.ageMs) gone.push(join(dirs.scratch, key));
  for (let i = 0; i < gone.length; i += 100) await removeAll(gone.slice(i, i + 100));
  return gone.length;
}

async function listKept(dir: string, measure: boolean): Promise<Kept[]> {
  const keys = await readdir(dir).catch(() => [] as string[]);
  const kept: Kept[] = [];
  for (const key of keys) {
    const path = join(dir, key);
    const madeMs = await stat(path)
      .then((found) => found.mtimeMs)
      .catch(() => null);
    if (madeMs === null) continue;
    const pieces = measure ? await listPieces(path) : [];
    // A directory is as old as its newest name: a task may print into the same file for weeks.
    const changedMs = Math.max(madeMs, ...pieces.map((piece) => piece.changedMs));
    kept.push({ key, changedMs, bytes: pieces.reduce((sum, { bytes }) => sum + bytes, 0) });
  }
  return kept;
}

function removeAll(paths: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    execFile('rm', ['-rf', '--one-file-system', '--', ...paths], () => resolve());
  });
}
