// A program that a kubeconfig names (`exec`) and that prints who we are: how clouds hand out tokens that live for minutes. It is run
// as kubectl runs it (client.authentication.k8s.io, v1 and v1beta1), with nobody to ask, once for all requests, and again shortly
// before what it gave expires or when the API server no longer takes it.
import { resolve } from 'node:path';
import * as z from 'zod';
import { runProgram } from '../programs/programs.ts';

const apiVersion = z.enum(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'], {
  error: 'must be client.authentication.k8s.io/v1 or v1beta1',
});

/** `exec` of a kubeconfig's user. */
export const pluginSchema = z.object({
  apiVersion,
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  installHint: z.string().optional(),
  provideClusterInfo: z.boolean().optional(),
  interactiveMode: z.enum(['Never', 'IfAvailable', 'Always']).optional(),
});

type PluginSettings = z.infer<typeof pluginSchema>;

export interface PluginCluster {
  readonly server: string;
  readonly ca?: string | Buffer | undefined;
  readonly servername?: string | undefined;
}

/** A token, or the certificate and key of a client, or both. */
export interface PluginCredential {
  readonly token: string | null;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export class PluginError extends Error {}

const answer = z.object({
  kind: z.literal('ExecCredential'),
  apiVersion,
  status: z.object({
    token: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
  }),
});

const timeoutMs = 30_000;
const maxOutputBytes = 1024 * 1024;
/** So that a request does not leave with a token that expires under way. */
const aheadMs = 60_000;
const saidMaxChars = 500;

interface Given {
  readonly credential: PluginCredential;
  /** Null where it says nothing: until the API server refuses it. */
  readonly untilMs: number | null;
}

export class CredentialPlugin {
  readonly #settings: PluginSettings;
  readonly #program: string;
  readonly #cluster: PluginCluster;
  readonly #nowMs: () => number;
  #given: Given | null = null;
  #asking: Promise<Given> | null = null;

  /** `dir`: where the kubeconfig is; a command with a slash in it starts from there, others are looked for in PATH. */
  constructor(settings: PluginSettings, dir: string, cluster: PluginCluster, nowMs: () => number = Date.now) {
    this.#settings = settings;
    this.#program = settings.command.includes('/') ? resolve(dir, settings.command) : settings.command;
    this.#cluster = cluster;
    this.#nowMs = nowMs;
  }

  /** Rejects with a message for an operator when the plugin gives none. */
  async credential(): Promise<PluginCredential> {
    if (this.#given && (this.#given.untilMs === null || this.#nowMs() < this.#given.untilMs))
      return this.#given.credential;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    this.#given = await this.#asking;
    return this.#given.credential;
  }

  /** The API server refused this one: the next is asked for, unless that was done already. */
  renew(refused: PluginCredential): void {
    if (this.#given?.credential === refused) this.#given = null;
  }

  async #ask(): Promise<Given> {
    const { command, args, installHint } = this.#settings;
    const askedMs = this.#nowMs();
    const { end, printed, said } = await runProgram({
      program: this.#program,
      args: args ?? [],
      env: this.#env(),
      input: '',
      timeoutMs,
      maxOutputBytes,
    });
    if (end.kind === 'exited' && end.code === 0) return this.#read(printed, askedMs);
    const why = end.kind === 'exited' ? `it ended with code ${end.code}` : end.message;
    const words = said.trim().slice(0, saidMaxChars);
    const hint = installHint ? `; ${installHint.trim().slice(0, saidMaxChars)}` : '';
    throw new PluginError(
      `the credential plugin ${command} of the kubeconfig failed: ${why}${words ? `: ${words}` : ''}${hint}`,
    );
  }

  /** What it prints is a secret: no error tells any of it. */
  #read(printed: string, askedMs: number): Given {
    const { command } = this.#settings;
    const read = answer.safeParse(jsonOf(printed));
    if (!read.success)
      throw new PluginError(
        `the credential plugin ${command} of the kubeconfig did not print an ExecCredential: ${z.prettifyError(read.error)}`,
      );
    if (read.data.apiVersion !== this.#settings.apiVersion)
      throw new PluginError(
        `the credential plugin ${command} of the kubeconfig answered in ${read.data.apiVersion}, and ${this.#settings.apiVersion} was asked for`,
      );
    const { token, expirationTimestamp, clientCertificateData: cert, clientKeyData: key } = read.data.status;
    if (token === undefined && (cert === undefined || key === undefined))
      throw new PluginError(
        `the credential plugin ${command} of the kubeconfig printed neither a token nor a certificate with its key`,
      );
    const credential = { token: token ?? null, cert, key };
    if (expirationTimestamp === undefined) return { credential, untilMs: null };
    const endMs = Date.parse(expirationTimestamp);
    // One that lives for less than twice that is used for half its life.
    return { credential, untilMs: Math.max(endMs - aheadMs, askedMs + (endMs - askedMs) / 2) };
  }

  #env(): Record<string, string> {
    const { env, provideClusterInfo } = this.#settings;
    const { server, ca, servername } = this.#cluster;
    const cluster = {
      server,
      ...(servername === undefined ? {} : { 'tls-server-name': servername }),
      ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    };
    const info = {
      kind: 'ExecCredential',
      apiVersion: this.#settings.apiVersion,
      spec: { interactive: false, ...(provideClusterInfo ? { cluster } : {}) },
    };
    return {
      ...ofOthers(process.env),
      ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    };
  }
}

/** It finds its cloud's settings where they are for everybody; ours are not for it. */
function ofOthers(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !/^(MUSTER|PG)/.test(entry[0]),
    ),
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
