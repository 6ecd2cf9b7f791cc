// Whether and how the server may open its door. Tokens travel with every request, so beyond loopback there is TLS, ours or that
// of a proxy the operator vouches for, or no server at all.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { BlockList, isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { OperationalError } from '@muster/model';
import type { FastifyInstance } from 'fastify';
import type { ApiConfig } from './deps.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && loopback.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

export function checkBind({
  host,
  tls,
  behindTlsProxy,
}: Pick<ApiConfig, 'host' | 'tls' | 'behindTlsProxy'>): void {
  if (tls || behindTlsProxy || isLoopback(host)) return;
  throw new OperationalError(
    'bad-request',
    `refusing to listen on ${host} without TLS: tokens would travel in the clear. ` +
      'Give --tls-cert and --tls-key, say --behind-tls-proxy when a proxy in front ends TLS, or listen on 127.0.0.1',
  );
}

export async function readTls(tls: ApiConfig['tls']): Promise<{ cert: Buffer; key: Buffer } | null> {
  if (!tls) return null;
  const cert = await readTlsCert(tls.cert);
  const key = await readTlsKey(tls.key);
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    throw new OperationalError(
      'bad-request',
      `refusing to start: the TLS key ${tls.key} is not the key of the certificate ${tls.cert}`,
      { cause },
    );
  }
  return { cert, key };
}

export async function readTlsCert(path: string): Promise<Buffer> {
  const cert = await readable(path, (file) => readFile(file));
  if (isPem(() => new X509Certificate(cert))) return cert;
  throw new OperationalError('bad-request', `the TLS file ${path} is not a certificate in PEM form`);
}

export async function readTlsKey(path: string): Promise<Buffer> {
  const { mode } = await readable(path, (file) => stat(file));
  if ((mode & 0o007) !== 0)
    throw new OperationalError(
      'bad-request',
      `refusing to start: the TLS key ${path} can be read by everybody; run: chmod o-rwx ${path}`,
    );
  const key = await readable(path, (file) => readFile(file));
  if (isPem(() => createPrivateKey(key))) return key;
  throw new OperationalError(
    'bad-request',
    `the TLS file ${path} is not a key in PEM form, or it is locked with a passphrase`,
  );
}

function isPem(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

async function readable<T>(path: string, read: (path: string) => Promise<T>): Promise<T> {
  try {
    return await read(path);
  } catch (cause) {
    throw new OperationalError('bad-request', `the TLS file ${path} cannot be read`, { cause });
  }
}

export async function listen(app: FastifyInstance, { host, port, publicUrl }: ApiConfig): Promise<string> {
  try {
    const url = await app.listen({ host, port });
    return publicUrl ?? url;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'EADDRINUSE')
      throw new OperationalError(
        'unavailable',
        `port ${port} on ${host} is in use; choose another port or stop what has it`,
        { cause },
      );
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new OperationalError('bad-request', `${host} is not an address of this machine`, { cause });
    if (code === 'EACCES')
      throw new OperationalError(
        'bad-request',
        `port ${port} needs rights this process does not have; choose one above 1023`,
        { cause },
      );
    throw cause;
  }
}
