// A whole system of real processes on loopback: one PostgreSQL, any number of servers and agents, each its own process that a
// test may kill, pause and start again. Jobs prove what they did by appending to a side file.

import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureAdminToken } from '@muster/api';
import { createClient, type MusterClient } from '@muster/client';
import { endProcessesOf } from '@muster/drivers/testing';
import type { JobDetail, JobId, JobSpecInput } from '@muster/model';
import { openStore, type Store, startEmbedded } from '@muster/store';
import { eventually, type MusterProcess, startMuster } from './processes.ts';

export interface AgentOptions {
  readonly name: string;
  readonly cluster?: string;
  readonly devices?: string;
  readonly cpus?: number;
  readonly memory?: string;
  readonly checkpoints?: string;
  /** Ports of other servers it may go to. */
  readonly otherPorts?: readonly number[];
}

export interface TestSystem {
  readonly dir: string;
  readonly databaseUrl: string;
  readonly adminToken: string;
  /** Talks to the first server. */
  readonly client: MusterClient;
  /** A second pair of eyes on the database, for the checkers. */
  readonly store: Store;
  readonly postgres: { readonly pid: number; kill(): Promise<void>; start(): Promise<void> };
  startServer(name: string, port: number): Promise<MusterProcess>;
  /** The latest process started under this name. */
  server(name: string): MusterProcess;
  clientOf(port: number): MusterClient;
  /** With a token file also where the folder is enrolled already. */
  startAgent(options: AgentOptions, serverPort?: number, tokenFile?: string): Promise<MusterProcess>;
  /** A file jobs append to; lines as they were written. */
  readonly sideFile: string;
  sideLines(): string[];
  submit(spec: JobSpecInput): Promise<JobId>;
  ended(job: JobId, withinMs: number): Promise<JobDetail>;
  inState(job: JobId, state: string, withinMs: number): Promise<JobDetail>;
  close(): Promise<void>;
}

export { freePort } from '@muster/drivers/testing';

const minting = { clock: { nowMs: () => Date.now() }, random: (bytes: number) => randomBytes(bytes) };
let nextPortRange = 20_000;

export async function startSystem(
  servers: readonly { readonly name: string; readonly port: number }[],
): Promise<TestSystem> {
  const dir = mkdtempSync(join(tmpdir(), 'muster-test-'));
  // Tasks may run as another user: they must reach the side file, and nothing else here.
  chmodSync(dir, 0o711);
  mkdirSync(join(dir, 'side'));
  chmodSync(join(dir, 'side'), 0o777);
  const sideFile = join(dir, 'side', 'proof');
  writeFileSync(sideFile, '');
  chmodSync(sideFile, 0o666);
  const processes: MusterProcess[] = [];
  let embedded = await startEmbedded({ dir: join(dir, 'db') });
  const databaseUrl = embedded.url;
  const store = await openStore({ url: databaseUrl });
  const adminToken = (await ensureAdminToken(store, minting)) ?? '';
  const port = servers[0]?.port ?? 0;
  const url = `http://127.0.0.1:${port}`;
  const client = createClient({ url, token: adminToken });

  async function startServer(name: string, serverPort: number): Promise<MusterProcess> {
    const args = ['server', '--port', String(serverPort), '--dir', join(dir, name)];
    const server = startMuster({ name, args, env: { DATABASE_URL: databaseUrl }, logDir: dir });
    processes.push(server);
    await eventually(`server ${name} answers (see ${dir}/${name}.log)`, 20_000, async () => {
      if (!server.isRunning()) throw new Error(`server ended: ${server.output()}`);
      return (await fetch(`http://127.0.0.1:${serverPort}/healthz`)).ok;
    });
    return server;
  }

  async function startAgent(
    options: AgentOptions,
    serverPort = port,
    newToken?: string,
  ): Promise<MusterProcess> {
    const agentDir = join(dir, `agent-${options.name}`);
    const first = !existsSync(agentDir);
    const args = [
      'agent',
      '--server',
      `http://127.0.0.1:${serverPort}`,
      '--name',
      options.name,
      '--dir',
      agentDir,
    ];
    args.push('--cpus', String(options.cpus ?? 64), '--memory', options.memory ?? '64GiB');
    if (options.checkpoints) args.push('--checkpoints', options.checkpoints);
    if (options.devices) args.push('--devices', options.devices);
    for (const other of options.otherPorts ?? []) args.push('--server', `http://127.0.0.1:${other}`);
    const portsFile = join(dir, `ports-${options.name}`);
    if (first) {
      const enrolment = await client.nodes.createEnrolment({ cluster: options.cluster });
      const tokenFile = join(dir, `token-${options.name}`);
      writeFileSync(tokenFile, enrolment.token, { mode: 0o600 });
      args.push('--token-file', tokenFile);
      writeFileSync(portsFile, String(nextPortRange));
      nextPortRange += 500;
    } else if (newToken) args.push('--token-file', newToken);
    const firstPort = Number(readFileSync(portsFile, 'utf8'));
    args.push('--ports', `${firstPort}-${firstPort + 499}`);
    const agent = startMuster({ name: `agent-${options.name}`, args, logDir: dir });
    processes.push(agent);
    await eventually(`agent ${options.name} is ready`, 20_000, async () => {
      if (!agent.isRunning()) throw new Error(`agent ended: ${agent.output()}`);
      return (await store.node(options.name))?.state.state === 'ready';
    });
    return agent;
  }

  async function look(
    job: JobId,
    what: string,
    withinMs: number,
    holds: (detail: JobDetail) => boolean,
  ): Promise<JobDetail> {
    return eventually(`${job} ${what} (logs in ${dir})`, withinMs, async () => {
      const detail = await client.jobs.get(job);
      return holds(detail) ? detail : null;
    });
  }

  for (const server of servers) await startServer(server.name, server.port);
  return {
    dir,
    databaseUrl,
    adminToken,
    client,
    store,
    postgres: {
      get pid() {
        return embedded.pid;
      },
      async kill() {
        const { pid } = embedded;
        process.kill(pid, 'SIGKILL');
        await eventually('PostgreSQL is gone', 10_000, () => !existsSync(`/proc/${pid}`));
      },
      async start() {
        await embedded.release();
        embedded = await startEmbedded({ dir: join(dir, 'db') });
      },
    },
    startServer,
    server(name) {
      const found = processes.findLast((child) => child.name === name);
      if (!found) throw new Error(`no server ${name} was started`);
      return found;
    },
    clientOf: (serverPort) => createClient({ url: `http://127.0.0.1:${serverPort}`, token: adminToken }),
    startAgent,
    sideFile,
    sideLines: () =>
      readFileSync(sideFile, 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
    async submit(spec) {
      return (await client.jobs.submit(spec)).id;
    },
    ended: (job, withinMs) => look(job, 'has ended', withinMs, (detail) => detail.state === 'ended'),
    inState: (job, state, withinMs) => look(job, `is ${state}`, withinMs, (detail) => detail.state === state),
    async close() {
      for (const child of processes) if (child.isRunning()) await child.end('SIGKILL');
      await store.close();
      await embedded.stop();
      endProcessesOf(dir);
      if (!process.env.MUSTER_KEEP) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
