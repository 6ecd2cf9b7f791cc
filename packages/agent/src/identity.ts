// Who this node is: its id and the private key whose public half the server has. Made once by enrolment.
import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { helloText, isId, type NodeId, OperationalError } from '@muster/model';
import { type StateDir, writeDurably } from './state-dir.ts';

export interface Identity {
  readonly node: NodeId;
  readonly name: string;
  /** The server it enrolled with, for a start that names none. */
  readonly server: string;
  readonly privateKey: string;
  /** SHA-256 of the token it enrolled with: a removed node does not come back with the same one. */
  readonly tokenHash?: string;
}

export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export function hasIdentity(dir: StateDir): boolean {
  return existsSync(join(dir.private, 'identity.json'));
}

export function readIdentity(dir: StateDir): Identity {
  const path = join(dir.private, 'identity.json');
  if (!hasIdentity(dir))
    throw new OperationalError(
      'not-found',
      `this node is not enrolled: there is no ${path}; enrol it with a token first`,
    );
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as Identity;
    if (isId('node', found.node) && createPrivateKey(found.privateKey)) return found;
  } catch {
    // Said below in one sentence, whatever is wrong with it.
  }
  throw new OperationalError(
    'unavailable',
    `${path} is damaged: restore it, or remove it and enrol this node again`,
  );
}

export function writeIdentity(dir: StateDir, identity: Identity): void {
  writeDurably(join(dir.private, 'identity.json'), `${JSON.stringify(identity, null, 2)}\n`);
}

export function freshKeys(): { readonly publicKey: string; readonly privateKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

export function signHello(identity: Identity, nonce: string): string {
  const key: KeyObject = createPrivateKey(identity.privateKey);
  return sign(null, Buffer.from(helloText(nonce, identity.node)), key).toString('base64');
}
