// A store on a PostgreSQL of its own, in a directory that goes away with it. Making a new database cluster takes seconds, so one
// is made once for this machine and copied, which takes a moment.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, type PgStore, startEmbedded } from '@muster/store';

export interface TestStore {
  readonly store: PgStore;
  readonly url: string;
  close(): Promise<void>;
}

export async function openTestStore(): Promise<TestStore> {
  const dir = mkdtempSync(join(tmpdir(), 'muster-api-'));
  // Owners and modes matter to PostgreSQL; only cp keeps them.
  execFileSync('cp', ['-a', `${await template()}/.`, dir]);
  const embedded = await startEmbedded({ dir });
  const store = await openStore({ url: embedded.url });
  return {
    store,
    url: embedded.url,
    async close() {
      await store.close();
      await embedded.stop();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function template(): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const path = join(tmpdir(), `muster-api-template-${uid}`);
  if (existsSync(path) && statSync(path).uid === uid) return path;
  const draft = mkdtempSync(`${path}-`);
  await (await startEmbedded({ dir: draft })).stop();
  try {
    renameSync(draft, path);
  } catch {
    // Another test file was first; its copy is as good.
    rmSync(draft, { recursive: true, force: true });
  }
  return path;
}
