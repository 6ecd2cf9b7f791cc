// How to reach an API server: one context of a kubeconfig file, as kubectl reads it. Files that it names are read again for every
// request, and it itself when it has changed, because certificates and tokens are renewed in place; a plugin that it names is asked
// again before what it gave expires (credential-plugin.ts). What this cannot do it refuses by name.
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { CredentialPlugin, type PluginCredential, pluginSchema } from './credential-plugin.ts';

export interface KubeAccess {
  readonly server: URL;
  /** Where a context names one. */
  readonly namespace: string | null;
  /** What a request is made with now. */
  readonly credential: () => Promise<KubeCredential>;
  /** The API server does not know whom this credential names; gives whether there may be another one by now. */
  readonly renew: (refused: KubeCredential) => boolean;
}

export interface KubeCredential {
  readonly tls: KubeTls;
  /** Null where the certificate says who we are. */
  readonly token: string | null;
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
  exec: pluginSchema.optional(),
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

/**
 * The context of that name, or the file's current one. Who we are is as the file says now; but never another API server than at first,
 * because what is not found there would count as over.
 */
export function readKubeconfig(file: string, contextName?: string): KubeAccess {
  const open = (): string | null => writableByOthers(file);
  const read = () => {
    // Before its content: a change in between is then seen the next time.
    const [stamp, text] = there(
      'kubeconfig',
      file,
      () => [stampOf(file), readFileSync(file, 'utf8')] as const,
    );
    return { stamp, access: accessOf(text, dirname(resolve(file)), contextName, open) };
  };
  let last = read();
  const { server, namespace } = last.access;
  function now(): KubeAccess {
    if (last.stamp === stampOf(file)) return last.access;
    const next = read();
    if (next.access.server.href !== server.href)
      throw new KubeconfigError(
        `${file} names another API server now, ${next.access.server.href} instead of ${server.href}; another cluster is added under a name of its own, and where the same one has moved, start the servers of Muster again`,
      );
    last = next;
    return last.access;
  }
  return {
    server,
    namespace,
    credential: async () => now().credential(),
    renew: (refused) => now().renew(refused),
  };
}

/** What the file system says of a file names neither what it is for nor whose machine was asked. */
function there<T>(what: string, file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT'
        ? 'is not there'
        : code === 'EISDIR'
          ? 'is a directory, not a file'
          : code === 'EACCES'
            ? 'may not be read by the user that Muster runs as'
            : `cannot be read (${message})`;
    throw new KubeconfigError(`the ${what} ${file} ${why}, on the machine of the server`, { cause: error });
  }
}

/** Another one for another content. */
function stampOf(file: string): string {
  const { ino, size, mtimeNs } = statSync(file, { bigint: true });
  return [ino, size, mtimeNs].join(' ');
}

/** `dir`: what relative paths in it start from; `open`: why others than its owner decide what it says, where they do. */
export function accessOf(
  text: string,
  dir: string,
  contextName?: string,
  open: () => string | null = () => null,
): KubeAccess {
  const read = kubeconfig.safeParse(yamlOf(text));
  if (!read.success) throw new KubeconfigError(`not a kubeconfig: ${z.prettifyError(read.error)}`);
  const { data } = read;
  const wanted = contextName ?? data['current-context'];
  if (!wanted)
    throw new KubeconfigError(
      'the kubeconfig has no current context: say which of its contexts it is (--context)',
    );
  const chosen = pick(data.contexts, 'context', wanted).context;
  const where = pick(data.clusters, 'cluster', chosen.cluster).cluster;
  const who = pick(data.users ?? [], 'user', chosen.user).user;
  refuseUnsupported(where, who);
  const server = new URL(where.server);
  if (server.protocol !== 'https:')
    throw new KubeconfigError(`the API server must be reached by https, not ${server.protocol}//`);
  const file = (name: string, path: string): Buffer =>
    there(`${name} of the kubeconfig`, resolve(dir, path), () => readFileSync(resolve(dir, path)));
  const of = <T extends object>(from: T, name: keyof T & string): Buffer | undefined => {
    const { [name]: path, [`${name}-data`]: data64 } = from as Readonly<Record<string, string | undefined>>;
    if (data64 !== undefined) return Buffer.from(data64, 'base64');
    return path === undefined ? undefined : file(name, path);
  };
  const tls = (): KubeTls => ({
    ...definite('ca', of(where, 'certificate-authority')),
    ...definite('cert', of(who, 'client-certificate')),
    ...definite('key', of(who, 'client-key')),
    ...definite('servername', where['tls-server-name']),
  });
  const token = (): string | null =>
    who.tokenFile === undefined
      ? (who.token ?? null)
      : file('tokenFile', who.tokenFile).toString('utf8').trim();
  const access = { server, namespace: chosen.namespace ?? null };
  // As for kubectl, what the file itself says goes before what a plugin would.
  if (who.exec === undefined || who.token !== undefined || who.tokenFile !== undefined)
    return { ...access, credential: async () => ({ tls: tls(), token: token() }), renew: () => false };
  const openTo = open();
  if (openTo !== null)
    throw new KubeconfigError(`exec of the kubeconfig names a program to run, and ${openTo}`);
  if (who.exec.interactiveMode === 'Always')
    throw new KubeconfigError('exec of the kubeconfig wants somebody to answer it (interactiveMode: Always)');
  const { ca, servername } = tls();
  const plugin = new CredentialPlugin(who.exec, dir, { server: where.server, ca, servername });
  const givenFor = new WeakMap<KubeCredential, PluginCredential>();
  return {
    ...access,
    async credential() {
      const given = await plugin.credential();
      const { cert, key } = given;
      const made = {
        tls: { ...tls(), ...definite('cert', cert), ...definite('key', key) },
        token: given.token,
      };
      givenFor.set(made, given);
      return made;
    },
    renew(refused) {
      const given = givenFor.get(refused);
      if (given) plugin.renew(given);
      return true;
    },
  };
}

/** The lines that a message of the parser shows may hold a token. */
function yamlOf(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    const [said = ''] = String(error instanceof Error ? error.message : error).split('\n', 1);
    throw new KubeconfigError(`not a kubeconfig: ${said.replace(/:$/, '')}`);
  }
}

function writableByOthers(file: string): string | null {
  const { mode, uid } = statSync(file);
  const own = process.getuid?.() ?? uid;
  if (uid !== own && uid !== 0)
    return `${file} belongs to another user: give it to the one that Muster runs as`;
  if ((mode & 0o022) !== 0) return `others may write to ${file}: chmod go-w it`;
  return null;
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
