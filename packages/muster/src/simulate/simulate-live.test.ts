import { type OutStream, runCli } from '@muster/cli';
import { FakeServer } from '@muster/client/testing';
import { defaultPolicy, policyDocument } from '@muster/model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serverCommands } from '../server-commands.ts';

let server: FakeServer;
beforeEach(async () => {
  server = await FakeServer.start();
  server.on('GET /v1/whoami', {
    json: { token: 't', name: 'ada', principal: 'ada', role: 'admin', project: null },
  });
  server.on('GET /v1/policy', { json: { version: 1, policy: policyDocument(defaultPolicy) } });
  server.on('GET /v1/nodes', { json: { items: [node], next: null } });
});
afterEach(() => server.stop());

const drain = { by: 'ada', reason: 'broken', since: '2026-01-01T00:00:00Z' };
const amounts = { cpuMilli: 8000, memoryMib: 8192, devices: [], labels: {}, capabilities: [], address: 'n1' };
const node = {
  ...{ id: 'node_1', name: 'n1', cluster: 'main', pool: 'p', generation: 1, state: 'ready', trust: 1 },
  ...{ drain, ...amounts },
};

async function live(...args: string[]) {
  let told = '';
  const stream: OutStream = {
    isTTY: true,
    write: (data) => {
      told += String(data);
      return true;
    },
  };
  let nowMs = Date.parse('2026-01-02T00:00:00Z');
  const terminal = {
    ...{ stdin: (async function* () {})(), stdout: stream, stderr: stream, cwd: '/' },
    env: { MUSTER_SERVER: server.url, MUSTER_TOKEN: 'secret' },
    nowMs: () => (nowMs += 1000),
    onInterrupt: () => () => {},
  };
  const version = { version: '0', commit: '', schema: null };
  const code = await runCli(['simulate', '--live', ...args], terminal, { version, extra: serverCommands });
  return { code, told };
}

/** A log that is longer each time that its end is looked at. */
function growingLog(first: number, atEachLook: number): void {
  let last = first;
  server.on('GET /v1/events', ({ query }) => {
    const after = query.get('after') ?? '0';
    const from = after.startsWith('-') ? last - 1 : Number(after.split('.').at(-1));
    last += atEachLook;
    const count = Math.min(Number(query.get('limit')), last - from);
    const event = (sequence: number) => ({
      sequence,
      at: '2026-01-01T12:00:00Z',
      kind: 'node.beat',
      body: {},
    });
    const items = Array.from({ length: count }, (_, i) => event(from + i + 1));
    const next = count === Number(query.get('limit')) && from < 20_000 ? `log.${from + count}` : null;
    return { json: { items, next } };
  });
}

test('a log that grows while it is read is read up to where it ended', async () => {
  growingLog(600, 500);
  const { code, told } = await live('--lose-node', 'n1', '-o', 'json');
  expect(code, told).toBe(0);
  // The second look found out where it ended, and the first had made it longer.
  expect(JSON.parse(told.slice(told.indexOf('{'))).events).toBe(1100);
});

test('a token that does not see every project is told that it would be told half of it', async () => {
  server.on('GET /v1/whoami', {
    json: { token: 't', name: 'bo', principal: 'bo', role: 'admin', project: 'a/b' },
  });
  const { code, told } = await live('--lose-node', 'n1');
  expect(told).toContain('this token sees only a/b and what is below it');
  expect(code).toBe(1);
  expect(server.requests.map(({ path }) => path)).toEqual(['/v1/whoami']);
});

test("learned run times are the policy's to use", async () => {
  const { code, told } = await live('--lose-node', 'n1', '--durations', 'learned');
  expect(told).toContain('each policy says itself whether it uses learned run times');
  expect(code).toBe(2);
});
