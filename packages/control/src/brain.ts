// The engine with its feed: every server has one. It tails the log, answers `why` at a stated sequence, and, while this
// server leads, runs scheduling cycles. In production it lives in a worker thread with its own connection, so that no
// decision blocks the API; the simulator calls it inline.
import type { Engine, JobRequest, LoadEngine } from '@muster/engine';
import type { JobId, Ledger, PlannedJob, Verdict } from '@muster/model';
import type { Store } from '@muster/store';
import type { Explained } from './control-plane.ts';
import { type CycleReport, catchUp, cycle, LogGap } from './cycle.ts';
import { Life } from './life.ts';
import { type Loop, type Rest, startLoop } from './loop.ts';
import { OneByOne } from './one-by-one.ts';
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
  /** What its cycle has failed with for a while. */
  readonly trouble: string | null;
}

export interface Brain {
  /** The epoch to decide with, or null while another server leads. */
  lead(epoch: number | null): void;
  /** A snapshot was written: what is decided next can be made again from it. */
  beginAnew(): void;
  explain(job: JobId, atLeast: number): Promise<Explained>;
  verdicts(jobs: readonly JobId[]): Promise<ReadonlyMap<JobId, Verdict>>;
  consider(request: JobRequest): Promise<Explained>;
  planned(): Promise<readonly PlannedJob[]>;
  ledger(atLeast: number): Promise<Ledger>;
  status(): BrainStatus;
  stop(): Promise<void>;
}

/** The safety net under the event-driven path: a lost hint costs at most this. */
const sweepMs = 1000;
/** So many events at once that lead to no start are a flood, mostly of submits: the next ones are looked at together. */
const floodFrom = 8;
const flooded: Rest = { restMs: 20 };
/** How long a reading of the database's clock is gone on from. */
const timeForMs = 1000;
/** How long an answer about planned starts is given again. */
const plannedForMs = 1000;
/** So many jobs of which no cycle has told anything are looked at for one answer. */
const untoldMax = 16;
/** Plans that are dropped whole again and again mean that engine and rows disagree: rebuild from rows. */
const fruitlessCyclesMax = 5;

export async function startBrain({ world, store, load, onBug }: BrainDeps): Promise<Brain> {
  let engine: Engine = load(await store.loadEngine());
  let epoch: number | null = null;
  const life = new Life();
  let lastNowMs = 0;
  let reading: { readonly nowMs: number; readonly monotonicMs: number } | null = null;
  let fruitless = 0;
  let status = { cycles: 0, placements: 0, lastCycleMs: null as number | null };

  async function step(): Promise<number | Rest> {
    try {
      if (epoch !== null) return await decide(epoch);
      const heard = await catchUp(engine, store);
      return heard < floodFrom ? sweepMs : flooded;
    } catch (error) {
      if (!(error instanceof LogGap)) throw error;
      world.log.warn({ sequence: engine.sequence }, error.message);
      await rebuild();
      return 0;
    }
  }

  async function decide(leading: number): Promise<number | Rest> {
    const startedMs = world.clock.monotonicMs();
    const report = await cycle({ epoch: leading, engine, life, store, lastNowMs });
    const value = report.committed?.outcome === 'committed' ? report.committed.value : null;
    const applied = value?.applied.length ?? 0;
    lastNowMs = report.plan.nowMs;
    if (report.committed !== null)
      status = {
        cycles: status.cycles + 1,
        placements: status.placements + applied,
        lastCycleMs: world.clock.monotonicMs() - startedMs,
      };
    // Another server leads, or this one with a newer epoch by now, which an old one's refusal says nothing about.
    const { committed } = report;
    if (committed?.outcome === 'refused' && committed.refusal === 'stale-epoch' && epoch === leading)
      epoch = null;
    return afterCycle(report, applied + (value?.claimed.length ?? 0) + (value?.released.length ?? 0));
  }

  async function afterCycle(
    { plan, committed, heard }: CycleReport,
    applied: number,
  ): Promise<number | Rest> {
    // When it is refused, the leader loop or the log will say why.
    const untilDueMs = plan.wakeAtMs === null ? sweepMs : Math.max(0, plan.wakeAtMs - plan.nowMs);
    if (plan.units.length === 0 || committed?.outcome === 'refused')
      return heard < floodFrom ? Math.min(sweepMs, untilDueMs) : flooded;
    // What was committed is in the log now, whether or not we heard the answer: look before sleeping.
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
    life.end(engine);
    fruitless = 0;
  }

  let planned: readonly PlannedJob[] = [];
  let plannedMs: number | null = null;
  const questions = new OneByOne(world.timers);
  const loop: Loop = startLoop(world, { name: 'cycle', step, onBug });
  const endHints = store.onEvents(() => loop.wake());

  /** What was committed up to the sequence is in the log; reading it here waits for no commit of a cycle. */
  async function reached(atLeast: number): Promise<void> {
    if (engine.sequence >= atLeast) return;
    try {
      await catchUp(engine, store);
    } catch (error) {
      // The loop rebuilds the engine; the answer says where it stands meanwhile.
      if (!(error instanceof LogGap)) throw error;
    }
  }

  /** The time of the answer. Where no decisions are made one is, or all that waits would be looked at for every answer. */
  async function upToNow(): Promise<number> {
    const nowMs = await timeNow();
    if (epoch === null) life.rehearse(engine, nowMs);
    return nowMs;
  }

  /** The database's time, asked once a second; a question in between adds what has passed here. */
  async function timeNow(): Promise<number> {
    const passedMs = reading === null ? timeForMs : world.clock.monotonicMs() - reading.monotonicMs;
    if (reading !== null && passedMs < timeForMs)
      return Math.max(lastNowMs, reading.nowMs + Math.floor(passedMs));
    const nowMs = await store.nowMs();
    reading = { nowMs, monotonicMs: world.clock.monotonicMs() };
    return Math.max(lastNowMs, nowMs);
  }

  return {
    lead(next) {
      epoch = next;
      loop.wake();
    },
    beginAnew: () => life.endSoon(),
    explain: (job, atLeast) =>
      questions.ask(async () => {
        await reached(atLeast);
        // First the time: while it is asked for, the engine may be rebuilt.
        const nowMs = await upToNow();
        const explanation = engine.explain(job, nowMs);
        return { sequence: engine.sequence, verdict: explanation?.verdict ?? null, explanation };
      }),
    async verdicts(asked) {
      const found = new Map<JobId, Verdict>();
      let untold: JobId[] = [];
      for (const job of asked) {
        const verdict = engine.told(job);
        if (verdict) found.set(job, verdict);
        else untold.push(job);
      }
      if (untold.length === 0) return found;
      // What came since the last cycle; every list asks, so no more than a few of them are looked at.
      untold = untold.slice(0, untoldMax);
      await questions.ask(async () => {
        const nowMs = await upToNow();
        for (const job of untold) {
          const verdict = engine.told(job) ?? engine.verdict(job, nowMs);
          if (verdict) found.set(job, verdict);
        }
      });
      return found;
    },
    consider: (request) =>
      questions.ask(async () => {
        const nowMs = await upToNow();
        const explanation = engine.consider(request, nowMs);
        return { sequence: engine.sequence, verdict: explanation.verdict, explanation };
      }),
    async planned() {
      const nowMs = await timeNow();
      // Everybody who lists jobs asks, and an answer takes a walk through the queue.
      if (plannedMs === null || nowMs - plannedMs >= plannedForMs) {
        planned = engine.planned(nowMs);
        plannedMs = nowMs;
      }
      return planned;
    },
    async ledger(atLeast) {
      await reached(atLeast);
      const nowMs = await timeNow();
      return engine.ledger(nowMs);
    },
    status: () => ({ sequence: engine.sequence, ...status, trouble: loop.trouble() }),
    async stop() {
      endHints();
      await loop.stop();
    },
  };
}
