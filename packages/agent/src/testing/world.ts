// A server, an enrolled agent and their directory, cleaned up with every process they made.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  supervisor(): SupervisorFile;
  /** Ends everything; afterwards nothing of the tasks may live. */
  clean(): Promise<void>;
}

export async function makeWorld(): Promise<World> {
  const server = new FakeServer();
  await server.listen();
  const dir = mkdtempSync(join(tmpdir(), 'muster-agent-'));
  const { node } = await enrolAgent({ server: server.url, token: server.token, name: 'n1', dir });
  const log: string[] = [];
  const agents: AgentHandle[] = [];
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
    async clean() {
      await Promise.all(agents.map((agent) => agent.stop()));
      await endSupervisor(supervisor);
      await server.close();
      rmSync(dir, { recursive: true, force: true });
      if (server.problems.length > 0) throw new Error(server.problems.join('\n'));
    },
  };
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
