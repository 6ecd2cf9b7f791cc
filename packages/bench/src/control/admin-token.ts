// The operator's token, made before the server starts: what `muster server` would print on its very first start.
import { randomBytes } from 'node:crypto';
import { ensureAdminToken } from '@muster/api';
import { openStore } from '@muster/store';

export async function firstAdminToken(databaseUrl: string): Promise<string> {
  const store = await openStore({ url: databaseUrl });
  try {
    const minting = { clock: { nowMs: Date.now }, random: (bytes: number) => randomBytes(bytes) };
    const token = await ensureAdminToken(store, minting);
    if (token === null) throw new Error('the database is not new');
    return token;
  } finally {
    await store.close();
  }
}
