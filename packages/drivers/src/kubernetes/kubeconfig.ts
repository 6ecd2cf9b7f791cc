// How to reach an API server: one context of a kubeconfig file, as kubectl reads it. Files that it names are read again for every
// connection or token, because certificates and tokens are renewed in place. What this cannot do it refuses by name.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';

export interface KubeAccess {
  readonly server: URL;
  /** Where a context names one. */
  readonly namespace: string | null;
  /** What a new connection is made with. */
  readonly tls: () => KubeTls;
  /** Sent with every request; null where the certificate says who we are. */
  readonly token: () => string | null;
}

export interface KubeTls {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
}

export class KubeconfigError extends Error {}

const cluster = z.object({
  server: z.string(),
  'certificate-authority': z.string().optional(),
  'certificate-authority-data': z.string().optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': z.string().optional(),
  'proxy-url': z.string().optional(),
});
const user = z.object({
  'client-certificate': z.string().optional(),
  'client-certificate-data': z.string().optional(),
  'client-key': z.string().optional(),
  'client-key-data': z.string().optional(),
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  exec: z.unknown().optional(),
  'auth-provider': z.unknown().optional(),
  username: z.string().optional(),
});
const context = z.object({
  cluster: z.string(),
  user: z.string(),
  namespace: z.string().optional(),
});
const kubeconfig = z.object({
  'current-context': z.string().optional(),
  clusters: z.array(z.object({ name: z.string(), cluster })),
  users: z.array(z.object({ name: z.string(), user })).optional(),
  contexts: z.array(z.object({ name: z.string(), context })),
});

/** The context of that name, or the file's current one. */
export function readKubeconfig(file: string, contextName?: string): KubeAccess {
  return accessOf(readFileSync(file, 'utf8'), dirname(resolve(file)), contextName);
}

/** `dir`: what relative paths in it start from. */
export function accessOf(text: string, dir: string, contextName?: string): KubeAccess {
  const read = kubeconfig.safeParse(parse(text));
  if (!read.success) throw new KubeconfigError(`not a kubeconfig: ${z.prettifyError(read.error)}`);
  const { data } = read;
  const wanted = contextName ?? data['current-context'];
  if (!wanted) throw new KubeconfigError('the kubeconfig has no current context: name one');
  const chosen = pick(data.contexts, 'context', wanted).context;
  const where = pick(data.clusters, 'cluster', chosen.cluster).cluster;
  const who = pick(data.users ?? [], 'user', chosen.user).user;
  refuseUnsupported(where, who);
  const server = new URL(where.server);
  if (server.protocol !== 'https:')
    throw new KubeconfigError(`the API server must be reached by https, not ${server.protocol}//`);
  const file = (path: string): Buffer => readFileSync(resolve(dir, path));
  const of = (data64: string | undefined, path: string | undefined): Buffer | undefined => {
    if (data64 !== undefined) return Buffer.from(data64, 'base64');
    return path === undefined ? undefined : file(path);
  };
  return {
    server,
    namespace: chosen.namespace ?? null,
    tls: () => ({
      ...definite('ca', of(where['certificate-authority-data'], where['certificate-authority'])),
      ...definite('cert', of(who['client-certificate-data'], who['client-certificate'])),
      ...definite('key', of(who['client-key-data'], who['client-key'])),
      ...definite('servername', where['tls-server-name']),
    }),
    token: () => {
      if (who.tokenFile !== undefined) return file(who.tokenFile).toString('utf8').trim();
      return who.token ?? null;
    },
  };
}

function pick<T extends { readonly name: string }>(list: readonly T[], kind: string, name: string): T {
  const found = list.find((one) => one.name === name);
  if (found) return found;
  const names = list.map((one) => one.name).join(', ') || 'none';
  throw new KubeconfigError(`the kubeconfig has no ${kind} ${JSON.stringify(name)}; it has: ${names}`);
}

function refuseUnsupported(where: z.infer<typeof cluster>, who: z.infer<typeof user>): void {
  const refused: readonly (readonly [string, unknown, string])[] = [
    ['insecure-skip-tls-verify', where['insecure-skip-tls-verify'], 'give its certificate authority'],
    ['proxy-url', where['proxy-url'], 'connect without a proxy'],
    ['exec', who.exec, 'use the token of a service account'],
    ['auth-provider', who['auth-provider'], 'use the token of a service account'],
    ['username', who.username, 'use the token of a service account'],
  ];
  for (const [name, value, instead] of refused)
    if (value !== undefined && value !== false)
      throw new KubeconfigError(`${name} of the kubeconfig is not supported: ${instead}`);
}

function definite<K extends string, V>(name: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, V>);
}
