import {
  entryKey,
  type JobDemand,
  type Plan,
  type TaskPlacement,
  taskCount,
  type Verdict,
} from '@muster/model';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryDemand, arbitrarySteps, type Step, take } from './testing/arbitrary.ts';
import { job } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { planText, starts } from './testing/plan-text.ts';
import { play } from './testing/play.ts';
import { bare, referenceUnits } from './testing/reference.ts';
import { isFull, withMembers } from './testing/reference-arrays.ts';
import { brokenPromises } from './testing/topology-checker.ts';
import { wakesInTime } from './testing/wakes-in-time.ts';
import type { World } from './testing/world.ts';

const tried = cases(200);
const timeout = timeoutOf(tried);

function holds(property: (steps: readonly Step[]) => void): void {
  fc.assert(fc.property(arbitrarySteps, property), tried);
}

/** Throws when the runs that hold capacity and the plan together take more than a node has. */
function checkCapacity(world: World, plan: Plan): void {
  for (const { node, inventory } of world.nodes.values()) {
    const planned = starts(plan).flatMap((unit) => unit.tasks.filter((task) => task.node === node));
    if (planned.length === 0) continue;
    const all: TaskPlacement[] = [...planned];
    for (const run of world.runs.values()) all.push(...run.tasks.filter((task) => task.node === node));
    const sum = (amount: (task: TaskPlacement) => number) =>
      all.reduce((total, task) => total + amount(task), 0);
    expect(sum((task) => task.cpuMilli)).toBeLessThanOrEqual(inventory.cpuMilli);
    expect(sum((task) => task.memoryMib)).toBeLessThanOrEqual(inventory.memoryMib);
    const taken = new Map<number, number>();
    for (const { devices, deviceMilli } of all)
      for (const index of devices) taken.set(index, (taken.get(index) ?? 0) + deviceMilli);
    expect(Math.max(0, ...taken.values()), 'no device is sold twice').toBeLessThanOrEqual(1000);
    for (const task of planned)
      for (const index of task.devices) expect(index).toBeLessThan(inventory.devices.length);
  }
}

describe('for any history', { timeout }, () => {
  test('capacity is never exceeded and no device is sold twice', () => {
    holds((steps) => {
      play(steps, (world) => checkCapacity(world, world.engine.fork().decide(world.nowMs)));
    });
  });

  test('a gang is placed whole, once, on nodes that take work, with consecutive ranks', () => {
    holds((steps) => {
      play(steps, (world) => {
        const plan = world.engine.fork().decide(world.nowMs);
        const rows = withMembers(world.rows());
        expect(new Set(plan.units.map((unit) => unit.job)).size).toBe(plan.units.length);
        for (const unit of starts(plan)) {
          const row = rows.jobs.find((each) => each.job === unit.job)!;
          expect(row.state.state).toBe('queued');
          expect(unit.tasks).toHaveLength(taskCount(row.demand));
          expect(unit.tasks.map((task) => task.rank)).toEqual(unit.tasks.map((_, i) => i));
          for (const task of unit.tasks) {
            const { state, drain } = world.nodes.get(task.node)!;
            expect([state, drain]).toEqual(['ready', null]);
          }
        }
      });
    });
  });

  test('what topology and resources of domains promise is kept', () => {
    holds((steps) => {
      play(steps, (world) => {
        const plan = world.engine.fork().decide(world.nowMs);
        expect(brokenPromises(withMembers(world.rows()), plan)).toEqual([]);
      });
    });
  });

  test('what a job prefers never makes it wait for room', () => {
    const asked = fc.record({
      level: fc.constantFrom('rack', 'zone', 'node'),
      mode: fc.constantFrom('preferred', 'spread'),
    });
    fc.assert(
      fc.property(
        arbitrarySteps,
        arbitraryDemand,
        asked,
        fc.boolean(),
        (steps, { groups, ...rest }, topology, ofJob) => {
          const world = play(steps);
          // What a task takes of a countable resource may depend on where it goes.
          if (world.rows().policy.topology.resources.length > 0) return;
          const plain = { ...rest, groups: [{ ...groups[0]!, topology: null }], topology: null };
          const { engine, nowMs } = world;
          const codes = (demand: JobDemand) =>
            codesOf(engine.consider({ ...job(0, demand, { project: 'p' }), demand }, nowMs).verdict);
          if (codes(plain)[0] !== 'placed') return;
          const [only] = plain.groups;
          const choosy = ofJob ? { ...plain, topology } : { ...plain, groups: [{ ...only!, topology }] };
          expect(codes(choosy)).not.toContain('no-room');
        },
      ),
      tried,
    );
  });

  test('the fast engine places exactly what the naive one places', () => {
    holds((steps) => {
      play(steps, (world) => {
        const plan = world.engine.fork().decide(world.nowMs);
        expect(plan.units.map(bare)).toEqual(referenceUnits(world.rows(), world.nowMs).map(bare));
      });
    });
  });

  test('rebuilt = live: the same state hash and the same plan', () => {
    holds((steps) => {
      play(steps, (world) => {
        const rebuilt = world.rebuilt();
        expect(rebuilt.stateHash()).toBe(world.engine.stateHash());
        // Not of a fork: that would not remember what it looked for in vain.
        const live = world.engine.decide(world.nowMs);
        const fresh = rebuilt.decide(world.nowMs);
        expect(fresh.units).toEqual(live.units);
        wakesInTime(world, live);
      });
    });
  });

  test('the same events give the same plans, byte for byte', () => {
    holds((steps) => {
      const texts = [0, 1].map(() => {
        const plans: string[] = [];
        play(steps, (world) => {
          const plan = world.decide();
          plans.push(`${planText(plan)} ${plan.hash}`);
        });
        return plans;
      });
      expect(texts[0]).toEqual(texts[1]);
    });
  });

  test('deciding, explaining and considering change nothing', () => {
    fc.assert(
      fc.property(arbitrarySteps, arbitraryDemand, (steps, asked) => {
        play(steps, (world) => {
          const { engine, nowMs } = world;
          const before = engine.stateHash();
          const units = engine.decide(nowMs).units;
          for (const { job: id } of withMembers(world.rows()).jobs) engine.verdict(id, nowMs);
          engine.consider({ ...job(0, asked, { project: 'p' }), demand: asked }, nowMs);
          expect(engine.stateHash()).toBe(before);
          expect(engine.decide(nowMs).units).toEqual(units);
        });
      }),
      tried,
    );
  });

  test('what a request would be told is what the job is told once submitted', () => {
    fc.assert(
      fc.property(arbitrarySteps, arbitraryDemand, (steps, asked) => {
        const world = play(steps);
        const facts = job(9_999_999, asked, { project: 'p', priority: 3, submittedMs: world.nowMs });
        const verdict = world.engine.consider(facts, world.nowMs).verdict;
        world.submit(facts);
        expect(world.engine.verdict(facts.job, world.nowMs)).toEqual(verdict);
        const started = starts(world.decide()).some((unit) => unit.job === facts.job);
        expect(verdict.kind === 'placed').toBe(started);
      }),
      tried,
    );
  });

  test('a fork goes its own way', () => {
    holds((steps) => {
      const half = Math.floor(steps.length / 2);
      const world = play(steps.slice(0, half));
      const fork = world.engine.fork();
      const before = fork.stateHash();
      const events = world.log.length;
      for (const step of steps.slice(half)) take(world, step);
      expect(fork.stateHash()).toBe(before);
      for (const event of world.log.slice(events)) fork.apply(event);
      expect(fork.stateHash()).toBe(world.engine.stateHash());
      expect(fork.decide(world.nowMs).units).toEqual(world.decide().units);
    });
  });

  test('every waiting job has one reason, its lacks sum to the existing nodes, and no entry is told twice in a plan', () => {
    holds((steps) => {
      play(steps, (world) => {
        const { engine, nowMs } = world;
        const plan = engine.fork().decide(nowMs);
        const placed = new Set(starts(plan).map((unit) => unit.job));
        expect(new Set(plan.verdicts.map(({ entry }) => entry)).size).toBe(plan.verdicts.length);
        const existing = [...world.nodes.values()].filter(
          ({ state }) => state === 'ready' || state === 'silent',
        );
        for (const { job, state } of withMembers(world.rows()).jobs) {
          const verdict = engine.verdict(job, nowMs)!;
          const begun = placed.has(job) || state.state === 'starting' || state.state === 'running';
          expect(verdict.kind === 'placed').toBe(begun);
          if (verdict.kind === 'placed') continue;
          expect(new Set(verdict.reasons.map((each) => each.code)).size).toBeLessThanOrEqual(2);
          const reason = verdict.reasons.find((each) => 'lacks' in each);
          if (!reason) continue;
          expect(reason.nodes).toBe(existing.length);
          expect(reason.lacks.reduce((sum, { nodes }) => sum + nodes, 0)).toBe(existing.length);
          expect(reason.tasksFit).toBeLessThan(reason.tasks);
        }
      });
    });
  });

  test('once nothing more can start, every waiting entry has been told what its first job is told now', () => {
    holds((steps) => {
      const world = play(steps);
      while (world.cycle().units.length > 0);
      const rows = withMembers(world.rows());
      for (const each of rows.jobs) {
        const { job, state, ...row } = each;
        if (state.state !== 'queued' || state.notBeforeMs > world.nowMs || state.claim) continue;
        if (isFull(rows, each)) {
          expect(codesOf(world.engine.verdict(job, world.nowMs)!)).toEqual(['parallel']);
          continue;
        }
        const told = world.told.get(entryKey(row, row.demand))!;
        const now = world.engine.verdict(job, world.nowMs)!;
        expect(codesOf(told)[0]).toBe(codesOf(now)[0]);
        expect(codesOf(told)).not.toContain('behind');
      }
    });
  });
});

function codesOf(verdict: Verdict): string[] {
  return verdict.kind === 'placed' ? ['placed'] : verdict.reasons.map(({ code }) => code);
}
