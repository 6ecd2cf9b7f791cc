// The agent driver against a real agent, its supervisor and real processes; only the database is left out.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { enrolAgent, runAgent } from '@muster/agent';
import { type AgentSink, createAgentHub } from '@muster/drivers/agent';
import { driverConformance, type Subject } from '@muster/drivers/conformance';
import { endProcessesOf } from '@muster/drivers/testing';
import { freshId, type Observation, type RunId } from '@muster/model';
import { WebSocketServer } from 'ws';
import { eventually } from '../harness/processes.ts';

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const timers = {
  after(ms: number, callback: () => void) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

async function agentSubject(): Promise<Subject> {
  const dir = mkdtempSync(join(tmpdir(), 'muster-conformance-'));
  chmodSync(dir, 0o711);
  const node = freshId('node', 1, new Uint8Array(9));
  const observed: Observation[] = [];
  const forbidden = new Set<RunId>();
  let publicKey: string | null = null;
  const sink: AgentSink = {
    nodeKey: async () => (publicKey === null ? null : { key: publicKey, session: null }),
    hello: async () => ({ epoch: 1, beatMs: 200, nodeName: 'n1' }),
    renew: async (_session, keys) => ({
      live: keys.filter((run) => !forbidden.has(run)).map((run) => ({ run, stopAfterMs: 60_000 })),
      beatMs: 200,
    }),
    observe: async (_session, items) => {
      observed.push(...items);
      return { foreign: null };
    },
    strike: () => {},
    ready: () => {},
    gone: () => {},
  };
  const hub = createAgentHub({ server: freshId('server', 1, new Uint8Array(9)), sink, log: quiet, timers });
  const http = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => {
      body += data;
    });
    request.on('end', () => {
      publicKey = JSON.parse(body).publicKey;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ node }));
    });
  });
  const sockets = new WebSocketServer({ noServer: true });
  http.on('upgrade', (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (ws) => hub.accept(ws as never, 'test')),
  );
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const options = { server, dir: join(dir, 'agent'), log: quiet };
  await enrolAgent({ ...options, token: 'any', name: 'n1' });
  const agent = await runAgent(options);
  await eventually('the agent is connected', 10_000, () => hub.isConnected(node));
  return {
    driver: hub,
    node,
    observed: () => observed,
    forbid: (run) => void forbidden.add(run),
    async close() {
      await agent.stop();
      hub.close();
      http.close();
      endProcessesOf(dir);
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

driverConformance('agent', agentSubject);
