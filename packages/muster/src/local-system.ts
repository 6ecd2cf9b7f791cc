// A whole system on this machine: database, server and agents in one folder. `muster up` and the quickstart start this and differ
// only in what they say about it.
import { join } from 'node:path';
import { defaultMaxBodyBytes } from '@muster/api';
import { createClient, type MusterClient } from '@muster/client';
import type { NodeId, NodeView } from '@muster/model';
import type { Logger } from 'pino';
import { type Database, openDatabase } from './database.ts';
import { type LocalAgentsOptions, startLocalAgents } from './local-agents.ts';
import { localToken } from './local-token.ts';
import { startStack } from './stack.ts';
import { endOnBug } from './stopping.ts';
import { serverVersion } from './version.ts';

export interface LocalSystemOptions {
  readonly dir: string;
  readonly databaseUrl: string | undefined;
  /** 0 picks a free one. */
  readonly port: number;
  readonly agents: Pick<LocalAgentsOptions, 'count' | 'machine' | 'ports' | 'taskUser' | 'name'>;
  readonly log: Logger;
}

export interface LocalSystem {
  readonly url: string;
  readonly token: string;
  /** Not null on the very first start of the database. */
  readonly adminToken: string | null;
  readonly client: MusterClient;
  readonly database: Database;
  readonly nodes: readonly NodeView[];
  /** Running work goes on, except for the database's own. */
  stop(): Promise<void>;
}

export async function startLocalSystem(options: LocalSystemOptions): Promise<LocalSystem> {
  const { dir, log, port } = options;
  const parts: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    // Each is stopped even when the one before it would not.
    for (const part of parts.splice(0))
      await part.stop().catch((error: unknown) => log.error({ err: error }, 'while stopping'));
  };
  try {
    const database = await openDatabase(options.databaseUrl, join(dir, 'db'), (line) => log.info({}, line));
    parts.unshift(database);
    const stack = await startStack({
      databaseUrl: database.url,
      api: { host: '127.0.0.1', port, tls: null, behindTlsProxy: false, maxBodyBytes: defaultMaxBodyBytes },
      version: serverVersion(),
      log,
      onBug: endOnBug(log),
    });
    parts.unshift(stack);
    const { url, adminToken } = stack;
    const token = await localToken(stack, dir);
    const client = createClient({ url, token });
    // Every node is this machine, and only it needs to reach them.
    const isConnected = (node: NodeId): boolean => stack.control.agents.isConnected(node);
    const where = { client, server: url, dir, log, address: '127.0.0.1', isConnected };
    const agents = await startLocalAgents({ ...options.agents, ...where });
    parts.unshift(agents);
    // Before the agents say goodbye: a leader would take so many at once for a partition, and raise the alarm.
    parts.unshift({ stop: () => stack.control.stepDown() });
    return { url, token, adminToken, client, database, nodes: agents.nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
