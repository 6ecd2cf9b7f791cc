// The text of a secret: a prefix that scanners can find, 256 random bits, and a checksum so that a mistyped or made-up token
// is refused without asking the database. Only its SHA-256 is ever stored: with 256 random bits no slow hash is needed,
// and looking up the hash compares in constant time.
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export type SecretKind = 'mst' | 'mse';

const secretBytes = 32;
const pattern = /^(mst|mse)_([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})$/;

/** How every secret starts, wherever it stands; in the middle of a cursor or a name it is chance. */
export const secretStart = /(?<![\w-])ms[ter]_/;

/** A text that people wrote, fit to be kept: whatever looks like a secret is cut off after its start. */
export function withoutSecrets(text: string): string {
  return text.replace(/(ms[ter]_)[\w-]+/g, '$1...');
}

/** `mst` is an API token, `mse` an enrolment token. */
export function mintSecret(kind: SecretKind, random: (bytes: number) => Uint8Array): string {
  const secret = Buffer.from(random(secretBytes)).toString('base64url');
  return `${kind}_${secret}${checksum(secret)}`;
}

function checksum(secret: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(secret));
  return bytes.toString('base64url');
}

/** Whether a server may have made this text. */
export function isSecret(kind: SecretKind, text: string): boolean {
  const match = pattern.exec(text);
  return match !== null && match[1] === kind && checksum(match[2] ?? '') === match[3];
}

/** The hash to look up, or null for a text that no server ever made. */
export function secretHash(kind: SecretKind, text: string): string | null {
  return isSecret(kind, text) ? hashOf(text) : null;
}

export function hashOf(text: string): string {
  return hash('sha256', text, 'hex');
}
