// A server, an enrolled agent and their directory, cleaned up with every process they made.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AgentHandle, runAgent } from '../agent.ts';
import { enrolAgent } from '../enrol.ts';
import type { AgentOptions, Logger } from '../options.ts';
import { isAlive, pidsByKey, signalPid } from '../supervisor/processes.ts';
import type { SupervisorFile } from '../supervisor/protocol.ts';
import { FakeServer } from './fake-server.ts';
import { until } from './until.ts';

export interface World {
  readonly server: FakeServer;
  readonly dir: string;
  readonly log: string[];
  readonly node: string;
  agent(options?: Partial<AgentOptions>): Promise<AgentHandle>;
  /** The same in a process of its own; welcomed when this resolves. */
  process(options?: Partial<AgentOptions>, uid?: number, env?: NodeJS.ProcessEnv): Promise<ChildProcess>;
  supervisor(): SupervisorFile;
  /** Ends everything; afterwards nothing of the tasks may live. */
  clean(): Promise<void>;
}

const mainPath = fileURLToPath(new URL('./agent-main.ts', import.meta.url));

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly caFile: string;
}

export async function makeWorld(tls?: TlsFiles): Promise<World> {
  const server = new FakeServer();
  await server.listen(0, tls);
  const dir = mkdtempSync(join(tmpdir(), 'muster-agent-'));
  const { url, token } = server;
  const { node } = await enrolAgent({ server: url, token, name: 'n1', dir, caFile: tls?.caFile });
  const log: string[] = [];
  const agents: AgentHandle[] = [];
  const processes: ChildProcess[] = [];
  const supervisor = (): SupervisorFile =>
    JSON.parse(readFileSync(join(dir, 'agent', 'supervisor.json'), 'utf8')) as SupervisorFile;
  return {
    server,
    dir,
    log,
    node,
    supervisor,
    async agent(options = {}) {
      const handle = await runAgent({
        server: server.url,
        dir,
        log: recorder(log),
        cgroups: false,
        ...options,
      });
      agents.push(handle);
      return handle;
    },
    async process(options = {}, uid, env = {}) {
      if (uid !== undefined) execFileSync('chown', ['-R', String(uid), dir]);
      const before = server.connections;
      const all = { server: server.url, dir, cgroups: false, ...options };
      const child = spawn(process.execPath, [mainPath, JSON.stringify(all)], {
        stdio: ['ignore', 'pipe', 2],
        env: { ...process.env, ...env },
        ...(uid === undefined ? {} : { uid, gid: uid }),
      });
      child.stdout?.on('data', (chunk) => log.push(String(chunk)));
      processes.push(child);
      await server.welcomed(before + 1);
      return child;
    },
    async clean() {
      for (const child of processes) await endProcess(child);
      await Promise.all(agents.map((agent) => agent.stop()));
      await endSupervisor(supervisor);
      await server.close();
      rmSync(dir, { recursive: true, force: true });
      if (server.problems.length > 0) throw new Error(server.problems.join('\n'));
    },
  };
}

async function endProcess(child: ChildProcess): Promise<void> {
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  await until('the agent process ended', () => child.exitCode !== null || child.signalCode !== null);
}

/** It goes by itself when no task lives; a failed test may have left some. */
async function endSupervisor(read: () => SupervisorFile): Promise<void> {
  let file: SupervisorFile;
  try {
    file = read();
  } catch {
    return;
  }
  const gone = (): boolean => !isAlive(file.pid, file.startTicks);
  await until('the supervisor left', gone, 1000).catch(() => signalPid(file.pid, 'SIGKILL'));
  await until('the supervisor died', gone);
}

/** Pids of the processes that carry a task's key. */
export async function pidsOf(key: string): Promise<number[]> {
  return (await pidsByKey(new Set([key]))).get(key) ?? [];
}

function recorder(lines: string[]): Logger {
  const add = (level: string) => (detail: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(detail)}`);
  return { debug: () => {}, info: add('info'), warn: add('warn'), error: add('error') };
}
