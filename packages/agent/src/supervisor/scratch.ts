// A task's own directory, from before its start until what it left there has been kept long enough.
import { chown, mkdir, rmdir, utimes } from 'node:fs/promises';
import type { TaskSpec } from './protocol.ts';

export async function makeScratch({ scratch, user }: Pick<TaskSpec, 'scratch' | 'user'>): Promise<void> {
  await mkdir(scratch, { mode: 0o700 });
  if (user) await chown(scratch, user.uid, user.gid);
}

/** The task is over. Most leave nothing there; what others left is kept for a time that begins now, however old it looks. */
export async function leaveScratch({ scratch }: Pick<TaskSpec, 'scratch'>): Promise<void> {
  const now = new Date();
  await rmdir(scratch)
    .catch(() => utimes(scratch, now, now))
    .catch(() => {});
}
