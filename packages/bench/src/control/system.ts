// The control plane under test: the real executable in its own process, on a real PostgreSQL that the benchmark starts in a
// temporary directory. Each part of the benchmark has a database of its own.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, type MusterClient } from '@muster/client';
import { endProcessesOf, eventually, freePort } from '@muster/drivers/testing';
import { startEmbedded } from '@muster/store';
import type { Lifetime } from '../lifetime.ts';
import type { HttpTarget } from '../load/http-connection.ts';
import { firstAdminToken } from './admin-token.ts';
import { type Child, repository, startChild } from './child.ts';
import { withClient } from './pg-client.ts';

export interface Bed {
  readonly dir: string;
  readonly lifetime: Lifetime;
  /** The server of all its databases. */
  readonly postgresPid: number;
  createDatabase(name: string): Promise<string>;
}

const launcher = join(repository, 'packages/muster/bin/muster.js');

export async function makeBed(lifetime: Lifetime): Promise<Bed> {
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-'));
  // PostgreSQL and tasks may run as other users, who must be able to pass through.
  chmodSync(dir, 0o711);
  lifetime.add(() => {
    endProcessesOf(dir);
    if (!process.env.MUSTER_KEEP) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  const embedded = await startEmbedded({ dir: join(dir, 'db') });
  lifetime.addProcess(embedded.pid);
  lifetime.add(async () => {
    await embedded.stop();
    lifetime.removeProcess(embedded.pid);
  });
  return {
    dir,
    lifetime,
    postgresPid: embedded.pid,
    async createDatabase(name) {
      await withClient(embedded.url, (client) => client.query(`CREATE DATABASE ${name}`));
      return embedded.url.replace('/muster?', `/${name}?`);
    },
  };
}

export interface ControlPlane {
  readonly child: Child;
  readonly url: string;
  readonly target: HttpTarget;
  readonly databaseUrl: string;
  readonly token: string;
  readonly client: MusterClient;
}

const startWithinMs = 30_000;

export interface StartOptions {
  /** On the database of one that was there before. */
  readonly again?: ControlPlane;
}

export async function startControlPlane(
  bed: Bed,
  name: string,
  { again }: StartOptions = {},
): Promise<ControlPlane> {
  const databaseUrl = again?.databaseUrl ?? (await bed.createDatabase(name));
  const token = again?.token ?? (await firstAdminToken(databaseUrl));
  const port = await freePort();
  const child = startChild(bed.lifetime, {
    file: launcher,
    args: ['server', '--port', String(port), '--dir', join(bed.dir, name)],
    env: { DATABASE_URL: databaseUrl },
    // For looking at a bottleneck: MUSTER_BENCH_EXEC_ARGV="--cpu-prof --cpu-prof-dir=/tmp/prof".
    execArgv: (process.env.MUSTER_BENCH_EXEC_ARGV ?? '').split(' ').filter((arg) => arg !== ''),
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(`the server answers (${child.output()})`, startWithinMs, async () => {
    if (child.process.exitCode !== null) throw new Error(`muster server ended: ${child.output()}`);
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    return answer?.ok === true;
  });
  const target = { host: '127.0.0.1', port };
  return { child, url, target, databaseUrl, token, client: createClient({ url, token }) };
}

export interface AgentOptions {
  readonly name: string;
  readonly cpus: number;
}

export async function startAgent(
  bed: Bed,
  server: ControlPlane,
  { name, cpus }: AgentOptions,
): Promise<Child> {
  const { token } = await server.client.nodes.createEnrolment({});
  const tokenFile = join(bed.dir, `token-${name}`);
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const dir = join(bed.dir, `agent-${name}`);
  const args = ['agent', '--server', server.url, '--name', name, '--dir', dir, '--token-file', tokenFile];
  args.push('--cpus', String(cpus), '--memory', '64GiB');
  const child = startChild(bed.lifetime, { file: launcher, args });
  await eventually(`agent ${name} is ready (${child.output()})`, startWithinMs, async () => {
    if (child.process.exitCode !== null) throw new Error(`muster agent ended: ${child.output()}`);
    return (await server.client.nodes.list()).items.some(
      (node) => node.name === name && node.state === 'ready',
    );
  });
  return child;
}

/** Tokens of their own for concurrent clients: the rate limit is a token's, and each stands for one user. */
export async function clientTokens(server: ControlPlane, count: number): Promise<string[]> {
  const make = (i: number) => server.client.tokens.create({ name: `client-${i}`, role: 'member' });
  return (await Promise.all(Array.from({ length: count }, (_, i) => make(i)))).map(({ token }) => token);
}
