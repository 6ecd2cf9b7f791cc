// A certificate that signs itself, for the names and the times that a test wants: also one that has expired, which no tool of this
// machine makes. Written out as X.509 has it (RFC 5280), with a key on the curve P-256.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const tag = {
  int: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  sequence: 0x30,
  set: 0x31,
  time: 0x18,
};

function der(type: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  // In as few bytes as will do: others are refused.
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([type, ...(length < 0x80 ? [length] : long)]), body]);
}

const oid = (...bytes: number[]): Buffer => der(tag.oid, Buffer.from(bytes));
const commonName = oid(0x55, 0x04, 0x03);
const alternativeNames = oid(0x55, 0x1d, 0x11);
const ecdsaWithSha256 = der(tag.sequence, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

/** As GeneralizedTime: 20260102030405Z. */
function time(at: Date): Buffer {
  return der(tag.time, Buffer.from(`${at.toISOString().replaceAll(/[-:T]|\.\d+Z$/g, '')}Z`));
}

export function certificateFor(
  names: readonly string[],
  address: string,
  validMs: readonly [from: number, to: number],
): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [from, to] = validMs;
  const who = der(
    tag.sequence,
    der(tag.set, der(tag.sequence, commonName, der(tag.utf8, Buffer.from('muster test')))),
  );
  const san = der(
    tag.sequence,
    ...names.map((name) => der(0x82, Buffer.from(name))),
    der(0x87, Buffer.from(address.split('.').map(Number))),
  );
  const body = der(
    tag.sequence,
    der(0xa0, der(tag.int, Buffer.from([2]))),
    // Positive, and another one for another certificate.
    der(tag.int, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    who,
    der(tag.sequence, time(new Date(from)), time(new Date(to))),
    who,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(tag.sequence, der(tag.sequence, alternativeNames, der(tag.octets, san)))),
  );
  const signature = der(tag.bits, Buffer.from([0]), sign('sha256', body, privateKey));
  const whole = der(tag.sequence, body, ecdsaWithSha256, signature).toString('base64');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${whole.match(/.{1,64}/g)?.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
