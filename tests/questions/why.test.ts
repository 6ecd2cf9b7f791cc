// `muster why` on a real system prints what the guide shows, and what it says would help does.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GuidedSystem, guide, startGuided } from '../harness/guide.ts';
import { eventually } from '../harness/processes.ts';

const jobsGuide = guide('jobs.md');
const shown = /```console\n\$ muster why train\n([\s\S]*?)```/.exec(jobsGuide.text)![1]!;

let system: GuidedSystem;

beforeAll(async () => {
  const agents = ['n1', 'n2'].map((name) => ({ name, devices: 'gpu=2:H100' }));
  system = await startGuided(jobsGuide, agents);
});

afterAll(() => system.close());

/** Ids and times are others each time. */
function plain(text: string): string {
  return text
    .replace(/job_[0-9a-z]+/g, 'JOB')
    .replace(/(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d)?/g, 'TIME')
    .trim();
}

const asking = (count: number) => ({
  command: ['sleep', '300'],
  timeLimit: '1d',
  resources: { accelerators: { model: 'H100', count } },
});

it('prints what the guide shows, and the end that it names lets the job start', {
  timeout: 120_000,
}, async () => {
  for (const node of ['n1', 'n2']) {
    const constraints = [{ label: 'node', in: [node] }];
    const id = await system.submit({ name: `on-${node}`, ...asking(1), constraints });
    await system.inState(id, 'running', 30_000);
  }
  const train = await system.submit({ name: 'train', ...asking(2) });
  await eventually('the job is told why it waits', 20_000, async () => {
    return (await system.client.jobs.why(train)).verdict?.kind === 'waits';
  });
  expect(plain((await system.muster('why', 'train')).output)).toBe(plain(shown));
  const { explanation } = await system.client.jobs.why(train);
  const [first] = explanation?.ends.runs ?? [];
  await system.client.jobs.cancel(first!.job);
  await system.inState(train, 'running', 40_000);
});
