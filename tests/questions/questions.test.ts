// What-if, score and replay on a real system: the commands of the guide work as they are written, the answer to a what-if is what
// then happens, and the decisions of a real server come out alike when they are made again, and otherwise under another policy.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GuidedSystem, guide, startGuided } from '../harness/guide.ts';
import { eventually } from '../harness/processes.ts';

const questionsGuide = guide('what-if.md');
let system: GuidedSystem;

beforeAll(async () => {
  const agents = ['n1', 'n2'].map((name) => ({ name, devices: 'gpu=2:H100' }));
  system = await startGuided(questionsGuide, agents);
});

afterAll(() => system.close());

const sleeper = { command: ['sleep', '300'], resources: { accelerators: { model: 'H100', count: 2 } } };

describe('score', () => {
  it('says where a job is put, and a node that is trusted less is the runner-up', {
    timeout: 60_000,
  }, async () => {
    expect((await system.muster('nodes', 'trust', 'n1', '0.8')).code).toBe(0);
    const asked = { name: 'scored', ...sleeper, timeLimit: '1h' };
    const { rows } = await system.client.score({ spec: asked });
    expect(rows).toMatchObject([
      { trustMilli: 1000, how: 'now', price: 2, trust: 0, total: 2, chosen: 1 },
      { trustMilli: 800, how: 'now', price: 2, trust: 0.4, total: 2.4, chosen: 0 },
    ]);
    const job = await system.submit(asked);
    const ran = await system.inState(job, 'running', 30_000);
    expect(ran.runs[0]?.tasks[0]?.nodeName).toBe('n2');
    await system.client.jobs.cancel(job);
    await system.ended(job, 30_000);
    expect((await system.muster('nodes', 'trust', 'n1', '1')).code).toBe(0);
  });
});

describe('what if', () => {
  it('says what then happens', { timeout: 90_000 }, async () => {
    const asked = await system.client.whatIf({ submit: { name: 'one', ...sleeper } });
    expect(asked.starts).toMatchObject({ count: 1, items: [{ name: 'one', hourMicro: 2_000_000 }] });
    const one = await system.submit({ name: 'one', ...sleeper });
    const ran = await system.inState(one, 'running', 30_000);
    expect(ran.runs[0]?.tasks.map((task) => task.nodeName)).toEqual(asked.starts.items[0]?.nodes);

    const gang = { name: 'gang', tasks: 2, ...sleeper };
    const { verdicts } = await system.client.whatIf({ submit: gang });
    const waits = await system.submit(gang);
    await eventually('the gang is told why it waits', 20_000, async () => {
      const { text } = await system.client.jobs.why(waits);
      return text === verdicts.items[0]?.afterText;
    });

    const [busy] = asked.starts.items[0]?.nodes ?? [];
    const lost = await system.client.whatIf({ lose: [busy!] });
    expect(lost.stops.items).toMatchObject([{ job: one, requeued: true }]);
    expect(lost.starts.items).toMatchObject([{ job: one }]);
    expect(lost.cost).toMatchObject({ lostMicro: lost.stops.items[0]?.lostMicro, hourMicro: 0 });
    const freed = await system.client.whatIf({ addNodes: { like: 'n1', count: 1 } });
    expect(freed.starts.items).toMatchObject([{ job: waits, name: 'gang' }]);
    expect(freed.cost).toEqual({ lostMicro: 0, sparedMicro: 0, hourMicro: 4_000_000 });
  });
});

describe('replay', () => {
  async function replayed() {
    return eventually('decisions since the snapshot', 30_000, async () => {
      const found = await system.client.replay({ from: 0 }).catch(() => null);
      return found && found.decisions > 0 ? found : null;
    });
  }

  it('reproduces what the server decided since its first snapshot, also after it is killed', {
    timeout: 120_000,
  }, async () => {
    await eventually('there is a snapshot', 60_000, async () => (await system.store.snapshots()).length > 0);
    // A gang may wait for both nodes whole: what ends before its planned start may use them now.
    const early = await system.submit({ name: 'early', command: ['true'], timeLimit: '1m' });
    await system.ended(early, 40_000);
    const before = await replayed();
    expect(before).toMatchObject({ divergence: null, cut: false });
    await system.server('server').end('SIGKILL');
    await system.startServer('server', system.port);
    const job = await system.submit({ name: 'late', command: ['true'], timeLimit: '1m' });
    await system.ended(job, 40_000);
    const report = await eventually('decisions of the second server', 30_000, async () => {
      const found = await replayed();
      return found.decisions > before.decisions ? found : null;
    });
    expect(report).toMatchObject({ divergence: null, cut: false });
    expect(report.same).toBe(report.decisions);
  });

  it('finds the first decision that an earlier version of the policy would have made otherwise, and says how', {
    timeout: 90_000,
  }, async () => {
    const { client } = system;
    const quotas = [{ project: 'default', ceiling: { cpu: 0 } }];
    const { version: free } = await client.policy.get();
    const { version: none } = await client.policy.put({ quotas }, free);
    await client.policy.put({}, none);
    const { sequence } = await system.store.head();
    const job = await system.submit({ name: 'otherwise', command: ['true'], timeLimit: '1m' });
    await system.ended(job, 40_000);
    expect(await client.replay({ from: sequence, policyVersion: free })).toMatchObject({ divergence: null });
    const { code, output } = await system.muster(
      'replay',
      '--from',
      String(sequence),
      '--policy-version',
      String(none),
    );
    expect(code).toBe(1);
    expect(output.replace(/\s+/g, ' ')).toMatch(
      /The first is decision \d+, made at event \d+, [^:]+:\d\d:\d\d: otherwise \(job_\w+\) started on n\d, and would not start/,
    );
  });
});

describe('the guide', () => {
  it.each(questionsGuide.commands)('muster %s', { timeout: 60_000 }, async (line) => {
    const mayDiffer = line.endsWith(' || true');
    const { code, output } = await system.muster(...line.replace(' || true', '').split(' '));
    expect(mayDiffer ? [0, 1] : [0], output).toContain(code);
    expect(output).toMatch(
      /At event \d+, with this change:|decisions?, made at events|There are|TOTAL|"rows"|is trusted at/,
    );
  });
});
