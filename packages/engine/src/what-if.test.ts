import type { JobId, Plan, Verdict } from '@muster/model';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { arbitrarySteps, take } from './testing/arbitrary.ts';
import { demand, devices, gpus, group, job, jobId, node, nodeId, oneTask } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { World } from './testing/world.ts';

const cyclesMax = 50;
const tried = cases(60);
const timeout = timeoutOf(tried);

const codeOf = (verdict: Verdict | null): string =>
  verdict === null || verdict.kind === 'placed' ? 'placed' : verdict.reasons[0]!.code;

/** Nothing more happens in it by itself. */
function quiet(world: World): void {
  while (cycle(world).units.length > 0);
}

/** Victims end at once. */
function cycle(world: World): Plan {
  const plan = world.cycle();
  for (const unit of plan.units)
    if (unit.kind === 'preempt')
      for (const { run } of unit.claim.victims) if (world.runs.has(run)) world.preempted(run);
  return plan;
}

/** Asks what a change would do, makes it, and answers with both. */
function askAndDo(world: World, change: () => void) {
  const before = world.engine.fork();
  const waited = new Map<JobId, string>();
  for (const [id, { state }] of world.jobs)
    if (state.state === 'queued') waited.set(id, codeOf(before.verdict(id, world.nowMs)));
  const hash = before.stateHash();
  const at = world.log.length;
  change();
  const bodies = world.log.slice(at).map(({ body }) => body);
  const answer = before.whatIf(bodies, world.nowMs, cyclesMax);
  expect(before.stateHash(), 'asking changes nothing').toBe(hash);
  expect(before.whatIf(bodies, world.nowMs, cyclesMax), 'asked twice, answered alike').toEqual(answer);
  // A job that starts, is preempted and starts again is told once, where it is in the end.
  const started = new Map<JobId, readonly string[]>();
  for (let plan = cycle(world); plan.units.length > 0; plan = cycle(world))
    for (const unit of plan.units)
      if (unit.kind === 'start')
        started.set(unit.job, [...new Set(unit.tasks.map((task) => world.nodes.get(task.node)!.name))]);
  return { answer, started: [...started].sort(), waited };
}

describe('what if', { timeout }, () => {
  test('on a quiet system the answer is what then happens', () => {
    fc.assert(
      fc.property(arbitrarySteps, fc.nat(60), (steps, at) => {
        const world = new World(loadEngine);
        for (const step of steps.slice(0, at)) take(world, step);
        quiet(world);
        for (const step of steps.slice(at)) {
          if (step.do === 'cycle' || step.do === 'wait') continue;
          const { answer, started, waited } = askAndDo(world, () => take(world, step));
          expect(answer.settled).toBe(true);
          expect(answer.starts.map((start) => [start.job, start.nodes])).toEqual(started);
          expect([answer.startsNot, answer.moves]).toEqual([[], []]);
          for (const { job: id, after } of answer.verdicts)
            expect(codeOf(world.engine.verdict(id, world.nowMs))).toBe(codeOf(after));
          for (const [id, { state, project }] of world.jobs) {
            const now = codeOf(world.engine.verdict(id, world.nowMs));
            if (state.state !== 'queued' || now === 'not-before' || !waited.has(id)) continue;
            if (waited.get(id) === now || waited.get(id) === 'not-before') continue;
            const told = answer.verdicts.map((verdict) => [verdict.project, codeOf(verdict.after)]);
            expect(told).toContainEqual([project, now]);
          }
        }
      }),
      tried,
    );
  });

  test('a drain keeps from starting what waits for the node, and what runs goes on', () => {
    const world = new World(loadEngine, node('a'), node('b', { devices: devices(4) }));
    world.submit(job(1, oneTask(8)));
    quiet(world);
    world.submit(job(2, oneTask(4)));
    const drain = { by: 'ada', reason: 'repair', sinceMs: 0 };
    const asked = world.engine.whatIf(
      [{ kind: 'node.drained', node: nodeId('b'), name: 'b', drain }],
      world.nowMs,
      cyclesMax,
    );
    expect(asked).toMatchObject({
      starts: [],
      startsNot: [{ job: jobId(2), project: 'research', nodes: ['b'] }],
      stops: [],
      verdicts: [{ job: jobId(2), before: null, after: { reasons: [{ code: 'no-room' }] } }],
    });
  });

  test('the loss of a node: what ran there waits or moves, and what became impossible says so', () => {
    const world = new World(loadEngine, node('a'), node('b', { devices: devices(8, 'A100') }));
    world.submit(job(1, oneTask(2, 'H100')));
    quiet(world);
    world.submit(job(2, demand(group([gpus(8, 'H100')]))));
    quiet(world);
    const { answer } = askAndDo(world, () => {
      world.requeue([...world.runs.keys()][0]!);
      world.setNode(nodeId('a'), 'lost');
    });
    expect(answer.stops).toMatchObject([{ job: jobId(1), requeued: true }]);
    expect(answer.starts).toEqual([]);
    expect(answer.verdicts.map(({ job: id, before, after }) => [id, codeOf(before), codeOf(after)])).toEqual([
      [jobId(1), 'placed', 'no-node-fits'],
      [jobId(2), 'no-room', 'no-node-fits'],
    ]);
  });

  test('a look that is cut short says so', () => {
    const world = new World(loadEngine, node('a'));
    for (let n = 1; n <= 3; n++) world.submit(job(n, oneTask(1)));
    expect(world.engine.whatIf([], world.nowMs, 1)).toMatchObject({ settled: false, cycles: 1, starts: [] });
    expect(world.engine.whatIf([], world.nowMs, 2)).toMatchObject({ settled: true, cycles: 2 });
  });
});
