// One scheduling cycle: the page to read first. The brain (brain.ts) calls it whenever something changed.
import type { Engine } from '@muster/engine';
import type { Plan } from '@muster/model';
import type { Outcome, PlanCommitted, Store } from '@muster/store';
import type { Life } from './life.ts';

export interface CycleDeps {
  /** The epoch this server leads with, as its last lease renewal proved; every write re-checks it in the database. */
  readonly epoch: number;
  readonly engine: Engine;
  /** What the decision log needs beside the plan. */
  readonly life: Life;
  readonly store: Pick<Store, 'eventsSince' | 'nowMs' | 'commitPlan'>;
  /** Time of the last decision: time never goes back, across leaders either. */
  readonly lastNowMs: number;
}

export interface CycleReport {
  readonly plan: Plan;
  /** Null when there was nothing to commit. */
  readonly committed: Outcome<PlanCommitted, 'stale-epoch' | 'stale-policy'> | null;
  /** How many events it began with. */
  readonly heard: number;
}

export async function cycle({ epoch, engine, life, store, lastNowMs }: CycleDeps): Promise<CycleReport> {
  // 1. Bring the engine up to the log: only what changed since the last cycle.
  const [nowMs, heard] = await Promise.all([store.nowMs(), catchUp(engine, store)]);
  // 2. Decide. Pure, synchronous, deterministic; changes nothing. With nothing to do it costs next to nothing.
  life.enter(epoch, engine, nowMs);
  const plan = engine.decide(Math.max(lastNowMs, nowMs));
  const empty = plan.units.length === 0 && plan.verdicts.length === 0;
  if (empty && life.quiet(plan) === 'leave') return { plan, committed: null, heard };
  // 3. Commit: epoch, versions and capacity are checked again in one transaction, and the outbox rows are written with it.
  const committed = await life.commit(engine, (trace) => store.commitPlan(epoch, plan, trace));
  // 4. Dispatch reads the outbox in its own loop, at least once, keyed; what was committed comes back as events.
  return { plan, committed, heard };
}

const eventsAtOnce = 5000;

/** Answers how many events there were. A gap means the log was cut behind us: the caller rebuilds from rows. */
export async function catchUp(engine: Engine, store: Pick<Store, 'eventsSince'>): Promise<number> {
  for (let heard = 0; ; ) {
    const events = await store.eventsSince(engine.sequence, eventsAtOnce);
    for (const event of events) {
      if (event.sequence > engine.sequence + 1) throw new LogGap(engine.sequence, event.sequence);
      engine.apply(event);
    }
    heard += events.length;
    if (events.length < eventsAtOnce) return heard;
  }
}

export class LogGap extends Error {
  override readonly name = 'LogGap';

  constructor(have: number, next: number) {
    super(`the event log goes from ${have} to ${next}; the engine must be rebuilt from rows`);
  }
}
