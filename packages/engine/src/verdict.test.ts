import { type JobDemand, type NodeFacts, type Verdict, verdictText } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, jobId, node, nodeId, oneTask } from './testing/builders.ts';
import { World } from './testing/world.ts';

function worldOf(nodes: readonly NodeFacts[], ...running: JobDemand[]): World {
  const world = new World(loadEngine, ...nodes);
  for (const [i, one] of running.entries()) world.submit(job(i + 1, one));
  while (world.cycle().units.length > 0);
  return world;
}

/** What a job that asks this is told, with these jobs running. */
function told(nodes: readonly NodeFacts[], asked: JobDemand, ...running: JobDemand[]): Verdict {
  return worldOf(nodes, ...running).engine.consider(job(0, asked, { tier: 'spot' }), 0).verdict;
}

function nearest(nodes: readonly NodeFacts[], asked: JobDemand): readonly string[] {
  const verdict = told(nodes, asked);
  expect(verdict.kind).toBe('impossible');
  return verdict.kind === 'impossible' ? verdict.nearest : [];
}

function lacks(verdict: Verdict): string {
  const [reason] = verdict.kind === 'placed' ? [] : verdict.reasons;
  return reason && 'lacks' in reason
    ? reason.lacks.map(({ lack, nodes }) => `${nodes} ${lack}`).join(', ')
    : '';
}

const [a, b] = [node('a'), node('b')];

describe('a job without room', () => {
  test('is told what each node lacks, counted under the first lack', () => {
    const nodes = [
      node('a'),
      node('b'),
      node('c', { draining: true }),
      node('q', { quarantined: true }),
      node('d', { state: 'silent' }),
      node('e', { draining: true, state: 'silent' }),
      node('f', { devices: devices(8, 'A100') }),
      node('g', { devices: devices(2) }),
      node('h', { cpuMilli: 100 }),
      node('i', { labels: { zone: 'x' } }),
    ];
    const asked = demand(group([gpus(4, 'H100')], { cpuMilli: 1000, memoryMib: 1 }), {
      constraints: [{ label: 'zone', op: 'absent', values: [] }],
    });
    const busy = demand(group([gpus(8, 'H100')], { cpuMilli: 2000 }), asked);
    expect(lacks(told(nodes, asked, busy, busy))).toBe(
      '1 constraint, 1 device-model, 1 device-count, 1 cpu-total, 2 draining, 1 quarantined, 1 silent, 2 devices-busy',
    );
  });

  test('is told about cores, memory, other jobs and ports that are taken', () => {
    const cores = demand(group([gpus(1)], { cpuMilli: 60_000, memoryMib: 1 }));
    expect(lacks(told([a], cores, cores))).toBe('1 cpu-busy');
    const memory = demand(group([gpus(1)], { cpuMilli: 1, memoryMib: 400_000 }));
    expect(lacks(told([a], memory, memory))).toBe('1 memory-busy');
    expect(lacks(told([a], demand(group([]), { exclusive: true }), oneTask(1)))).toBe('1 exclusive');
    expect(lacks(told([a], oneTask(1), demand(group([gpus(1)]), { exclusive: true })))).toBe('1 exclusive');
    expect(lacks(told([node('a', { ports: { first: 1, count: 1 } })], oneTask(1), oneTask(1)))).toBe(
      '1 ports-busy',
    );
  });

  test('is told how many tasks of its gang fit, with its own tasks counted as taking room', () => {
    const verdict = told([a, b], demand(group([gpus(4)], { tasks: 4 })), oneTask(1));
    expect(verdictText(verdict)).toBe(
      'waits: group main needs room for 4 tasks at once, there is room for 3 now: of 2 nodes, 2 have their devices in use',
    );
  });

  test('is told of the group that does not fit', () => {
    const two = demand([
      group([gpus(8)], { name: 'big', cpuMilli: 1 }),
      group([gpus(1)], { name: 'small', tasks: 9, cpuMilli: 1 }),
    ]);
    const verdict = told([a, b, node('c')], two, oneTask(8));
    expect(verdict).toMatchObject({ kind: 'waits', reasons: [{ group: 'small', tasks: 9, tasksFit: 8 }] });
  });

  test('is told of the alternative that each node comes closest to', () => {
    const nodes = [node('a', { devices: devices(4, 'A100') }), node('b', { devices: devices(4, 'H100') })];
    const either = demand(group([gpus(4, 'H100'), gpus(4, 'A100')]));
    expect(lacks(told(nodes, either, either, either))).toBe('2 devices-busy');
  });

  test('counts nodes of one class by name when the constraint is on names', () => {
    const asked = demand(group([gpus(8)]), { constraints: [{ label: 'node', op: 'not-in', values: ['b'] }] });
    const nodes = [
      a,
      b,
      node('c', { draining: true }),
      node('q', { quarantined: true }),
      node('d', { state: 'silent' }),
      node('e', { state: 'lost' }),
    ];
    expect(lacks(told(nodes, asked, oneTask(8), oneTask(8)))).toBe(
      '1 constraint, 1 draining, 1 quarantined, 1 silent, 1 devices-busy',
    );
  });
});

describe('an impossible job', () => {
  test('is told at once, though nodes that may come back count as existing', () => {
    expect(told([], oneTask(1)).kind).toBe('impossible');
    expect(verdictText(told([], oneTask(1)))).toBe('impossible: the fleet has no nodes yet');
    expect(told([node('a', { state: 'silent' })], oneTask(8)).kind).toBe('waits');
    expect(told([node('a', { draining: true })], oneTask(8)).kind).toBe('waits');
    expect(told([node('a', { state: 'lost' })], oneTask(8)).kind).toBe('impossible');
  });

  test('is possible while the fleet is merely full', () => {
    expect(told([a], oneTask(8), oneTask(8)).kind).toBe('waits');
  });

  test.each<[string, JobDemand, string]>([
    ['too many devices', oneTask(9, 'H100'), 'at most 8 H100 on one node; ask for 8 or fewer per task'],
    ['an unknown model', oneTask(1, 'H10O'), 'no accelerator model "H10O"; the fleet has A100, H100'],
    [
      'an unknown kind',
      demand(group([{ ...gpus(1), kind: 'tpu' }])),
      'no accelerator of kind "tpu"; the fleet has gpu',
    ],
    ['too much device memory', demand(group([gpus(1, 'H100', 100_000)])), 'at most 80GiB on one H100'],
    [
      'a link no device has',
      demand(group([{ ...gpus(1), interconnect: 'nvlink' }])),
      'no gpu with interconnect "nvlink"; none is known to have any',
    ],
    [
      'a generation not built yet',
      demand(group([{ ...gpus(1), generation: 120 }])),
      'the newest gpu is of generation 90',
    ],
    ['too many cores', demand(group([], { cpuMilli: 65_000 })), 'at most 64 cores on one node'],
    ['too much memory', demand(group([], { memoryMib: 600_000 })), 'at most 512GiB of memory on one node'],
    ['too many tasks', demand(group([gpus(4)], { tasks: 7 })), 'at most 6 tasks at once'],
    [
      'an unknown label value',
      demand(group([]), { constraints: [{ label: 'zone', op: 'in', values: ['a'] }] }),
      'label zone=a exists on no node; values are b, c',
    ],
    [
      'an unknown label',
      demand(group([]), { constraints: [{ label: 'rack', op: 'in', values: ['a'] }] }),
      'label rack=a exists on no node; no node has that label',
    ],
    [
      'a label nobody has',
      demand(group([]), { constraints: [{ label: 'rack', op: 'exists', values: [] }] }),
      'label rack exists on no node',
    ],
    [
      'a label everybody has',
      demand(group([]), { constraints: [{ label: 'pool', op: 'absent', values: [] }] }),
      'every node has label pool; values are gpu',
    ],
    [
      'a value everybody has',
      demand(group([]), { constraints: [{ label: 'pool', op: 'not-in', values: ['gpu'] }] }),
      'every node has label pool with an excluded value; values are gpu',
    ],
    [
      'an unknown node',
      demand(group([]), { constraints: [{ label: 'node', op: 'in', values: ['q'] }] }),
      'label node=q exists on no node; values are a, b, c',
    ],
    [
      'constraints that exclude each other',
      demand(group([]), {
        constraints: [
          { label: 'zone', op: 'in', values: ['b'] },
          { label: 'zone', op: 'in', values: ['c'] },
        ],
      }),
      'no node matches all constraints together',
    ],
    [
      'a capability nobody has',
      demand(group([]), { capabilities: ['containers'] }),
      'no node has the capability containers',
    ],
  ])('for %s is told what would be possible', (_, asked, sentence) => {
    const nodes = [
      node('a', { labels: { zone: 'b' } }),
      node('b', { labels: { zone: 'c' } }),
      node('c', { labels: { zone: 'c' }, devices: devices(8, 'A100') }),
    ];
    expect(nearest(nodes, asked)).toEqual([sentence]);
  });

  test('with several groups is told that they do not fit together', () => {
    const two = demand([group([gpus(8)], { name: 'x' }), group([gpus(1)], { name: 'y', tasks: 2 })]);
    expect(nearest([a], two)).toEqual(['the other groups leave no room for it; make them smaller']);
    const loose = demand([group([gpus(7)], { name: 'x' }), group([gpus(1)], { name: 'y', tasks: 2 })]);
    expect(nearest([a], loose)).toEqual(['at most 1 task at once beside the other groups']);
    expect(told([a], loose)).toMatchObject({
      reasons: [{ code: 'gang-too-large', group: 'y', tasksFit: 1 }],
    });
  });

  test('for want of any port is told so', () => {
    const portless = node('a', { ports: { first: 1, count: 0 } });
    expect(lacks(told([portless], oneTask(1)))).toBe('1 ports-busy');
    expect(nearest([portless], oneTask(1))).toEqual([
      'no node offers all of this together, with a rendezvous port',
    ]);
  });

  test('without accelerators in the fleet is told so', () => {
    expect(nearest([node('a', { devices: [] })], oneTask(1))).toEqual(['no node has accelerators']);
  });

  test('becomes possible when a node joins, and impossible again when it is lost', () => {
    const world = worldOf([a]);
    world.submit(job(1, oneTask(1, 'A100')));
    expect(world.cycle().verdicts).toMatchObject([{ verdict: { kind: 'impossible' } }]);
    world.join(node('z', { devices: devices(1, 'A100'), draining: true }));
    expect(world.cycle().verdicts).toMatchObject([{ verdict: { kind: 'waits' } }]);
    world.setNode(nodeId('z'), 'lost');
    expect(world.cycle().verdicts).toMatchObject([{ verdict: { kind: 'impossible' } }]);
  });
});

describe('telling', () => {
  const oneGpu = demand(group([gpus(1)], { cpuMilli: 1, memoryMib: 1 }));

  test('happens once for a reason, however its counts change', () => {
    const world = worldOf([a, b], oneTask(8), oneTask(8));
    world.submit(job(5, oneGpu));
    expect(world.cycle().verdicts).toHaveLength(1);
    expect(world.cycle().verdicts).toEqual([]);
    world.join(node('c', { draining: true, devices: devices(8) }));
    expect(world.cycle().verdicts).toHaveLength(1); // Draining is a new lack.
    world.join(node('d', { draining: true, devices: devices(8) }));
    expect(world.cycle().verdicts).toEqual([]);
  });

  test('is one verdict for all jobs of an entry, and one for each entry', () => {
    const world = worldOf([a], oneTask(8));
    for (const n of [5, 6, 7]) world.submit(job(n, oneGpu));
    world.submit(job(8, oneGpu, { project: 'other' }));
    expect(world.cycle().verdicts).toHaveLength(2);
    world.submit(job(9, oneGpu));
    expect(world.cycle().verdicts).toEqual([]);
    world.submit(job(10, oneGpu, { project: 'third' }));
    expect(world.cycle().verdicts).toHaveLength(1);
  });

  test('says behind while jobs ahead take the room, and no room once they have it', () => {
    const world = worldOf([a]);
    for (const n of [5, 6, 7]) world.submit(job(n, oneTask(4)));
    expect(world.cycle().verdicts).toMatchObject([{ verdict: { reasons: [{ code: 'behind', ahead: 2 }] } }]);
    expect(world.cycle().verdicts).toMatchObject([{ verdict: { reasons: [{ code: 'no-room' }] } }]);
  });

  test('does not say behind to those who know a lasting reason', () => {
    const world = worldOf([a], oneTask(8));
    for (const n of [5, 6]) world.submit(job(n, oneTask(8), { project: `p${n}` }));
    expect(world.cycle().verdicts).toHaveLength(2);
    world.finish([...world.runs.keys()][0]!);
    const plan = world.cycle();
    expect(plan.units.map((unit) => unit.job)).toEqual([jobId(5)]);
    expect(plan.verdicts).toEqual([]);
    expect(world.cycle().verdicts).toEqual([]);
  });

  test('reaches an entry whose units were dropped', () => {
    const world = worldOf([a]);
    world.submit(job(5, oneTask(8), { project: 'p5' }));
    world.submit(job(6, oneTask(8), { project: 'p6' }));
    world.commit(world.decide(), () => false);
    world.submit(job(7, oneTask(8), { tier: 'critical' }));
    world.cycle();
    world.cycle();
    expect([...world.told.keys()].map((key) => key.split('|')[0]).sort()).toEqual(['p5', 'p6']);
  });
});
