// The row of the bad-input matrix about agents, on a real server and a real socket: what a correct agent never sends is
// refused and counted; three times, and the node is quarantined while what runs there goes on.
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobId, NodeView, RunId, TaskReport } from '@muster/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playAgent } from '../harness/played-agent.ts';
import { eventually, type MusterProcess } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';
import { expectAttemptsOnce, provenJob } from './proof.ts';

let system: TestSystem;
let port: number;
let first: MusterProcess;

beforeAll(async () => {
  port = await freePort();
  system = await startSystem([{ name: 'server', port }]);
  first = await system.startAgent({ name: 'n1' });
  await system.startAgent({ name: 'n2' });
});

afterAll(() => system.close());

const on = (name: string) => ({ constraints: [{ label: 'node', in: [name] }] });

/** A job that runs until the test lets it go. */
async function running(name: string): Promise<{ job: JobId; run: RunId }> {
  const wait = `while [ ! -e ${system.dir}/side/go ]; do sleep 0.1; done`;
  const job = await system.submit(provenJob(system, wait, on(name)));
  const { runs } = await system.inState(job, 'running', 20_000);
  return { job, run: runs[0]?.id as RunId };
}

function keyOf(name: string): KeyObject {
  const file = join(system.dir, `agent-${name}`, 'agent', 'identity.json');
  return createPrivateKey((JSON.parse(readFileSync(file, 'utf8')) as { privateKey: string }).privateKey);
}

/** Speaks as the node once, and waits until the server has closed. */
async function speak(
  node: NodeView,
  key: KeyObject,
  tasks: readonly TaskReport[],
  message: string | Buffer,
): Promise<void> {
  const agent = await playAgent(port);
  const inventory = (await system.store.node(node.id))?.inventory;
  if (!inventory) throw new Error('no inventory');
  await agent.hello({ node: node.id, key, inventory, tasks });
  agent.send(message);
  await agent.closed;
}

const strikesOf = (name: string, count: number) =>
  eventually(`${name} has ${count} strikes`, 10_000, async () => {
    const node = await system.client.nodes.get(name);
    return node.strikes?.count === count ? node : null;
  });

async function metric(line: RegExp): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  return Number(line.exec(await answer.text())?.[1] ?? 0);
}

describe('an agent that sends what no correct agent sends', () => {
  it('is refused and counted; the third time its node is quarantined, and its runs go on', {
    timeout: 120_000,
  }, async () => {
    const [mine, other] = [await running('n1'), await running('n2')];
    const n1 = await system.client.nodes.get('n1');
    // Its supervisor keeps the task; from here on the test speaks for the node.
    await first.end('SIGKILL');
    const key = keyOf('n1');
    const held: TaskReport[] = [{ run: mine.run, rank: 0, state: 'running', exit: null }];

    // Somebody who only knows the node's name cannot harm it.
    const stranger = generateKeyPairSync('ed25519').privateKey;
    for (let i = 0; i < 4; i++) await speak(n1, stranger, [], 'nonsense');
    expect((await system.client.nodes.get('n1')).strikes).toBeNull();
    expect(
      await metric(
        /^muster_agent_messages_refused_total\{code="unauthenticated",authenticated="false"\} (\d+)/m,
      ),
    ).toBe(4);

    await speak(n1, key, held, '{"type":"beat","n":1,"beat":1,"keys":[]}');
    expect(await strikesOf('n1', 1)).toMatchObject({
      drain: null,
      strikes: { code: 'bad-counter', detail: 'message 1 after 1', spared: false },
    });
    await speak(n1, key, held, Buffer.alloc(10_000_000, ' '));
    expect(await strikesOf('n1', 2)).toMatchObject({ drain: null, strikes: { code: 'too-large' } });
    const lie = { kind: 'ended', run: other.run, rank: 0, exit: { ok: true } };
    await speak(n1, key, held, JSON.stringify({ type: 'report', n: 2, report: 1, items: [lie] }));
    const quarantined = await strikesOf('n1', 3);
    expect(quarantined).toMatchObject({
      strikes: { code: 'wrong-node' },
      drain: { by: 'muster', quarantine: true },
    });
    expect(quarantined.drain?.reason).toContain(`report about ${other.run}, rank 0`);
    expect((await system.client.jobs.get(other.job)).state).toBe('running');

    expect(await metric(/^muster_nodes_quarantined (\d+)/m)).toBe(1);
    for (const code of ['bad-counter', 'too-large', 'wrong-node']) {
      const line = `^muster_agent_messages_refused_total\\{code="${code}",authenticated="true"\\} (\\d+)`;
      expect(await metric(new RegExp(line, 'm')), code).toBe(1);
    }
    const told = (await system.store.eventsSince(0, 5000)).map(({ body }) => body);
    expect(told.filter(({ kind }) => kind === 'node.struck')).toMatchObject([
      { strikes: 1, outcome: 'counted' },
      { strikes: 2, outcome: 'counted' },
      { strikes: 3, outcome: 'quarantined' },
    ]);
    const waiting = await system.submit({ command: ['true'], ...on('n1') });
    const why = await eventually('the engine has looked at it', 10_000, async () => {
      const { text } = await system.client.jobs.why(waiting);
      return text.includes('quarantined') ? text : null;
    });
    expect(why).toContain('1 is quarantined');

    first = await system.startAgent({ name: 'n1' });
    writeFileSync(join(system.dir, 'side', 'go'), '');
    for (const { job } of [mine, other]) {
      const ended = await system.ended(job, 30_000);
      expect(ended.result).toEqual({ outcome: 'succeeded' });
      expect(ended.runs).toHaveLength(1);
    }
    expectAttemptsOnce(system);
    expect((await system.client.jobs.get(waiting)).state).toBe('queued');
    expect(await system.client.nodes.undrain('n1')).toMatchObject({ drain: null, strikes: null });
    expect((await system.ended(waiting, 20_000)).result).toEqual({ outcome: 'succeeded' });
  });
});
