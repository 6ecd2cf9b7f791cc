// The engine with its feed: every server has one. It tails the log, answers `why` at a stated sequence, and, while this
// server leads, runs scheduling cycles. In production it lives in a worker thread with its own connection, so that no
// decision blocks the API; the simulator calls it inline.
import type { Engine, JobRequest, LoadEngine } from '@muster/engine';
import type { JobId } from '@muster/model';
import type { Store } from '@muster/store';
import type { Explained } from './control-plane.ts';
import { type CycleReport, catchUp, cycle, LogGap } from './cycle.ts';
import { type Loop, startLoop } from './loop.ts';
import type { World } from './world.ts';

export interface BrainDeps {
  readonly world: World;
  readonly store: Pick<Store, 'eventsSince' | 'nowMs' | 'commitPlan' | 'loadEngine' | 'onEvents'>;
  readonly load: LoadEngine;
  readonly onBug: (error: unknown) => void;
}

export interface BrainStatus {
  readonly sequence: number;
  readonly cycles: number;
  readonly placements: number;
  readonly lastCycleMs: number | null;
}

export interface Brain {
  /** The epoch to decide with, or null while another server leads. */
  lead(epoch: number | null): void;
  explain(job: JobId, atLeast: number): Promise<Explained>;
  consider(request: JobRequest): Promise<Explained>;
  status(): BrainStatus;
  stop(): Promise<void>;
}

/** The safety net under the event-driven path: a lost hint costs at most this. */
const sweepMs = 1000;
/** Plans that are dropped whole again and again mean that engine and rows disagree: rebuild from rows. */
const fruitlessCyclesMax = 5;
const answerWithinMs = 5000;

export async function startBrain({ world, store, load, onBug }: BrainDeps): Promise<Brain> {
  let engine: Engine = load(await store.loadEngine());
  let epoch: number | null = null;
  let lastNowMs = 0;
  let wakeAtMs: number | null = null;
  let fruitless = 0;
  let dirty = true;
  let status = { cycles: 0, placements: 0, lastCycleMs: null as number | null };
  const waiting = new Set<() => void>();

  async function step(): Promise<number> {
    try {
      if (await catchUp(engine, store)) dirty = true;
    } catch (error) {
      if (!(error instanceof LogGap)) throw error;
      world.log.warn({ sequence: engine.sequence }, error.message);
      await rebuild();
    }
    for (const look of [...waiting]) look();
    if (epoch === null) return sweepMs;
    const dueMs = wakeAtMs === null ? null : wakeAtMs - (await store.nowMs());
    if (!dirty && (dueMs === null || dueMs > 0)) return Math.min(sweepMs, dueMs ?? sweepMs);
    return decide(epoch);
  }

  async function decide(leading: number): Promise<number> {
    dirty = false;
    const startedMs = world.clock.monotonicMs();
    const report = await cycle({ epoch: leading, engine, store, lastNowMs });
    const applied = note(report);
    status = {
      cycles: status.cycles + 1,
      placements: status.placements + applied,
      lastCycleMs: world.clock.monotonicMs() - startedMs,
    };
    return afterCycle(report, applied);
  }

  function note({ plan, committed }: CycleReport): number {
    lastNowMs = plan.nowMs;
    wakeAtMs = plan.wakeAtMs;
    return committed?.outcome === 'committed' ? committed.value.applied.length : 0;
  }

  async function afterCycle({ plan, committed }: CycleReport, applied: number): Promise<number> {
    if (committed?.outcome === 'refused') {
      // Another server leads, or the policy moved; the leader loop and the log will say which.
      if (committed.refusal === 'stale-epoch') epoch = null;
      else dirty = true;
      return sweepMs;
    }
    if (plan.units.length === 0) return sweepMs;
    // What was committed is in the log now, whether or not we heard the answer: look before deciding again.
    dirty = true;
    fruitless = applied > 0 ? 0 : fruitless + 1;
    if (fruitless === 0) return 0;
    if (fruitless >= fruitlessCyclesMax) {
      world.log.warn({ cycles: fruitless }, 'no plan could be committed; rebuilding the engine from rows');
      await rebuild();
    }
    return Math.min(sweepMs, 10 * 2 ** fruitless);
  }

  async function rebuild(): Promise<void> {
    engine = load(await store.loadEngine());
    fruitless = 0;
    dirty = true;
  }

  const loop: Loop = startLoop(world, { name: 'cycle', step, onBug });
  const endHints = store.onEvents(() => loop.wake());

  /** Resolves once the engine stands at the sequence, or after a bound: the answer says where it stands. */
  function reached(atLeast: number): Promise<void> {
    if (engine.sequence >= atLeast) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        waiting.delete(look);
        resolve();
      };
      const cancel = world.timers.after(answerWithinMs, done);
      const look = (): void => {
        if (engine.sequence >= atLeast) done();
      };
      waiting.add(look);
      loop.wake();
    });
  }

  return {
    lead(next) {
      if (next !== epoch) dirty = true;
      epoch = next;
      loop.wake();
    },
    async explain(job, atLeast) {
      await reached(atLeast);
      const nowMs = Math.max(lastNowMs, await store.nowMs());
      return { sequence: engine.sequence, verdict: engine.explain(job, nowMs) };
    },
    async consider(request) {
      const nowMs = Math.max(lastNowMs, await store.nowMs());
      return { sequence: engine.sequence, verdict: engine.consider(request, nowMs) };
    },
    status: () => ({ sequence: engine.sequence, ...status }),
    async stop() {
      endHints();
      await loop.stop();
    },
  };
}
