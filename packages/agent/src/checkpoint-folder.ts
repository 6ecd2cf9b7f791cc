// The directory of a job below the machine's directory for checkpoints, which all machines of the cluster see: made before a task of
// the job starts, and the task's user's.
import { chown, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkpointFolder, type RunId } from '@muster/model';
import type { TaskUser } from './task-user.ts';

export async function makeCheckpointFolder(root: string, run: RunId, user: TaskUser | null): Promise<string> {
  const folder = join(root, checkpointFolder(run));
  await mkdir(dirname(folder), { recursive: true, mode: 0o711 });
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  // Another cluster may have made it, as another user.
  if (user) await chown(folder, user.uid, user.gid);
  return folder;
}
