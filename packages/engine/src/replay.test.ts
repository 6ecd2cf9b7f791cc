import { defaultPolicy, type EngineRows, type LogEvent, type Plan, type QuietDecide } from '@muster/model';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Engine } from './engine.ts';
import { loadEngine } from './load.ts';
import { decideAgain, type ReplayInput } from './replay.ts';
import { arbitrarySteps, type Step, take } from './testing/arbitrary.ts';
import { demand, gpus, group, job, jobId, node, oneTask } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { planText, starts } from './testing/plan-text.ts';
import { play, playOn } from './testing/play.ts';
import { World } from './testing/world.ts';

const tried = cases(60);
const timeout = timeoutOf(tried);

interface Logged extends ReplayInput {
  readonly hash: string;
  readonly text: string;
}

/** A world whose decisions are logged as a server logs them; plans whose commit is refused begin a new life. */
class LoggedWorld extends World {
  readonly decisions: Logged[] = [];
  #quiet: QuietDecide[] = [];
  #turn = 0;

  override decide(): Plan {
    const plan = super.decide();
    if (plan.units.length === 0 && plan.verdicts.length === 0) this.#quiet.push([plan.sequence, plan.nowMs]);
    else {
      const { sequence, nowMs, hash } = plan;
      const logged = { sequence, nowMs, hash, text: planText(plan), turn: this.#turn++, quiet: this.#quiet };
      this.decisions.push(logged);
      this.#quiet = [];
    }
    return plan;
  }

  newLife(): void {
    this.engine.forget();
    this.#turn = 0;
    this.#quiet = [];
  }

  /** A plan is made and its commit refused: it was never logged. */
  refusedCycle(): void {
    super.decide();
    this.newLife();
  }
}

type LoggedStep = Step | { readonly do: 'refused' } | { readonly do: 'life' } | { readonly do: 'ask' };

const arbitraryLoggedSteps: fc.Arbitrary<readonly LoggedStep[]> = arbitrarySteps.chain((steps) =>
  fc
    .array(fc.tuple(fc.nat(steps.length), fc.constantFrom('refused', 'life', 'ask', 'cycle', 'cycle')), {
      maxLength: 30,
      size: 'max',
    })
    .map((extra) => {
      const all: LoggedStep[] = [...steps];
      for (const [at, what] of extra)
        all.splice(at, 0, what === 'cycle' ? { do: 'cycle', dropEvery: 0 } : { do: what });
      return all;
    }),
);

/** One job at a time, another each time: an explanation tries a great deal. */
function explainOne(world: World, engine: Engine, nowMs: number): void {
  const ids = [...world.jobs.keys()];
  const id = ids[world.log.length % Math.max(1, ids.length)];
  if (id) engine.explain(id, nowMs);
}

function takeLogged(world: LoggedWorld, step: LoggedStep): void {
  if (step.do === 'refused') world.refusedCycle();
  else if (step.do === 'life') world.newLife();
  else if (step.do === 'ask') {
    // Questions come at any time, also about a later time than the next decision's.
    for (const id of world.jobs.keys()) world.engine.verdict(id, world.nowMs + 5);
  } else take(world, step);
}

function replayOne(engine: Engine, log: readonly LogEvent[], decision: ReplayInput): Plan {
  const steps = decideAgain(engine, decision);
  let step = steps.next();
  while (!step.done) step = steps.next(log.slice(engine.sequence, step.value));
  return step.value;
}

describe('for any history', { timeout }, () => {
  test('rows of the engine, sent as JSON, make an engine of the same state', () => {
    fc.assert(
      fc.property(arbitrarySteps, (steps) => {
        play(steps, ({ engine }) => {
          const rows = JSON.parse(JSON.stringify(engine.rows())) as EngineRows;
          const again = loadEngine(rows);
          expect(again.stateHash()).toBe(engine.stateHash());
          expect(again.rows()).toEqual(rows);
        });
      }),
      tried,
    );
  });

  test('an engine that forgets decides as one that is rebuilt, now and later', () => {
    fc.assert(
      fc.property(arbitrarySteps, fc.nat(60), (steps, at) => {
        const world = play(steps.slice(0, at));
        const engines = [world.engine.fork(), world.rebuilt(), loadEngine(world.engine.rows())];
        engines[0]!.forget();
        playOn(world, steps.slice(at), take, () => {
          const plans = engines.map((engine) => {
            for (const event of world.log.slice(engine.sequence)) engine.apply(event);
            const plan = engine.decide(world.nowMs);
            return `${planText(plan)} ${plan.hash}`;
          });
          expect(plans[1]).toBe(plans[0]);
          expect(plans[2]).toBe(plans[0]);
        });
      }),
      tried,
    );
  });

  test('an engine that was loaded early and only fed decides as one that is loaded now', () => {
    fc.assert(
      fc.property(arbitrarySteps, (steps) => {
        const world = new World(loadEngine);
        const early = world.engine.fork();
        playOn(world, steps, take, () => {
          for (const event of world.log.slice(early.sequence)) early.apply(event);
          explainOne(world, early, world.nowMs);
          const fed = early.fork().decide(world.nowMs);
          expect(planText(fed)).toBe(planText(world.rebuilt().decide(world.nowMs)));
        });
      }),
      tried,
    );
  });

  test('every logged decision is reproduced, from any snapshot before the life it belongs to', () => {
    fc.assert(
      fc.property(arbitraryLoggedSteps, fc.nat(60), (steps, at) => {
        const world = new LoggedWorld(loadEngine);
        let rows = world.engine.rows();
        for (const [i, step] of steps.entries()) {
          if (i === at) rows = world.engine.rows();
          takeLogged(world, step);
        }
        const engine = loadEngine(rows);
        const first = world.decisions.findIndex(
          ({ turn, sequence, quiet }) => turn === 0 && (quiet[0]?.[0] ?? sequence) >= rows.sequence,
        );
        if (first < 0) return;
        for (const logged of world.decisions.slice(first)) {
          const plan = replayOne(engine, world.log, logged);
          expect(planText(plan)).toBe(logged.text);
          expect(plan.hash).toBe(logged.hash);
        }
      }),
      tried,
    );
  });
});

test('a question does not look for those who wait for an end that is near: the decision after it wakes as without it', () => {
  const [asked, quiet] = [true, false].map((asks) => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(8), { tier: 'spot', durationMs: 300 }));
    for (const unit of starts(world.cycle())) world.running(unit.run);
    world.submit(job(2, oneTask(8)));
    expect(world.cycle().wakeAtMs).toBeLessThan(1_000_000);
    world.join(node('b'));
    if (asks) world.engine.verdict(jobId(2), world.nowMs);
    // Whoever looks for victims looks again.
    for (const run of world.runs.keys()) world.checkpoint(run);
    return world.decide();
  });
  expect(starts(asked!).map(({ job: id }) => id)).toEqual([jobId(2)]);
  expect(planText(asked!)).toBe(planText(quiet!));
});

test('a question that tries what would start a job leaves its line as it was: the decision after it wakes as without it', () => {
  const [asked, quiet] = [true, false].map((asks) => {
    const world = new World(loadEngine, node('a'));
    const runTimes = { use: 'learned', first: 'shares', stop: 'longer' } as const;
    const tiers = defaultPolicy.tiers.map((tier) => ({ ...tier, minRunMs: 500 }));
    world.setPolicy({ ...defaultPolicy, tiers, runTimes });
    const gang = demand(group([gpus(4)], { tasks: 2 }));
    for (const n of [1, 2]) world.submit(job(n, gang));
    const planned = starts(world.cycle());
    world.decide();
    for (const { run } of planned) world.running(run);
    if (asks) world.engine.explain(jobId(2), world.nowMs);
    world.submit(job(3, gang), true);
    return world.decide();
  });
  expect(quiet!.wakeAtMs).toBe(1500);
  expect(planText(asked!)).toBe(planText(quiet!));
});
