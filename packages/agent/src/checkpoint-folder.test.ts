import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunId } from '@muster/model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeCheckpointFolder } from './checkpoint-folder.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-checkpoints-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('every attempt of a job has the same directory, and a member of an array one below its array', async () => {
  const first = await makeCheckpointFolder(root, 'run_000000000000000001_1' as RunId, null);
  expect(first).toBe(join(root, 'job_000000000000000001'));
  expect(statSync(first).mode & 0o777).toBe(0o700);
  expect(await makeCheckpointFolder(root, 'run_000000000000000001_2' as RunId, null)).toBe(first);
  const member = await makeCheckpointFolder(root, 'run_000000000000000002_17-1' as RunId, null);
  expect(member).toBe(join(root, 'job_000000000000000002', '17'));
});

test('a place that is not there cannot be used, and says so', async () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  await expect(makeCheckpointFolder(file, 'run_000000000000000001_1' as RunId, null)).rejects.toThrow(
    /EEXIST/,
  );
});
