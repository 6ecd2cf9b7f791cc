// What must hold of every preemption, whatever happened before.
import {
  type EngineRows,
  type IndexRanges,
  type PreemptUnit,
  parseMemberId,
  type Right,
  type RunId,
  submittedJob,
} from '@muster/model';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { arbitrarySteps, type Step, take } from './testing/arbitrary.ts';
import {
  arbitraryCrowdedSteps,
  arbitraryLentSteps,
  arbitraryScatteredSteps,
} from './testing/arbitrary-crowded.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { starts } from './testing/plan-text.ts';
import { play } from './testing/play.ts';
import { bare, referenceUnits } from './testing/reference.ts';
import { withMembers } from './testing/reference-arrays.ts';
import { wakesInTime } from './testing/wakes-in-time.ts';
import { World } from './testing/world.ts';

const tried = cases(200);
const timeout = timeoutOf(tried);

type LookAt = (world: World, unit: PreemptUnit, rows: EngineRows) => void;

function lookAtAll(world: World, look: LookAt): void {
  const plan = world.engine.fork().decide(world.nowMs);
  for (const unit of plan.units) if (unit.kind === 'preempt') look(world, unit, world.rows());
}

function holds(look: LookAt): void {
  fc.assert(
    fc.property(arbitrarySteps, (steps) => {
      play(steps, (world) => lookAtAll(world, look));
    }),
    tried,
  );
}

/** Where jobs preempt each other again and again. */
function holdsInCrowds(look: LookAt): void {
  fc.assert(
    fc.property(arbitraryCrowdedSteps, (steps) => {
      const world = new World(loadEngine);
      for (const step of steps) {
        if (step.do === 'cycle') lookAtAll(world, look);
        take(world, step);
      }
    }),
    tried,
  );
}

/** Whether the job would have a place with these runs gone and nobody else in line. */
function startsWithout(
  rows: EngineRows,
  unit: PreemptUnit,
  gone: ReadonlySet<RunId>,
  nowMs: number,
): boolean {
  const jobs = rows.jobs.filter(
    ({ job, state }) => job === unit.job || state.state !== 'queued' || state.claim !== null,
  );
  const runs = rows.runs.filter(({ run }) => !gone.has(run));
  const member = parseMemberId(unit.job);
  const arrays = rows.arrays.map((row) => {
    const own = row.job === member?.array && !rows.jobs.some(({ job }) => job === unit.job);
    const waiting: IndexRanges = own ? [[member.index, member.index]] : [];
    return { ...row, state: { ...row.state, waiting } };
  });
  const plan = loadEngine({ ...rows, arrays, jobs, runs }).decide(nowMs);
  return starts(plan).some(({ job }) => job === unit.job);
}

test('with its victims gone a job has a place, and no victim could be spared', { timeout }, () => {
  holds((world, unit, rows) => {
    const plan = world.engine.fork().decide(world.nowMs);
    // Others in the same plan take room as well, so that only a plan of one unit can be judged by itself.
    if (plan.units.length > 1) return;
    const all = new Set(unit.claim.victims.map(({ run }) => run));
    expect(startsWithout(rows, unit, all, world.nowMs)).toBe(true);
    for (const run of all) {
      const others = new Set([...all].filter((other) => other !== run));
      expect(startsWithout(rows, unit, others, world.nowMs), `without stopping ${run}`).toBe(false);
    }
  });
});

test.each([
  ['in any world', holds],
  ['in crowds', holdsInCrowds],
])('shields, budgets, the guard against circles and cooling are kept %s', { timeout }, (_, inWorlds) => {
  inWorlds(({ nowMs }, unit, rows) => {
    const { jobs, runs, policy } = withMembers(rows);
    const own = jobs.find(({ job }) => job === unit.job)!;
    const { coolingMs, windowMs } = policy.preemption;
    if (own.state.failedMs !== null) expect(own.state.failedMs + coolingMs).toBeLessThanOrEqual(nowMs);
    expect(unit.claim.victims.length).toBeGreaterThan(0);
    for (const { run: id, job, right } of unit.claim.victims) {
      const victim = jobs.find((row) => row.job === job)!;
      const run = runs.find((one) => one.run === id)!;
      const tier = policy.tiers.find(({ name }) => name === victim.tier);
      expect(run.stopping).toBe(false);
      // One that has not started has all of its least time before it.
      const beganMs = run.startedMs ?? Number.POSITIVE_INFINITY;
      if (tier && tier.minRunMs > 0) expect(beganMs + tier.minRunMs).toBeLessThanOrEqual(nowMs);
      expect(own.state.preempted.map(({ by }) => submittedJob(by))).not.toContain(submittedJob(job));
      if (right === 'shorter' || right === 'move') {
        expect(run.checkpointMs).not.toBeNull();
        continue;
      }
      const recent = victim.state.preempted.filter(({ atMs }) => atMs + windowMs > nowMs);
      expect(recent.length).toBeLessThan(tier?.preemptionsMax ?? Number.POSITIVE_INFINITY);
    }
  });
});

test.each<[string, fc.Arbitrary<readonly Step[]>, readonly Right[]]>([
  ['in crowds', arbitraryCrowdedSteps, ['priority', 'reclaim', 'shorter', 'tier']],
  ['where several projects borrow', arbitraryLentSteps, ['priority', 'reclaim', 'tier']],
  ['where room is in pieces', arbitraryScatteredSteps, ['move', 'shorter', 'tier']],
])('%s the fast engine stops whom the naive one stops, by every right', { timeout }, (_, arbitrary, all) => {
  const rights = new Set<Right>();
  fc.assert(
    fc.property(arbitrary, (steps) => {
      const world = new World(loadEngine);
      for (const step of steps) {
        if (step.do === 'cycle') {
          // Not of a fork: that would not remember what it looked for in vain.
          const plan = world.engine.decide(world.nowMs);
          const { units } = plan;
          wakesInTime(world, plan);
          expect(units.map(bare)).toEqual(referenceUnits(world.rows(), world.nowMs).map(bare));
          for (const unit of units)
            if (unit.kind === 'preempt') for (const { right } of unit.claim.victims) rights.add(right);
        }
        take(world, step);
      }
    }),
    tried,
  );
  for (const right of all) expect(rights).toContain(right);
});

test('a run is stopped for one job only, and what is claimed is claimed once', { timeout }, () => {
  fc.assert(
    fc.property(arbitrarySteps, (steps) => {
      const world = play(steps);
      const { units } = world.engine.fork().decide(world.nowMs);
      const claims = world
        .rows()
        .jobs.flatMap(({ state }) => (state.state === 'queued' && state.claim ? [state.claim] : []));
      for (const unit of units) if (unit.kind === 'preempt') claims.push(unit.claim);
      const victims = claims.flatMap((claim) => claim.victims.map(({ run }) => run));
      expect(new Set(victims).size).toBe(victims.length);
      const whole = claims.flatMap(({ tasks }) =>
        tasks
          .filter(({ deviceMilli }) => deviceMilli === 1000)
          .flatMap(({ node, devices }) => devices.map((index) => `${node} ${index}`)),
      );
      expect(new Set(whole).size).toBe(whole.length);
    }),
    tried,
  );
});
