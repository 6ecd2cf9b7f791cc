// The admin token of a system on this machine: kept beside its data, readable by its owner only. When it was lost or revoked a
// new one is made: whoever holds the data may.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mintSecret, secretHash } from '@muster/api';
import { createClient, MusterError } from '@muster/client';
import { freshId } from '@muster/model';
import type { Stack } from './stack.ts';

export async function localToken(stack: Stack, dir: string): Promise<string> {
  const file = join(dir, 'admin-token');
  const kept = stack.adminToken ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : null);
  const token = kept !== null && (await works(stack.url, kept)) ? kept : await newToken(stack);
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
  return token;
}

async function works(url: string, token: string): Promise<boolean> {
  try {
    await createClient({ url, token }).whoami();
    return true;
  } catch (error) {
    if (error instanceof MusterError && error.code === 'unauthenticated') return false;
    throw error;
  }
}

async function newToken({ store }: Stack): Promise<string> {
  const random = (bytes: number): Uint8Array => randomBytes(bytes);
  const token = mintSecret('mst', random);
  await store.createToken({
    id: freshId('token', Date.now(), random(9)),
    name: 'local',
    hash: secretHash('mst', token) ?? '',
    role: 'admin',
    project: null,
    by: 'muster up',
    expiresMs: null,
  });
  return token;
}
