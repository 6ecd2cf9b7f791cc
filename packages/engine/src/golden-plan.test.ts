// A whole plan in words. It changes only on purpose: when it does, `engineVersion` moves too.
import { expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, node } from './testing/builders.ts';
import { planText } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

test('the plan for a small mixed fleet reads as it always did', () => {
  const world = new World(
    loadEngine,
    node('h1'),
    node('h2'),
    node('a1', { devices: devices(4, 'A100', 40_960) }),
    node('c1', { pool: 'cpu', devices: [], cpuMilli: 16_000, memoryMib: 65_536 }),
    node('h3', { draining: true }),
  );
  const trainer = group([gpus(8, 'H100')], {
    name: 'trainer',
    tasks: 2,
    cpuMilli: 32_000,
    memoryMib: 262_144,
  });
  const loader = group([], { name: 'loader', tasks: 2, cpuMilli: 2000, memoryMib: 8192 });
  world.submit(job(1, demand(group([gpus(1)]))));
  world.submit(job(2, demand([trainer, loader]), { tier: 'critical', project: 'research/vision' }));
  world.submit(job(3, demand(group([gpus(2, 'H100'), gpus(2, 'A100')]))));
  world.submit(job(4, demand(group([gpus(4)]), { exclusive: true }), { tier: 'spot' }));
  world.submit(job(5, demand(group([gpus(16, 'H100')]))));
  world.submit(job(6, demand(group([gpus(1)]))));
  const plan = world.decide();
  expect(planText(plan)).toMatchInlineSnapshot(`
    "run_000000000000000002_1 v1 port 30000
      0/0 node_h1 32000m 262144MiB [0 1 2 3 4 5 6 7]
      1/0 node_h2 32000m 262144MiB [0 1 2 3 4 5 6 7]
      2/1 node_c1 2000m 8192MiB []
      3/1 node_c1 2000m 8192MiB []
    run_000000000000000001_1 v1 port 30000
      0/0 node_a1 16000m 131072MiB [0]
    run_000000000000000003_1 v1 port 30001
      0/0 node_a1 32000m 262144MiB [1 2]
    run_000000000000000006_1 v1 port 30002
      0/0 node_a1 16000m 131072MiB [3]
    research spot 0 waits: behind 4 jobs in the order
    research standard 0 impossible: no node can ever hold a task of group main: of 5 nodes, 2 have no such device; 3 have too few such devices. Nearest possible: at most 8 H100 on one node; ask for 8 or fewer per task
    wake at 604800000"
  `);
  expect(plan.hash).toMatchInlineSnapshot(`"37c2c3e02f82b32e"`);
});
