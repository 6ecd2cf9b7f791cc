import { createPublicKey, type KeyObject, verify } from 'node:crypto';

/** Keys are Ed25519 public keys as PEM or as base64 of their DER form. */
export function signed(publicKey: string, text: string, signature: string): boolean {
  try {
    const key: KeyObject = publicKey.startsWith('-----')
      ? createPublicKey(publicKey)
      : createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return (
      key.asymmetricKeyType === 'ed25519' &&
      verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'))
    );
  } catch {
    return false;
  }
}
