import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, gpus, group, job, jobId, node, nodeId, oneTask } from './testing/builders.ts';
import { planText } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

describe('the engine', () => {
  test('places a job on an idle fleet', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    world.submit(job(1, oneTask(1)));
    const plan = world.cycle();
    expect(planText(plan)).toBe(
      ['run_000000000000000001_1 v1 port 30000', '  0/0 node_a 8000m 65536MiB [0]', 'wake at 604800000'].join(
        '\n',
      ),
    );
    expect(world.engine.verdict(jobId(1), 0)).toEqual({ kind: 'placed', nodes: [nodeId('a')] });
    expect(world.rebuilt().stateHash()).toBe(world.engine.stateHash());
  });

  test('places a gang whole and tells the rest why it waits', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    world.submit(job(1, demand(group([gpus(4)], { tasks: 3 }))));
    world.submit(job(2, oneTask(8)));
    const plan = world.cycle();
    expect(plan.units).toHaveLength(1);
    expect(planText(plan)).toContain('behind 1 job');
    expect(planText(world.cycle())).toContain('there is room for 0 now');
    expect(world.decide().verdicts).toEqual([]);
  });
});
