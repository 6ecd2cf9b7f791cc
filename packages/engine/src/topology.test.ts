import {
  type DomainResource,
  defaultPolicy,
  type JobDemand,
  type NodeFacts,
  type Policy,
  verdictText,
} from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import {
  demand,
  devices,
  type GroupOptions,
  gpus,
  group,
  job,
  jobId,
  node,
  oneTask,
} from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

/** Four nodes of two devices in each of the racks a, b and c; a and b in zone x, c in zone y. */
const fleet: readonly NodeFacts[] = ['a', 'b', 'c'].flatMap((rack) =>
  [1, 2, 3, 4].map((n) =>
    node(`${rack}${n}`, { labels: { zone: rack === 'c' ? 'y' : 'x', rack }, devices: devices(2) }),
  ),
);

function worldOf(nodes: readonly NodeFacts[], policy: Policy = defaultPolicy): World {
  const world = new World(loadEngine, ...nodes);
  world.setPolicy(policy);
  return world;
}

/** Nodes of each group of the last job, after the ones before it were placed one by one. */
function placeOn(nodes: readonly NodeFacts[], ...asked: JobDemand[]): string[] {
  const world = worldOf(nodes);
  let last = world.decide();
  for (const [i, one] of asked.entries()) {
    world.submit(job(i + 1, one));
    last = world.cycle();
  }
  return starts(last).flatMap((unit) => unit.tasks.map((task) => task.node.slice(5)));
}

const on = (name: string): JobDemand =>
  demand(group([gpus(2)]), { constraints: [{ label: 'node', op: 'in', values: [name] }] });
const gang = (tasks: number, options: GroupOptions = {}): ReturnType<typeof group> =>
  group([gpus(2)], { tasks, cpuMilli: 1, memoryMib: 1, ...options });
const racksOf = (nodes: readonly string[]): string[] => nodes.map((name) => name[0]!);

describe('required', () => {
  const together = (tasks: number, level = 'rack'): JobDemand =>
    demand(gang(tasks), { topology: { level, mode: 'required' } });

  test('finds the one domain of many that holds every group', () => {
    const many = Array.from({ length: 100 }, (_, n) =>
      node(`n${100 + n}`, { labels: { rack: `r${100 + n}` }, devices: devices(2), cpuMilli: 8000 }),
    );
    const large = node('z', { labels: { rack: 'z' }, devices: devices(4) });
    const groups = [gang(1, { name: 'x' }), group([], { name: 'y', cpuMilli: 20_000, memoryMib: 1 })];
    const asked = demand(groups, { topology: { level: 'rack', mode: 'required' } });
    expect(placeOn([...many, large], asked)).toEqual(['z', 'z']);
  });

  test('tries the domain with most room, however many tighter ones hold each group alone', () => {
    const many = Array.from({ length: 100 }, (_, n) =>
      node(`n${100 + n}`, { labels: { rack: `r${100 + n}` }, devices: devices(2) }),
    );
    const large = node('z', { labels: { rack: 'z' }, devices: devices(4) });
    const groups = [gang(1, { name: 'x' }), gang(1, { name: 'y' })];
    const asked = demand(groups, { topology: { level: 'rack', mode: 'required' } });
    expect(placeOn([...many, large], asked)).toEqual(['z', 'z']);
  });

  test('goes to the tightest domain that holds all, then the first by path', () => {
    expect(placeOn(fleet, together(3))).toEqual(['a1', 'a2', 'a3']);
    expect(placeOn(fleet, on('b1'), together(3))).toEqual(['b2', 'b3', 'b4']);
  });

  test('waits when no single domain holds all, though the fleet does', () => {
    expect(placeOn(fleet, on('a1'), on('b1'), on('c1'), together(4))).toEqual([]);
    expect(placeOn(fleet, together(5))).toEqual([]);
    expect(placeOn(fleet, together(8, 'zone'))).toHaveLength(8);
    expect(placeOn(fleet, together(9, 'zone'))).toEqual([]);
  });

  test('may be a single node, and is told how large a domain is', () => {
    const small = demand(group([gpus(1)], { tasks: 3 }), { topology: { level: 'node', mode: 'required' } });
    const world = worldOf(fleet);
    world.submit(job(1, small));
    world.submit(job(2, together(5)));
    world.cycle();
    expect(verdictText(world.engine.verdict(jobId(1), 1)!)).toContain('at most 2 tasks in one node');
    expect(verdictText(world.engine.verdict(jobId(2), 1)!)).toContain('at most 4 tasks in one rack');
  });

  test('says which nodes are free but in too small a place', () => {
    const world = worldOf(fleet);
    for (const [i, name] of ['a1', 'b1', 'c1'].entries()) world.submit(job(i + 1, on(name)));
    world.cycle();
    world.submit(job(9, together(4)));
    world.cycle();
    expect(verdictText(world.engine.verdict(jobId(9), 1)!)).toContain(
      'needs room for 4 tasks at once, there is room for 3 now: of 12 nodes, 6 have their devices in use; 6 are in a place too small for the whole',
    );
  });

  test('of a group holds for that group alone', () => {
    const groups = [
      gang(3, { name: 'x', topology: { level: 'rack', mode: 'required' } }),
      gang(2, { name: 'y', topology: { level: 'rack', mode: 'required' } }),
    ];
    expect(racksOf(placeOn(fleet, demand(groups)))).toEqual(['a', 'a', 'a', 'b', 'b']);
  });

  test('of a level that the policy does not have is impossible, and says so', () => {
    const world = worldOf(fleet);
    world.submit(job(1, together(1, 'aisle')));
    world.cycle();
    expect(verdictText(world.engine.verdict(jobId(1), 1)!)).toContain('there is no topology level "aisle"');
  });

  test('takes nodes without the label for one domain of their own', () => {
    const bare = [1, 2].map((n) => node(`n${n}`, { devices: devices(2) }));
    expect(placeOn([...bare, ...fleet], together(2))).toEqual(['n1', 'n2']);
  });
});

describe('preferred', () => {
  const packed = (tasks: number): JobDemand =>
    demand(gang(tasks), { topology: { level: 'rack', mode: 'preferred' } });

  test('takes the narrowest domain that holds all, and few domains inside a wider one', () => {
    expect(racksOf(placeOn(fleet, packed(4)))).toEqual(['a', 'a', 'a', 'a']);
    expect(racksOf(placeOn(fleet, packed(6)))).toEqual(['a', 'a', 'a', 'a', 'b', 'b']);
    expect(racksOf(placeOn(fleet, on('a1'), packed(6)))).toEqual(['b', 'b', 'b', 'b', 'a', 'a']);
    expect(racksOf(placeOn(fleet, packed(9)))).toEqual([...'aaaabbbbc']);
  });
});

describe('spread', () => {
  const even = (tasks: number): JobDemand =>
    demand(gang(tasks), { topology: { level: 'rack', mode: 'spread' } });

  test('differs by at most one, and by more only where there is no room', () => {
    expect(racksOf(placeOn(fleet, even(5)))).toEqual(['a', 'a', 'b', 'b', 'c']);
    expect(racksOf(placeOn(fleet, on('b1'), on('b2'), on('b3'), even(6)))).toEqual([...'aaabcc']);
  });

  test('over a level that is wider than what is required leaves a group where it must be', () => {
    for (const [level, tasks, nodes] of [
      ['rack', 3, ['a1', 'a2', 'a3']],
      ['node', 1, ['a1']],
    ] as const)
      expect(
        placeOn(
          fleet,
          demand(gang(tasks, { topology: { level: 'zone', mode: 'spread' } }), {
            topology: { level, mode: 'required' },
          }),
        ),
      ).toEqual(nodes);
  });

  test('counts all groups of the job together', () => {
    const groups = [gang(1, { name: 'x' }), gang(2, { name: 'y' }), gang(3, { name: 'z' })];
    const asked = demand(groups, { topology: { level: 'rack', mode: 'spread' } });
    expect(racksOf(placeOn(fleet, asked)).sort()).toEqual([...'aabbcc']);
  });
});

describe('a place for the first task needs a free port', () => {
  /** The two nodes of rack a have no port, and the tightest room. */
  const few = ['a', 'b'].flatMap((rack) =>
    [1, 2].map((n) =>
      node(`${rack}${n}`, {
        labels: { zone: 'x', rack },
        devices: devices(rack === 'a' ? 2 : 4),
        ports: { first: 1, count: rack === 'a' ? 0 : 9 },
      }),
    ),
  );
  const asked = (tasks: number, mode: 'spread' | 'preferred'): JobDemand =>
    demand(gang(tasks), { topology: { level: 'rack', mode } });

  test('so a spread begins where there is one, and is as even as it would have been', () => {
    expect(placeOn(few, asked(1, 'spread'))).toEqual(['b1']);
    expect(placeOn(few, asked(2, 'spread'))).toEqual(['b1', 'a1']);
    expect(racksOf(placeOn(few, asked(5, 'spread')))).toEqual([...'bbbaa']);
  });

  test('so few domains begin where there is one, also where another would have held all', () => {
    expect(placeOn(few, asked(1, 'preferred'))).toEqual(['b1']);
    const beside = [
      ...few.slice(0, 2),
      node('b1', { labels: { zone: 'x', rack: 'b' }, devices: devices(2) }),
    ];
    expect(placeOn(beside, asked(2, 'preferred'))).toEqual(['b1', 'a1']);
  });

  test('so a required domain is found behind more of them than are tried', () => {
    const many = Array.from({ length: 100 }, (_, n) =>
      node(`r${n}`, {
        labels: { rack: `r${n}` },
        devices: devices(n === 80 ? 3 : 2),
        ports: { first: 1, count: n === 80 ? 1 : 0 },
      }),
    );
    const topology = { level: 'rack', mode: 'required' } as const;
    expect(placeOn(many, demand(gang(1), { topology }))).toEqual(['r80']);
    expect(placeOn(many, demand(gang(1, { topology })))).toEqual(['r80']);
  });
});

describe('near', () => {
  test('keeps a group where the other one is', () => {
    const groups = [
      gang(2, { name: 'x', topology: { level: 'rack', mode: 'spread' } }),
      group([], { name: 'loader', tasks: 3, near: { group: 'x', level: 'rack' }, cpuMilli: 60_000 }),
    ];
    expect(racksOf(placeOn(fleet, demand(groups)))).toEqual([...'ababa']);
    const same = [gang(1, { name: 'x' }), group([], { name: 'y', near: { group: 'x', level: 'node' } })];
    expect(placeOn(fleet, on('a1'), demand(same))).toEqual(['a2', 'a2']);
  });

  test('looks further where the tightest place has no room for the rest', () => {
    const groups = [gang(1, { name: 'x' }), gang(2, { name: 'y', near: { group: 'x', level: 'rack' } })];
    expect(placeOn(fleet, on('a1'), on('a2'), on('a3'), demand(groups))).toEqual(['b1', 'b2', 'b3']);
    const beside = demand([...groups, gang(4, { name: 'z' })]);
    expect(racksOf(placeOn(fleet, on('a1'), on('a2'), on('a3'), beside)).join('')).toMatch(/^bbb/);
  });

  test('waits when there is no room beside the other group', () => {
    const groups = [gang(1, { name: 'x' }), gang(1, { name: 'y', near: { group: 'x', level: 'node' } })];
    expect(placeOn(fleet, demand(groups))).toEqual([]);
  });
});

describe('power of a rack', () => {
  const power: DomainResource = {
    name: 'power',
    level: 'rack',
    unit: 'W',
    capacity: { default: 10_000, b: 2000 },
    perDevice: { H100: 700, gpu: 300 },
    perTask: 0,
  };
  const limited = { ...defaultPolicy, topology: { ...defaultPolicy.topology, resources: [power] } };
  const eight = ['a', 'b'].map((rack) => node(rack, { labels: { rack } }));

  function sold(world: World): number[] {
    return ['a', 'b'].map(
      (name) =>
        [...world.runs.values()].flatMap((run) => run.tasks).filter((task) => task.node === `node_${name}`)
          .length,
    );
  }

  test('is never exceeded, and what is left is told', () => {
    const world = worldOf(eight, limited);
    for (let n = 1; n <= 16; n++) world.submit(job(n, oneTask(1)));
    while (world.cycle().units.length > 0);
    expect(sold(world)).toEqual([8, 2]);
    expect(verdictText(world.engine.verdict(jobId(16), 1)!)).toContain(
      '1 is in a place with too little left (rack b has 600 W of power left, the task needs 700 W of power)',
    );
    const [first] = [...world.runs.values()].filter((run) => run.tasks[0]!.node === 'node_b');
    world.finish(first!.run);
    expect(starts(world.cycle())).toHaveLength(1);
  });

  test('counts parts of devices by their part, and gangs as a whole', () => {
    const world = worldOf([node('b', { labels: { rack: 'b' } })], limited);
    world.submit(job(1, oneTask(0.5)));
    world.submit(job(2, demand(group([gpus(1)], { tasks: 3 }))));
    world.submit(job(3, demand(group([gpus(1)], { tasks: 2 }))));
    expect(starts(world.cycle()).map((unit) => unit.job)).toEqual([jobId(1), jobId(3)]);
  });

  /** Of two such tasks the first takes 600 W and the second 1400 W; before it is known which devices they get, each may take 1400 W. */
  const mixed = node('b', {
    labels: { rack: 'b', disk: 'ssd' },
    devices: [...devices(2, 'A100'), ...devices(2, 'H100', 81_920, 'gpu', 2)],
  });

  test('is counted by the devices that tasks get, also where a job prefers some nodes', () => {
    for (const preferences of [[], [{ label: 'node', op: 'in' as const, values: ['a'], weight: 1 }]]) {
      const world = worldOf([mixed], limited);
      world.submit(job(1, demand(gang(2), { preferences })));
      expect(starts(world.cycle())[0]?.tasks.map((task) => task.devices)).toEqual([
        [0, 1],
        [2, 3],
      ]);
    }
  });

  test('that tasks did not take of a node is for more of them there, where the first nodes are filled first', () => {
    const backfill = { mode: 'conservative', depth: 4 } as const;
    const world = worldOf([node('a', { devices: devices(1) }), mixed], { ...limited, backfill });
    world.submit(job(1, demand(group([gpus(1)], { tasks: 5 }))));
    expect(starts(world.cycle())[0]?.tasks.map((task) => task.node.slice(5))).toEqual([
      'a',
      'b',
      'b',
      'b',
      'b',
    ]);
  });

  test('that a rack is not certain to have is told to be lacking where one rack is required', () => {
    const world = worldOf([mixed], limited);
    world.submit(job(1, demand(gang(2), { topology: { level: 'rack', mode: 'required' } })));
    expect(world.cycle().units).toEqual([]);
    expect(verdictText(world.engine.verdict(jobId(1), 1)!)).toContain('holds 1');
  });

  test('that a rack is not certain to have is told to be lacking also where tasks are spread inside it', () => {
    const twin = node('c', { labels: { rack: 'b', disk: 'ssd' }, devices: mixed.inventory.devices });
    const world = worldOf([mixed, twin], limited);
    const spread = gang(2, { topology: { level: 'node', mode: 'spread' } });
    world.submit(job(1, demand(spread, { topology: { level: 'rack', mode: 'required' } })));
    expect(world.cycle().units).toEqual([]);
    expect(verdictText(world.engine.verdict(jobId(1), 1)!)).toContain('holds 1');
  });

  test('that a rack is not certain to have keeps no job waiting that only prefers one rack', () => {
    const rack = { level: 'rack', mode: 'preferred' } as const;
    for (const [ofGroup, ofJob] of [
      [rack, null],
      [null, rack],
    ] as const) {
      const world = worldOf([mixed], limited);
      world.submit(job(1, demand(gang(2, { topology: ofGroup }), { topology: ofJob })));
      expect(starts(world.cycle())[0]?.tasks.map((task) => task.devices)).toEqual([
        [0, 1],
        [2, 3],
      ]);
    }
    const twin = node('c', { labels: { rack: 'b', disk: 'ssd' }, devices: mixed.inventory.devices });
    const world = worldOf([mixed, twin], limited);
    const spread = gang(2, { topology: { level: 'node', mode: 'spread' } });
    world.submit(job(1, demand(spread, { topology: rack })));
    expect(starts(world.cycle())[0]?.tasks.map((task) => task.node)).toEqual(['node_b', 'node_c']);
  });

  test('that tasks take more of on some nodes keeps no job waiting that only prefers one node', () => {
    const perDevice = { A100: 5, H100: 3 };
    const resources = [{ ...power, capacity: { default: 11 }, perDevice }];
    const policy = { ...limited, topology: { ...limited.topology, resources } };
    const nodes = [
      node('a', { labels: { rack: 'b' }, devices: devices(8, 'A100') }),
      node('b', { labels: { rack: 'b' }, devices: devices(2) }),
    ];
    const preferences = [{ label: 'node', op: 'in' as const, values: ['b'], weight: 1 }];
    for (const topology of [null, { level: 'node', mode: 'preferred' } as const]) {
      const world = worldOf(nodes, policy);
      world.submit(job(1, demand(group([gpus(1)], { tasks: 3 }), { preferences, topology })));
      expect(starts(world.cycle())[0]?.tasks).toHaveLength(3);
    }
  });

  test('that tasks may not need in full is no reason to stop nobody', () => {
    const world = worldOf([mixed], limited);
    world.submit(job(1, demand(group([gpus(1)]), { exclusive: true }), { tier: 'spot' }));
    for (const unit of starts(world.cycle())) world.running(unit.run);
    world.nowMs += 3_600_000;
    world.submit(job(2, demand(gang(2)), { tier: 'critical' }));
    expect(world.decide().units).toMatchObject([{ kind: 'preempt', job: jobId(2) }]);
  });

  test('that was taken away while victims ended gives the claim up', () => {
    const world = worldOf([node('b', { labels: { rack: 'b' } })], limited);
    for (const n of [1, 2]) world.submit(job(n, oneTask(1), { tier: 'spot' }));
    for (const unit of starts(world.cycle())) world.running(unit.run);
    world.nowMs += 3_600_000;
    world.submit(job(3, oneTask(1), { tier: 'critical' }));
    const [claim] = world.cycle().units;
    const less = { ...power, capacity: { default: 1000 } };
    world.setPolicy({ ...limited, topology: { ...limited.topology, resources: [less] } });
    if (claim?.kind !== 'preempt') throw new Error('nobody was stopped');
    world.preempted(claim.claim.victims[0]!.run);
    expect(world.decide().units).toMatchObject([
      { kind: 'release', job: jobId(3), reason: { message: 'power of rack b is used up' } },
    ]);
  });

  test('is also limited by what a node has, by its name', () => {
    const ofNode: DomainResource = {
      ...power,
      name: 'cooling',
      level: 'node',
      capacity: { default: 2000, a: 700 },
    };
    const policy = { ...limited, topology: { ...limited.topology, resources: [power, ofNode] } };
    const three = [...eight, node('c', { labels: { rack: 'b' } })];
    const world = worldOf(three, policy);
    for (let n = 1; n <= 16; n++) world.submit(job(n, oneTask(1)));
    while (world.cycle().units.length > 0);
    // Node a has cooling for one; b and c have it for two each, and their rack power for two in all.
    expect([...sold(world), world.runs.size]).toEqual([1, 2, 3]);
    expect(verdictText(world.engine.verdict(jobId(16), 1)!)).toContain(
      '3 are in a place with too little left (rack b has 600 W of power left',
    );
  });

  test('of a node is told to be lacking where a gang must be on one node', () => {
    const ofNode: DomainResource = { ...power, level: 'node', capacity: { a: 1400 } };
    const policy = { ...limited, topology: { ...limited.topology, resources: [ofNode] } };
    const together = (tasks: number): JobDemand =>
      demand(group([gpus(1)], { tasks }), { topology: { level: 'node', mode: 'required' } });
    const world = worldOf(eight, policy);
    world.submit(job(1, together(8)));
    world.submit(job(2, together(2)));
    world.submit(job(3, together(2)));
    expect(starts(world.cycle()).map((unit) => [unit.job, unit.tasks[0]!.node])).toEqual([
      [jobId(1), 'node_b'],
      [jobId(2), 'node_a'],
    ]);
    world.nowMs++;
    expect(world.cycle().units).toEqual([]);
    world.submit(job(4, oneTask(1)));
    world.cycle();
    expect(verdictText(world.engine.verdict(jobId(4), world.nowMs)!)).toContain(
      'node a has 0 W of power left, the task needs 700 W of power',
    );
  });

  test('is told in thousands of its unit', () => {
    const world = worldOf([node('b', { labels: { rack: 'b' } })], limited);
    world.submit(job(1, oneTask(8)));
    world.cycle();
    expect(verdictText(world.engine.verdict(jobId(1), 1)!)).toContain(
      'rack b has 2 kW of power left, the task needs 5.6 kW of power',
    );
  });
});

test('labels of racks and hosts do not make classes', () => {
  const many = Array.from({ length: 300 }, (_, n) =>
    node(`n${String(n).padStart(3, '0')}`, {
      labels: { rack: `r${n % 20}`, hostname: `h${n}`, disk: 'ssd' },
    }),
  );
  const world = worldOf(many);
  const asked = (label: string, value: string): JobDemand =>
    demand(group([gpus(8)]), { constraints: [{ label, op: 'in', values: [value] }] });
  for (const [i, one] of [asked('hostname', 'h123'), asked('rack', 'r7'), asked('disk', 'ssd')].entries())
    world.submit(job(i + 1, one));
  expect(starts(world.cycle()).map((unit) => unit.tasks[0]!.node)).toEqual([
    'node_n123',
    'node_n007',
    'node_n000',
  ]);
});
