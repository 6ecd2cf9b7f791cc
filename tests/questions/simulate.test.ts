// Simulating a live system: what a real server was asked to do, read over its API, played with and without a change.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GuidedSystem, guide, startGuided } from '../harness/guide.ts';

let system: GuidedSystem;

beforeAll(async () => {
  system = await startGuided(guide('simulate.md'), [{ name: 'n1', devices: 'gpu=2:H100' }]);
});

afterAll(() => system.close());

const job = (name: string, seconds: number) => ({
  name,
  command: ['sleep', String(seconds)],
  resources: { accelerators: { model: 'H100', count: 2 } },
});

it('says who would have waited less on one more node, and who could never have started without the one there is', {
  timeout: 90_000,
}, async () => {
  const nothing = await system.muster('simulate', '--live', '--lose-node', 'n1');
  expect(nothing).toMatchObject({ code: 0 });
  expect(nothing.output).toContain('No job has run in that time');

  const ids = [await system.submit(job('first', 2)), await system.submit(job('second', 1))];
  for (const id of ids) await system.ended(id, 40_000);
  // A member whose start and end are told at one moment ran for 0 s, and such jobs are left out.
  const array = { name: 'many', command: ['sleep', '0.5'], array: { count: 3 } };
  await system.ended(await system.submit(array), 40_000);
  await system.inState(await system.submit(job('endless', 300)), 'running', 40_000);

  const more = await system.muster(
    ...['simulate', '--live', '--add-nodes', '1', '--like', 'n1', '--last', '1h', '-o', 'json'],
  );
  expect(more.code, more.output).toBe(0);
  const gained = JSON.parse(more.output);
  expect(gained.nodes).toEqual({ before: 1, after: 2, leftOut: 0 });
  // Two that ended, three members, and one that still runs.
  expect(gained.jobs).toBe(6);
  // The second had to wait for the first, and on two nodes it has not to.
  expect(gained.all).toMatchObject({ sooner: 1, later: 0, lost: 0 });
  expect(gained.most).toMatchObject([{ job: ids[1] }]);
  expect(gained.firstStart.realS).toBeGreaterThan(0);

  const less = await system.muster('simulate', '--live', '--lose-node', 'n1', '-o', 'json');
  expect(JSON.parse(less.output).all).toMatchObject({ jobs: 0, lost: gained.jobs });

  const table = await system.muster('simulate', '--live', '--add-nodes', '1', '--like', 'n1');
  expect(table.output).toContain('1 → 2 nodes');
  expect(table.output).toContain(ids[1]);
});

it.each([
  [['--live'], 'say what would change: --policy-file FILE'],
  [['--live', '--lose-node', 'n2'], '--lose-node: there is no "n2"; did you mean "n1"?'],
  [['--live', '--add-nodes', '2'], '--add-nodes and --like go together'],
  [['--live', '--trace', 'x.swf', '--lose-node', 'n1'], '--trace is for a trace'],
  [['--lose-node', 'n1'], '--lose-node needs --live'],
  [['--live', '--lose-cluster', 'man'], '--lose-cluster: there is no "man"; there are: '],
])('refuses %j with what to do', async (args, message) => {
  const { code, output } = await system.muster('simulate', ...args);
  expect(output).toContain(message);
  expect(code).toBe(2);
});
