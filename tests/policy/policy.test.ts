// Policy, quota and usage on a real system: the commands of the guide work as they are written, a ceiling holds, and a policy that
// would cost somebody their work says so before it is put in force.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobId } from '@muster/model';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type GuidedSystem, guide, startGuided } from '../harness/guide.ts';
import { eventually } from '../harness/processes.ts';

const quotaGuide = guide('quota.md');
let system: GuidedSystem;

beforeAll(async () => {
  system = await startGuided(quotaGuide, [{ name: 'n1', devices: 'gpu=4:H100' }]);
});

afterAll(() => system.close());

/** Also where one has failed: the next would find the devices taken. */
afterEach(async () => {
  const { client } = system;
  const state = ['queued', 'starting', 'running'] as const;
  for (const { id } of (await client.jobs.list({ state, limit: 100 })).items) await client.jobs.cancel(id);
  await client.policy.put({}, (await client.policy.get()).version);
});

it('every command of the guide works as it is written', { timeout: 120_000 }, async () => {
  expect(quotaGuide.commands.length).toBeGreaterThan(10);
  for (const line of quotaGuide.commands) {
    const { code, output } = await system.muster(...line.split(' '));
    expect(code, `muster ${line}: ${output}`).toBe(0);
  }
});

it('run times are learned from jobs that end, said of those that come, and decide who goes first', {
  timeout: 180_000,
}, async () => {
  const { client } = system;
  const runTimes = { use: 'learned', first: 'expected' } as const;
  await client.policy.put({ runTimes }, (await client.policy.get()).version);
  const all = { resources: { accelerators: { count: 4 } } };
  const ended = [
    await system.submit({ name: 'short', command: ['true'], ...all }),
    // So much longer that it is told from the other on a busy machine too, where starting a program takes seconds.
    await system.submit({ name: 'long', command: ['sleep', '15'], ...all }),
  ];
  for (const id of ended) await system.ended(id, 60_000);
  const held = await system.submit({ name: 'in-the-way', command: ['sleep', '300'], ...all });
  await system.inState(held, 'running', 30_000);
  let learned: JobId[] = [];
  await eventually('both ends are learned', 60_000, async () => {
    learned = [
      await system.submit({ name: 'long', command: ['sleep', '15'], ...all }),
      await system.submit({ name: 'short', command: ['true'], ...all }),
    ];
    const [long, short] = await Promise.all(learned.map((id) => client.jobs.get(id)));
    // From the end of one of them a little more may be expected of the other than of itself.
    if ((long?.estimate?.expectedMs ?? 0) > (short?.estimate?.expectedMs ?? 0) + 1000) return true;
    // Else they would stand before those that are learned of, and only the first few are named.
    for (const id of learned) await client.jobs.cancel(id);
    return false;
  });
  const [long, short] = learned;
  const { explanation } = await client.jobs.why(long!);
  expect(explanation?.ahead?.jobs.find(({ job }) => job === short)).toMatchObject({
    because: { rule: 'expected' },
  });
  const shown = (await system.muster('show', long!)).output.replace(/\s+/g, ' ');
  expect(shown).toContain('learned from jobs that ended before it came');
});

it('a ceiling holds, is named, and lets go when it is raised', { timeout: 90_000 }, async () => {
  const { client } = system;
  const quotas = [{ project: 'product', ceiling: { gpu: 1 } }];
  await client.policy.put({ quotas }, (await client.policy.get()).version);
  const job = { project: 'product', command: ['sleep', '300'], resources: { accelerators: { count: 1 } } };
  await system.inState(await system.submit({ name: 'one', ...job }), 'running', 30_000);
  const two = await system.submit({ name: 'two', ...job });
  await eventually('the second is told about the ceiling', 20_000, async () =>
    (await client.jobs.why(two)).text.includes('project product has 1 gpu in use and may have 1 gpu'),
  );
  const ledger = await client.quota('product');
  expect(ledger.lines.find(({ key }) => key === 'gpu')).toMatchObject({ ceiling: 1000, use: 1000 });
  await client.policy.put({}, (await client.policy.get()).version);
  await system.inState(two, 'running', 30_000);
  const usage = await client.usage({ project: 'product', since: '1h' });
  expect(usage.lines.filter(({ key }) => key === 'gpu/H100')).toMatchObject([{ runs: 2 }]);
});

it('a policy that preempts is shown with whom and at what cost, waits for --yes, and why names both sides', {
  timeout: 120_000,
}, async () => {
  const { client } = system;
  const tiers = `tiers:\n  - { name: standard, rank: 1, minRun: 0s }\n`;
  const quotas = `quotas:\n  - { project: product, guaranteed: { gpu: 4 } }\n`;
  const file = (name: string, text: string): string => {
    writeFileSync(join(system.dir, name), text);
    return name;
  };
  expect((await system.muster('policy', 'apply', '-f', file('before.yaml', tiers), '--yes')).code).toBe(0);
  const whole = { command: ['sleep', '300'], resources: { accelerators: { count: 4 } } };
  const victim = await system.submit({ name: 'victim', project: 'research', ...whole });
  await system.inState(victim, 'running', 30_000);
  const owner = await system.submit({ name: 'owner', project: 'product', ...whole });
  await eventually('the owner waits', 20_000, async () => (await client.jobs.why(owner)).verdict !== null);
  const { version } = await client.policy.get();
  const asked = await system.muster('policy', 'apply', '-f', file('after.yaml', tiers + quotas));
  expect(asked.code).toBe(1);
  for (const text of [
    '1 job is preempted',
    'victim',
    'reclaim',
    '1 job starts',
    'owner',
    'Say --yes to go on',
  ])
    expect(asked.output).toContain(text);
  expect((await client.policy.get()).version).toBe(version);
  expect((await client.jobs.get(victim)).state).toBe('running');
  expect((await system.muster('policy', 'apply', '-f', 'after.yaml', '--yes')).code).toBe(0);
  await system.inState(owner, 'running', 40_000);
  const why = async (name: string): Promise<string> =>
    (await system.muster('why', name)).output.replace(/\s+/g, ' ');
  const reason = `preempted for ${owner} of project product, which takes back what its project is guaranteed`;
  expect(await why('victim')).toContain(reason);
  expect(await why('owner')).toContain(`${victim}, by right of its project's guarantee`);
});
