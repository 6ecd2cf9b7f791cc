// The row of the bad-input matrix about agents: every kind is refused, counted, and a strike against the node, if and only if the
// connection has proven to be the node's.
import { generateKeyPairSync } from 'node:crypto';
import { freshId, maxMessageBytes, type StopCommand } from '@muster/model';
import { describe, expect, it } from 'vitest';
import { agentSocket, connected, hello, node, run, settled, setup } from './testing/played-agent.ts';

const stop: StopCommand = { run, reason: 'test', class: 'cancelled', signal: 'TERM', graceMs: 1000 };
const beat = { type: 'beat', beat: 1, keys: [] } as const;
const countOf = (hub: ReturnType<typeof setup>['hub'], code: string, authenticated: boolean): number =>
  hub.refused().find((one) => one.code === code && one.authenticated === authenticated)?.count ?? 0;

type Agent = Awaited<ReturnType<typeof connected>>['agent'];
const raw = (text: string) => (agent: Agent) => agent.raw(Buffer.from(text));

describe('of a connection that has proven to be a node’s', () => {
  it.each([
    ['text that is not JSON', raw('<html>'), 'bad-message', 'message is not JSON'],
    [
      'bytes that are not text',
      (agent: Agent) => agent.raw(Buffer.from([0xff, 0xfe])),
      'bad-message',
      'not JSON',
    ],
    ['an unknown field', raw('{"type":"beat","n":2,"beat":1,"keys":[],"x":1}'), 'bad-message', '"x"'],
    ['a field of the wrong type', raw('{"type":"bye","n":"2"}'), 'bad-message', 'at n'],
    ['a key that is no run', raw('{"type":"beat","n":2,"beat":1,"keys":["../x"]}'), 'bad-message', 'keys.0'],
    ['a NUL in a reason', raw('{"type":"bye","n":2,"reason":"\\u0000"}'), 'bad-message', 'must be text'],
    ['a replay', raw('{"type":"beat","n":1,"beat":1,"keys":[]}'), 'bad-counter', 'message 1 after 1'],
    [
      'a message of the future',
      raw('{"type":"beat","n":9,"beat":1,"keys":[]}'),
      'bad-counter',
      'message 9 after 1',
    ],
    [
      'a message of 10 MB',
      (agent: Agent) => agent.raw(Buffer.alloc(10_000_000, ' ')),
      'too-large',
      '10000000 bytes',
    ],
    [
      'a message that the socket cut off for its size',
      (agent: Agent) => agent.fail('WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'),
      'too-large',
      `more than ${maxMessageBytes} bytes`,
    ],
    ['a broken frame', (agent: Agent) => agent.fail('WS_ERR_INVALID_OPCODE'), 'bad-message', 'Max payload'],
    [
      'an answer to a command that was not sent',
      (agent: Agent) => agent.say({ type: 'done', outbox: 5, outcome: 'accepted', detail: null }),
      'bad-order',
      'answer to command 5',
    ],
    [
      'output that was not asked for',
      (agent: Agent) =>
        agent.say({ type: 'bytes', read: 1, offset: 0, data: '', end: true, size: 0, error: null }),
      'bad-order',
      'answer to read 1',
    ],
  ])('%s is refused, counted and a strike', async (_what, send, code, detail) => {
    const { agent, hub, strikes } = await connected();
    send(agent);
    await settled();
    expect(agent.last()).toMatchObject({ type: 'refused', code });
    expect(hub.isConnected(node)).toBe(false);
    expect(strikes).toEqual([expect.stringContaining(detail)]);
    expect(strikes[0]).toMatch(new RegExp(`^${node} ${code}: `));
    expect(countOf(hub, code, true)).toBe(1);
    agent.say(beat);
    await settled();
    expect(strikes).toHaveLength(1);
  });

  it('a second hello is one', async () => {
    const { agent, strikes, privateKey } = await connected();
    agent.say(hello(agent, privateKey));
    await settled();
    expect(agent.last()).toMatchObject({ type: 'refused', code: 'bad-order' });
    expect(strikes).toEqual([`${node} bad-order: unexpected hello`]);
  });

  it('a report about a task of another node is one; what it tells of its own is taken and acknowledged', async () => {
    const { agent, sink, strikes, news } = await connected();
    const { observe } = sink;
    Object.assign(sink, {
      observe: async (...args: Parameters<typeof observe>) => {
        await observe(...args);
        return { foreign: { run, rank: 3 } };
      },
    });
    agent.say({ type: 'report', report: 9, items: [{ kind: 'started', run, rank: 0, pid: 12 }] });
    await settled();
    expect(news).toContain('started 0');
    expect(agent.got.slice(-2)).toMatchObject([
      { type: 'reported', report: 9 },
      { type: 'refused', code: 'wrong-node' },
    ]);
    expect(strikes).toEqual([`${node} wrong-node: report about ${run}, rank 3`]);
  });

  it('calling the newest epoch it was shown an old one is one, and the row waits for the next session', async () => {
    const { hub, agent, strikes } = await connected();
    const answer = hub.stop({ outbox: 4, epoch: 7, node }, stop);
    agent.say({ type: 'done', outbox: 4, outcome: 'stale-epoch', detail: 'epoch 99' });
    expect(await answer).toEqual({ outcome: 'unknown' });
    await settled();
    expect(agent.last()).toMatchObject({ type: 'refused', code: 'wrong-epoch' });
    expect(strikes).toEqual([`${node} wrong-epoch: calls epoch 7 old, the newest that it was shown`]);
  });

  it('a hello that has seen an epoch of the future is one, and welcome all the same: its runs go on', async () => {
    const { hub, agent, strikes } = await connected({ epoch: 8 });
    expect(agent.last()).toMatchObject({ type: 'welcome', epoch: 7 });
    expect(hub.isConnected(node)).toBe(true);
    expect(strikes).toEqual([
      expect.stringContaining('wrong-epoch: it has seen epoch 8, and the newest here is 7'),
    ]);
  });
});

describe('what happens to correct agents is no strike', () => {
  it('an old epoch that a newer leader has overtaken', async () => {
    const { hub, agent, strikes } = await connected({ epoch: 7 });
    const old = hub.stop({ outbox: 4, epoch: 7, node }, stop);
    const young = hub.stop({ outbox: 5, epoch: 8, node }, stop);
    agent.say({ type: 'done', outbox: 5, outcome: 'accepted', detail: null });
    agent.say({ type: 'done', outbox: 4, outcome: 'stale-epoch', detail: null });
    expect(await Promise.all([old, young])).toEqual([{ outcome: 'stale-epoch' }, { outcome: 'accepted' }]);
    expect(strikes).toEqual([]);
  });

  it('two answers to a row that was sent twice', async () => {
    const { hub, agent, strikes } = await connected();
    const both = [1, 2].map(() => hub.stop({ outbox: 4, epoch: 7, node }, stop));
    for (let i = 0; i < 2; i++) agent.say({ type: 'done', outbox: 4, outcome: 'accepted', detail: null });
    expect(await Promise.all(both)).toEqual([{ outcome: 'accepted' }, { outcome: 'accepted' }]);
    expect(strikes).toEqual([]);
  });

  it('a session that was replaced, and a network that broke', async () => {
    const { agent, hub, sink, strikes } = await connected();
    Object.assign(sink, { renew: async () => null });
    agent.say(beat);
    await settled();
    expect(countOf(hub, 'stale-session', true)).toBe(1);
    const other = await connected();
    other.agent.fail('ECONNRESET');
    await settled();
    expect([...strikes, ...other.strikes]).toEqual([]);
  });

  it.each(['removed', 'replaced', 'not-found'] as const)('a hello that is %s', async (refused) => {
    const { hub, sink, privateKey, strikes } = setup();
    Object.assign(sink, { hello: async () => ({ refused }) });
    const agent = agentSocket();
    hub.accept(agent.socket, 'x');
    agent.say(hello(agent, privateKey));
    await settled();
    expect(agent.last()).toMatchObject({ type: 'refused', code: refused });
    expect(strikes).toEqual([]);
    expect(countOf(hub, refused, true)).toBe(1);
  });

  it('words of the next release, which are refused all the same', async () => {
    const { agent, strikes } = await connected({ protocol: 2 });
    agent.say({ type: 'dance' } as never);
    await settled();
    expect(agent.last()).toMatchObject({ type: 'refused', code: 'bad-message' });
    expect(strikes).toEqual([]);
  });

  it('leaving at any moment', async () => {
    const { agent, strikes, news } = await connected();
    agent.say({ type: 'bye', reason: 'told to stop' });
    expect(news).toEqual(['ready', 'left']);
    const { hub } = setup();
    const early = agentSocket();
    hub.accept(early.socket, 'x');
    early.say({ type: 'bye', reason: 'told to stop' });
    await settled();
    expect([agent.state.closed, early.state.closed]).toEqual(['bye', 'bye']);
    expect(strikes).toEqual([]);
  });
});

describe('of a connection that has proven nothing', () => {
  const other = generateKeyPairSync('ed25519').privateKey;

  it.each([
    ['not JSON', (agent: Agent) => agent.raw(Buffer.from('x')), 'bad-message'],
    ['10 MB', (agent: Agent) => agent.raw(Buffer.alloc(10_000_000, ' ')), 'too-large'],
    ['10 MB, cut off', (agent: Agent) => agent.fail('WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'), 'too-large'],
    ['a beat before any hello', (agent: Agent) => agent.say(beat), 'bad-order'],
    [
      'a hello in the node’s name with another key',
      (agent: Agent) => agent.say(hello(agent, other)),
      'unauthenticated',
    ],
    [
      'a hello of a node that is not there',
      (agent: Agent) => agent.say(hello(agent, other, freshId('node', 2, new Uint8Array(9)))),
      'unauthenticated',
    ],
    [
      'a protocol of long ago',
      (agent: Agent) => agent.say(hello(agent, other, node, { protocol: 9 })),
      'protocol',
    ],
    [
      'a hello in the node’s name, and nonsense before it is looked at',
      (agent: Agent) => {
        agent.say(hello(agent, other));
        agent.raw(Buffer.from('x'));
      },
      'bad-message',
    ],
  ])('%s is refused and counted, and no strike against anybody', async (_what, send, code) => {
    const { hub, strikes } = setup();
    const agent = agentSocket();
    hub.accept(agent.socket, 'x');
    send(agent);
    await settled();
    expect(agent.last()).toMatchObject({ type: 'refused', code });
    expect(strikes).toEqual([]);
    expect(countOf(hub, code, false)).toBe(1);
    expect(hub.refused().every(({ authenticated, count }) => !authenticated || count === 0)).toBe(true);
  });

  it.each([
    ['an unknown key', `{"type":"beat","n":1,"beat":1,"keys":[],"${'x'.repeat(3_000_000)}":1}`],
    ['an unknown type', `{"type":"${'x'.repeat(3_000_000)}","n":1}`],
  ])('%s of 3 MB is neither logged nor sent back', async (_what, text) => {
    const { hub, logged } = setup();
    const agent = agentSocket();
    hub.accept(agent.socket, 'x');
    agent.raw(Buffer.from(text));
    await settled();
    expect(agent.last()).toMatchObject({ type: 'refused', code: 'bad-message' });
    expect(JSON.stringify(agent.last()).length).toBeLessThan(200);
    expect(logged.join('').length).toBeLessThan(200);
  });

  it('a thousand refusals are counted and make a few lines', async () => {
    const { hub, logged } = setup();
    for (let i = 0; i < 1000; i++) {
      const agent = agentSocket();
      hub.accept(agent.socket, 'x');
      agent.raw(Buffer.from('x'));
    }
    await settled();
    expect(countOf(hub, 'bad-message', false)).toBe(1000);
    expect(logged).toHaveLength(20);
  });
});
