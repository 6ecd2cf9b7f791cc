import { generateKeyPairSync } from 'node:crypto';
import { freshId, maxMessageBytes, type StopCommand } from '@muster/model';
import { describe, expect, it } from 'vitest';
import type { AgentSink } from './hub.ts';
import { agentSocket, connected, hello, node, run, settled, setup } from './testing/played-agent.ts';

const stop: StopCommand = { run, reason: 'test', class: 'cancelled', signal: 'TERM', graceMs: 1000 };

describe('the agent hub', () => {
  it('welcomes a node that signs the challenge with the key it enrolled', async () => {
    const { hub, agent, news } = await connected();
    expect(agent.last()).toMatchObject({ type: 'welcome', epoch: 7, nodeName: 'n1', n: 2 });
    expect(hub.isConnected(node)).toBe(true);
    expect(news).toEqual(['ready']);
  });

  it('refuses another key, an unknown node and a replayed signature', async () => {
    const { hub, privateKey } = setup();
    const other = generateKeyPairSync('ed25519').privateKey;
    const first = agentSocket();
    hub.accept(first.socket, 'x');
    const good = hello(first, privateKey);
    const wrongKey = agentSocket();
    hub.accept(wrongKey.socket, 'x');
    wrongKey.say(hello(wrongKey, other));
    const unknown = agentSocket();
    hub.accept(unknown.socket, 'x');
    unknown.say(hello(unknown, privateKey, freshId('node', 2, new Uint8Array(9))));
    const replayed = agentSocket();
    hub.accept(replayed.socket, 'x');
    replayed.say(good);
    await settled();
    for (const agent of [wrongKey, unknown, replayed]) {
      expect(agent.last()).toMatchObject({ type: 'refused', code: 'unauthenticated' });
      expect(agent.state.closed).toBe('unauthenticated');
    }
    expect(hub.connected).toBe(0);
  });

  it('turns away who has been silent longest when too many are, so that agents still come in', async () => {
    const { hub, privateKey } = setup();
    const silent = Array.from({ length: 4097 }, () => agentSocket());
    for (const { socket } of silent) hub.accept(socket, 'x');
    expect(silent.filter(({ state }) => state.closed !== null)).toEqual([silent[0]]);
    expect(silent[0]?.last()).toMatchObject({ type: 'refused', code: 'crowded' });
    const agent = agentSocket();
    hub.accept(agent.socket, 'x');
    agent.say(hello(agent, privateKey));
    await settled();
    expect(agent.last()).toMatchObject({ type: 'welcome' });
    // Who has spoken is no longer among them.
    for (let i = 0; i < 4096; i++) hub.accept(agentSocket().socket, 'x');
    expect(hub.isConnected(node)).toBe(true);
    expect(agent.state.closed).toBeNull();
  });

  it('answers beats and reports after they are committed', async () => {
    const { agent, news } = await connected();
    agent.say({ type: 'beat', beat: 4, keys: [run] });
    agent.say({ type: 'report', report: 9, items: [{ kind: 'started', run, rank: 0, pid: 12 }] });
    await settled();
    expect(agent.got).toContainEqual({
      type: 'renewed',
      n: 3,
      beat: 4,
      live: [{ run, stopAfterMs: 25_000 }],
      beatMs: 5000,
    });
    expect(agent.got).toContainEqual(expect.objectContaining({ type: 'reported', report: 9 }));
    expect(news).toContain('started 0');
  });

  it('a command is accepted on the agent’s word, and unknown when the connection drops first', async () => {
    const { hub, agent } = await connected();
    const target = { outbox: 5, epoch: 7, node };
    const first = hub.stop(target, stop);
    agent.say({ type: 'done', outbox: 5, outcome: 'accepted', detail: null });
    expect(await first).toEqual({ outcome: 'accepted' });
    const second = hub.stop({ ...target, outbox: 6 }, stop);
    agent.drop();
    expect(await second).toEqual({ outcome: 'unknown' });
    expect(await hub.stop({ ...target, outbox: 7 }, stop)).toEqual({ outcome: 'unknown' });
  });

  it('a command that no agent would take is refused, and the connection stays', async () => {
    const { hub, agent } = await connected();
    const sent = agent.got.length;
    const answer = await hub.stop(
      { outbox: 5, epoch: 7, node },
      { ...stop, reason: 'x'.repeat(maxMessageBytes) },
    );
    expect(answer).toMatchObject({ outcome: 'refused', detail: expect.stringContaining('4.0 MiB') });
    expect(agent.got).toHaveLength(sent);
    expect(hub.isConnected(node)).toBe(true);
  });

  it('a hello of a connection that is gone by then is not told', async () => {
    const { hub, privateKey, news, sink } = setup();
    const told: string[] = [];
    const { hello: welcome } = sink;
    Object.assign(sink, {
      hello: (...args: Parameters<AgentSink['hello']>) => {
        told.push(args[0].session);
        return welcome(...args);
      },
    });
    const agent = agentSocket();
    hub.accept(agent.socket, 'x');
    agent.say(hello(agent, privateKey));
    agent.drop();
    await settled();
    expect(told).toEqual([]);
    expect(news).toEqual([]);
  });

  it('a newer connection of a node replaces the older one, whose end does not make the node go', async () => {
    const { hub, agent, privateKey } = await connected();
    const newer = agentSocket();
    hub.accept(newer.socket, 'x');
    newer.say(hello(newer, privateKey));
    await settled();
    expect(agent.state.closed).toBe('replaced');
    expect(hub.isConnected(node)).toBe(true);
    expect(hub.sessions()).toHaveLength(1);
  });

  it('a session that the store has replaced is closed', async () => {
    const { agent, sink } = await connected();
    Object.assign(sink, { renew: async () => null });
    agent.say({ type: 'beat', beat: 1, keys: [] });
    await settled();
    expect(agent.last()).toMatchObject({ type: 'refused', code: 'stale-session' });
  });

  it('reads output, and says when the node cannot be reached', async () => {
    const { hub, agent } = await connected();
    const request = { node, run, rank: 0, offset: 0, maxBytes: 100, waitMs: 0 };
    const piece = hub.output(request);
    const data = Buffer.from('hi').toString('base64');
    agent.say({ type: 'bytes', read: 1, offset: 0, data, end: true, size: 2, error: null });
    expect(Buffer.from((await piece).data).toString()).toBe('hi');
    const cut = hub.output(request);
    agent.drop();
    await expect(cut).rejects.toMatchObject({ code: 'node-unreachable' });
    await expect(hub.output(request)).rejects.toMatchObject({ code: 'node-unreachable' });
  });
});
