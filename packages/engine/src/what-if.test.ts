import { type JobId, type Plan, plainQuota, type Quota, type RunId, type Verdict } from '@muster/model';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { arbitrarySteps, take } from './testing/arbitrary.ts';
import { demand, devices, gpus, group, job, jobId, node, nodeId, oneTask } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { play } from './testing/play.ts';
import { World } from './testing/world.ts';

const cyclesMax = 50;
const hour = 3_600_000;
const tried = cases(60);
const timeout = timeoutOf(tried);

const codeOf = (verdict: Verdict | null): string =>
  verdict === null || verdict.kind === 'placed' ? 'placed' : verdict.reasons[0]!.code;

/** Told to jobs that are not in line: in their backoff, or members of an array that is held or has enough of them out. */
const outOfLine = ['not-before', 'held', 'parallel'];

/** Nothing more happens in it by itself. */
function quiet(world: World): void {
  for (const _ of cyclesOf(world));
}

/** More than any of these small worlds needs: one that goes on for ever would fill all memory instead of failing. */
const settlesWithin = 1000;

/** Its plans until one does nothing. */
function* cyclesOf(world: World): IterableIterator<Plan> {
  let cycles = 0;
  for (let plan = cycle(world); plan.units.length > 0; plan = cycle(world)) {
    expect(++cycles, 'cycles until nothing happens').toBeLessThan(settlesWithin);
    yield plan;
  }
}

/** Victims end at once. */
function cycle(world: World): Plan {
  const plan = world.cycle();
  for (const unit of plan.units)
    if (unit.kind === 'preempt')
      for (const { run } of unit.claim.victims) if (world.runs.has(run)) world.preempted(run);
  return plan;
}

/** Asks what a change would do, makes it, and answers with both; null when it changed nothing. */
function askAndDo(world: World, change: () => void) {
  const before = world.engine.fork();
  const jobs = [...world.jobs];
  const at = world.log.length;
  change();
  if (world.log.length === at) return null;
  const waited = new Map<JobId, string>();
  for (const [id, { state }] of jobs)
    if (state.state === 'queued') waited.set(id, codeOf(before.verdict(id, world.nowMs)));
  const hash = before.stateHash();
  const bodies = world.log.slice(at).map(({ body }) => body);
  const answer = before.whatIf(bodies, world.nowMs, cyclesMax);
  expect(before.stateHash(), 'asking changes nothing').toBe(hash);
  expect(before.whatIf(bodies, world.nowMs, cyclesMax), 'asked twice, answered alike').toEqual(answer);
  // A job that starts, is preempted and starts again is told once, where it is in the end.
  const started = new Map<JobId, readonly string[]>();
  const preempted: RunId[] = [];
  for (const plan of cyclesOf(world))
    for (const unit of plan.units)
      if (unit.kind === 'preempt') preempted.push(...unit.claim.victims.map(({ run }) => run));
      else if (unit.kind === 'start')
        started.set(unit.job, [...new Set(unit.tasks.map((task) => world.nodes.get(task.node)!.name))]);
  return { answer, started: [...started].sort(), preempted: preempted.sort(), waited };
}

describe('what if', { timeout }, () => {
  test('on a quiet system the answer is what then happens', () => {
    fc.assert(
      fc.property(arbitrarySteps, fc.nat(60), (steps, at) => {
        const world = play(steps.slice(0, at));
        quiet(world);
        for (const [i, step] of steps.slice(at).entries()) {
          if (step.do === 'cycle' || step.do === 'wait') continue;
          // Asked about every third; the others make the system another one.
          if (i % 3 > 0) {
            take(world, step);
            quiet(world);
            continue;
          }
          const asked = askAndDo(world, () => take(world, step));
          if (!asked) continue;
          const { answer, started, preempted, waited } = asked;
          expect(answer.settled).toBe(true);
          expect(answer.starts.map((start) => [start.job, start.nodes])).toEqual(started);
          expect([answer.startsNot, answer.moves]).toEqual([[], []]);
          expect(answer.preempts.map(({ run }) => run).sort()).toEqual(preempted);
          expect(answer.spares).toEqual([]);
          for (const { job: id, after } of answer.verdicts)
            expect(codeOf(world.engine.verdict(id, world.nowMs))).toBe(codeOf(after));
          // Of a run that is stopped on the way it is told for whom, whatever its job waited for before.
          const stopped = new Set(answer.preempts.map(({ job: id }) => id));
          for (const [id, { state, project }] of world.jobs) {
            if (stopped.has(id)) continue;
            const now = codeOf(world.engine.verdict(id, world.nowMs));
            if (state.state !== 'queued' || outOfLine.includes(now) || !waited.has(id)) continue;
            if (waited.get(id) === now || outOfLine.includes(waited.get(id)!)) continue;
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
    for (const { run } of cycle(world).units) world.running(run);
    world.nowMs += hour;
    world.submit(job(2, demand(group([gpus(8, 'H100')]))));
    quiet(world);
    const { answer } = askAndDo(world, () => {
      world.requeue([...world.runs.keys()][0]!);
      world.setNode(nodeId('a'), 'lost');
    })!;
    // Two of eight devices with their cores, for the hour since it started.
    expect(answer.stops).toMatchObject([
      { job: jobId(1), requeued: true, lostMs: hour, lostMicro: 2_160_000 },
    ]);
    expect(codeOf(answer.stops[0]!.after)).toBe('no-node-fits');
    expect(answer.cost).toEqual({ lostMicro: 2_160_000, sparedMicro: 0, hourMicro: -2_000_000 });
    expect(answer.starts).toEqual([]);
    expect(answer.verdicts.map(({ job: id, before, after }) => [id, codeOf(before), codeOf(after)])).toEqual([
      [jobId(1), 'placed', 'no-node-fits'],
      [jobId(2), 'no-room', 'no-node-fits'],
    ]);
  });

  test.each([
    ['in its backoff says until when', hour, 'not-before'],
    ['in a line that waited already for the same reason says it too', 0, 'no-room'],
  ])('a job that is stopped and waits %s', (_, delayMs, code) => {
    const world = new World(loadEngine, node('a'), node('b'));
    for (let n = 1; n <= 3; n++) world.submit(job(n, oneTask(8)));
    quiet(world);
    const { answer } = askAndDo(world, () => {
      world.requeue([...world.runs.keys()][0]!, delayMs);
      world.setNode(nodeId('a'), 'lost');
    })!;
    expect(answer.verdicts).toEqual([]);
    expect(answer.stops.map(({ job: id, after }) => [id, codeOf(after)])).toEqual([[jobId(1), code]]);
  });

  test('a job that is stopped and starts elsewhere has no reason to wait', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    world.submit(job(1, oneTask(8)));
    quiet(world);
    const { answer } = askAndDo(world, () => {
      world.requeue([...world.runs.keys()][0]!);
      world.setNode(nodeId('a'), 'lost');
    })!;
    expect(answer.stops).toMatchObject([{ job: jobId(1), requeued: true, after: null }]);
    expect(answer.starts).toMatchObject([{ job: jobId(1), nodes: ['b'] }]);
  });

  /** Four spot jobs of two devices on one node, two hours old; the third saved its work half an hour ago. */
  function fullOfSpot(): World {
    const world = new World(loadEngine, node('a', { cpuMilli: 8000 }));
    for (let n = 1; n <= 4; n++) world.submit(job(n, oneTask(2), { tier: 'spot' }));
    for (const { run } of cycle(world).units) world.running(run);
    world.nowMs += 1.5 * hour;
    world.checkpoint([...world.runs.keys()][2]!);
    world.nowMs += hour / 2;
    quiet(world);
    return world;
  }

  test('a submit that preempts: who is stopped for it, what they lose, and in money', () => {
    const world = fullOfSpot();
    const facts = job(5, oneTask(3), { tier: 'standard', submittedMs: world.nowMs });
    const { answer, started } = askAndDo(world, () => world.submit(facts))!;
    // Two devices and two cores at the price of spot, for half an hour and for two hours.
    expect(answer.preempts).toMatchObject([
      { job: jobId(1), by: jobId(5), right: 'tier', lostMs: 2 * hour, lostMicro: 1_616_000 },
      { job: jobId(3), by: jobId(5), right: 'tier', lostMs: hour / 2, lostMicro: 404_000 },
    ]);
    expect(answer.starts).toEqual([
      { job: jobId(5), project: 'research', nodes: ['a'], hourMicro: 3_000_000 },
    ]);
    expect(started.map(([id]) => id)).toEqual([jobId(5)]);
    // Three devices more at the plain price, four fewer at 0.4 of it.
    expect(answer.cost).toEqual({ lostMicro: 2_020_000, sparedMicro: 0, hourMicro: 1_400_000 });
    for (const id of [1, 3])
      expect(world.jobs.get(jobId(id))?.state, 'both wait again').toMatchObject({ state: 'queued' });
  });

  test('a guarantee that lets a project reclaim, and one that spares who would have been stopped', () => {
    const world = new World(loadEngine, node('a', { cpuMilli: 8000 }));
    for (let n = 1; n <= 8; n++) world.submit(job(n, oneTask(1), { project: 'blue' }));
    for (const { run } of cycle(world).units) world.running(run);
    world.nowMs += hour;
    for (let n = 9; n <= 12; n++)
      world.submit(job(n, oneTask(1), { project: 'red', submittedMs: world.nowMs }));
    quiet(world);
    const quota = (project: string, gpu: number) => ({
      ...plainQuota(project),
      guaranteed: { gpu: gpu * 1000 },
    });
    const change = (...quotas: Quota[]) => [
      {
        kind: 'policy.changed' as const,
        version: 2,
        policy: { ...world.rows().policy, quotas },
        by: 'ada',
      },
    ];
    const asked = world.engine.whatIf(change(quota('red', 3)), world.nowMs, cyclesMax);
    expect(asked.preempts.map(({ right, lostMs, lostMicro }) => [right, lostMs, lostMicro])).toEqual(
      Array(3).fill(['reclaim', hour, 1_010_000]),
    );
    expect(asked.starts.map(({ job: id }) => id)).toEqual([jobId(9), jobId(10), jobId(11)]);
    expect(asked.cost).toEqual({ lostMicro: 3_030_000, sparedMicro: 0, hourMicro: 0 });
    // Now it is so; taking the guarantee back before anybody acted spares them.
    for (const body of change(quota('red', 3))) world.setPolicy(body.policy);
    const back = world.engine.whatIf(change(), world.nowMs, cyclesMax);
    expect(back.preempts).toEqual([]);
    expect(back.spares).toHaveLength(3);
    expect(back.cost).toEqual({ lostMicro: 0, sparedMicro: 3_030_000, hourMicro: 0 });
  });

  test('a job that would lose its claim is told what it waits for then, also beside others that waited for it already', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(8), { tier: 'spot' }));
    for (const { run } of cycle(world).units) world.running(run);
    world.nowMs += hour;
    world.submit(job(2, oneTask(8), { submittedMs: world.nowMs }));
    world.submit(job(3, oneTask(8), { submittedMs: world.nowMs }));
    world.cycle();
    world.setNode(nodeId('a'), 'silent');
    while (world.cycle().units.length > 0);
    const [victim] = world.runs.keys();
    const { answer } = askAndDo(world, () => world.finish(victim!))!;
    const codes = answer.verdicts.map(({ job: id, before, after }) => [id, codeOf(before), codeOf(after)]);
    expect(codes).toEqual([[jobId(2), 'preempting', 'no-room']]);
  });

  test('a look that is cut short says so', () => {
    const world = new World(loadEngine, node('a'));
    for (let n = 1; n <= 3; n++) world.submit(job(n, oneTask(1)));
    expect(world.engine.whatIf([], world.nowMs, 1)).toMatchObject({ settled: false, cycles: 1, starts: [] });
    expect(world.engine.whatIf([], world.nowMs, 2)).toMatchObject({ settled: true, cycles: 2 });
  });
});
