// Ageing: whoever waits in line and could run does, however many come after it with a higher tier or priority, under every mode
// of backfill that keeps room (with `skip` nobody's room is kept, by name).
import { defaultPolicy, type JobDemand, type Policy } from '@muster/model';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, jobId, node, oneTask } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const tried = cases(60);
const timeout = timeoutOf(tried);
const starvesAfterMs = 100;
const durationsMs = [5, 20, 50];
const longestMs = Math.max(...durationsMs);

interface Arrival {
  readonly asks: JobDemand;
  readonly tier: string;
  readonly priority: number;
  readonly project: string;
  readonly durationMs: number;
}

const arbitraryAsk: fc.Arbitrary<JobDemand> = fc.oneof(
  fc.constantFrom(1, 2, 4, 0.5).map((count) => oneTask(count)),
  fc
    .record({ count: fc.constantFrom(1, 2, 4), tasks: fc.constantFrom(2, 3), exclusive: fc.boolean() })
    .map(({ count, tasks, exclusive }) => demand(group([gpus(count)], { tasks }), { exclusive })),
  fc.constantFrom('A100', 'H100').map((model) => oneTask(4, model)),
  fc.constant(
    demand(group([gpus(2)], { tasks: 2 }), { topology: { level: 'node', mode: 'required' } as const }),
  ),
);

const arbitraryArrival: fc.Arbitrary<Arrival> = fc.record({
  asks: arbitraryAsk,
  tier: fc.constantFrom('standard', 'critical', 'critical'),
  priority: fc.constantFrom(0, 5, 50),
  project: fc.constantFrom('p', 'q', 'q/a'),
  durationMs: fc.constantFrom(...durationsMs),
});

const arbitraryPolicy: fc.Arbitrary<Policy> = fc
  .record({ mode: fc.constantFrom('easy' as const, 'conservative', 'strict'), depth: fc.constantFrom(1, 3) })
  .map((backfill) => {
    const standard = { ...defaultPolicy.tiers[0]!, name: 'standard', rank: 1, preempts: [], starvesAfterMs };
    const critical = { ...standard, name: 'critical', rank: 2, starvesAfterMs: null };
    return { ...defaultPolicy, tiers: [standard, critical], backfill, ageing: { pointMs: 10 } };
  });

const arbitraryNodes = fc
  .array(fc.constantFrom('A100', 'H100'), { minLength: 1, maxLength: 3 })
  .map((models) => models.map((model, i) => node(`n${i}`, { devices: devices(4, model) })));

/** When the job started, while others keep coming for ever; null when it had not by `untilMs`. */
function startOf(id: string, world: World, stream: readonly Arrival[], untilMs: number): number | null {
  const endsMs = new Map<Parameters<World['finish']>[0], number>();
  for (let n = 0; world.nowMs <= untilMs; n++) {
    const { asks, ...facts } = stream[n % stream.length]!;
    world.submit(job(1000 + n, asks, { ...facts, submittedMs: world.nowMs }));
    for (let plan = world.cycle(); plan.units.length > 0; plan = world.cycle())
      for (const unit of starts(plan)) {
        if (unit.job === id) return world.nowMs;
        world.running(unit.run);
        endsMs.set(unit.run, world.nowMs + world.jobs.get(unit.job)!.durationMs!);
      }
    world.nowMs += 5;
    for (const [run, endMs] of endsMs) {
      if (endMs > world.nowMs) continue;
      endsMs.delete(run);
      world.finish(run);
    }
  }
  return null;
}

test('a job that could run alone starts, however many keep coming with a higher tier or priority', {
  timeout,
}, () => {
  fc.assert(
    fc.property(
      arbitraryNodes,
      arbitraryPolicy,
      arbitraryAsk,
      fc.array(arbitraryArrival, { maxLength: 3 }),
      fc.array(arbitraryArrival, { minLength: 1, maxLength: 6 }),
      (nodes, policy, asks, before, stream) => {
        const facts = job(500, asks, { project: 'p', durationMs: 20, submittedMs: 1000 });
        const alone = new World(loadEngine, ...nodes);
        alone.submit(facts);
        fc.pre(alone.decide().units.length > 0);
        const world = new World(loadEngine, ...nodes);
        world.setPolicy(policy);
        for (const [i, { asks: ahead, ...rest }] of before.entries())
          world.submit(job(1 + i, ahead, { ...rest, submittedMs: world.nowMs }));
        world.submit(facts);
        // Those before it may starve before it, and each waits for what runs then; time passes in steps of 5 ms.
        const boundMs = world.nowMs + starvesAfterMs + (before.length + 1) * (longestMs + 5) + 5;
        expect(startOf(jobId(500), world, stream, boundMs)).not.toBeNull();
      },
    ),
    tried,
  );
});
