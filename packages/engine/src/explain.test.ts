import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { job, jobId, node, nodeId, oneTask } from './testing/builders.ts';
import { World } from './testing/world.ts';

describe('explain', () => {
  test('knows nothing of jobs that ended or never were', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(1)));
    world.finish(world.cycle().units[0]!.run);
    expect(world.engine.verdict(jobId(1), 0)).toBeNull();
    expect(world.engine.verdict(jobId(2), 0)).toBeNull();
  });

  test('says who holds a job, until when one is delayed, and where one runs', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(1)));
    world.submit(job(2, oneTask(1)), true);
    const [unit] = world.cycle().units;
    world.running(unit!.run);
    const why = (n: number) => world.engine.verdict(jobId(n), world.nowMs);
    expect(why(1)).toEqual({ kind: 'placed', nodes: [nodeId('a')] });
    expect(why(2)).toEqual({ kind: 'waits', reasons: [{ code: 'held', by: 'ada' }] });
    world.requeue(unit!.run, 250);
    expect(why(1)).toEqual({ kind: 'waits', reasons: [{ code: 'not-before', untilMs: 1250, failures: 1 }] });
    world.nowMs = 1250;
    expect(why(1)).toEqual({ kind: 'placed', nodes: [nodeId('a')] });
  });

  test('counts who is ahead when jobs ahead take the room, in this entry and in others', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(8)));
    world.submit(job(2, oneTask(4)));
    world.submit(job(3, oneTask(4)));
    world.submit(job(4, oneTask(1), { tier: 'spot' }));
    const why = (n: number) => world.engine.verdict(jobId(n), 0);
    expect(why(1)).toEqual({ kind: 'placed', nodes: [nodeId('a')] });
    expect(why(2)).toEqual({ kind: 'waits', reasons: [{ code: 'behind', ahead: 1 }] });
    expect(why(3)).toEqual({ kind: 'waits', reasons: [{ code: 'behind', ahead: 2 }] });
    expect(why(4)).toEqual({ kind: 'waits', reasons: [{ code: 'behind', ahead: 3 }] });
  });

  test('computes counts now, where the told verdict may be older', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    for (const n of [1, 2, 3]) world.submit(job(n, oneTask(8)));
    world.cycle();
    world.cycle();
    world.drain(nodeId('b'), true);
    expect(world.engine.verdict(jobId(3), 0)).toMatchObject({
      reasons: [
        {
          nodes: 2,
          lacks: [
            { lack: 'draining', nodes: 1 },
            { lack: 'devices-busy', nodes: 1 },
          ],
        },
      ],
    });
  });
});

describe('consider', () => {
  const request = job(0, oneTask(8));

  test('says where a job would start, or who is ahead of it', () => {
    const world = new World(loadEngine, node('a'));
    expect(world.engine.consider(request, 0).verdict).toEqual({ kind: 'placed', nodes: [nodeId('a')] });
    world.submit(job(1, oneTask(1)));
    expect(world.engine.consider(request, 0).verdict).toEqual({
      kind: 'waits',
      reasons: [{ code: 'behind', ahead: 1 }],
    });
    expect(world.engine.consider({ ...request, tier: 'critical' }, 0).verdict.kind).toBe('placed');
  });

  test('leaves no trace', () => {
    const world = new World(loadEngine, node('a'));
    const before = world.engine.stateHash();
    world.engine.consider(request, 0);
    expect(world.engine.stateHash()).toBe(before);
    expect(world.decide()).toMatchObject({ units: [], verdicts: [] });
  });
});
