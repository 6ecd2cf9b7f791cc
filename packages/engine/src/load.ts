// How an engine is made: from rows read in one snapshot, by the same steps that events take. Rebuilt = live.
import {
  type EngineRows,
  type Explanation,
  type JobId,
  type Ledger,
  type LogEvent,
  type Plan,
  parseMemberId,
  type Score,
  type Verdict,
  type WhatIf,
} from '@muster/model';
import { apply, factsOf } from './apply.ts';
import { lineUp } from './arrays.ts';
import type { Engine, JobRequest } from './engine.ts';
import { consider, explain, plannedStarts, toldOf, verdictOf } from './explain.ts';
import { held, placed } from './jobs.ts';
import { decide } from './make-plan.ts';
import { compareText } from './order.ts';
import { makePool } from './pool.ts';
import { ledger } from './quota-ledger.ts';
import { rowsOf } from './rows.ts';
import { scoreOf } from './score.ts';
import { copyState, emptyState, forget, holdClaim, runUses, type State, startRun } from './state.ts';
import { stateHash } from './state-hash.ts';
import { whatIf } from './what-if.ts';

export function loadEngine(rows: EngineRows): Engine {
  return engineOf(loadState(rows));
}

export function loadState(rows: EngineRows): State {
  const state = emptyState(rows);
  for (const node of rows.nodes.toSorted((a, b) => compareText(a.node, b.node)))
    if (node.state !== 'removed') {
      state.fleets.live.put(node);
      state.projects.addNode(node, 1);
    }
  for (const row of rows.arrays) loadArray(state, row);
  for (const row of rows.jobs.toSorted((a, b) => a.submittedSequence - b.submittedSequence))
    loadJob(state, row);
  for (const pool of state.jobs.pools.values()) lineUp(state, pool);
  for (const run of rows.runs) startRun(state, run, null);
  for (const { job, state: row } of rows.jobs)
    if (row.state === 'queued' && row.claim) holdClaim(state, state.jobs.slotOf(job), row.claim);
  state.projects.loadUsage(rows.usage);
  state.projects.countUsers(runUses(state));
  return state;
}

function loadArray({ jobs, queue }: State, row: EngineRows['arrays'][number]): void {
  const array = jobs.add(row.job, row.submittedSequence, row.submittedMs);
  const { state } = row;
  jobs.version[array] = row.version;
  jobs.addPool(makePool(array, row.array, state.waiting));
  if ('sinceMs' in state) jobs.sinceMs[array] = state.sinceMs;
  if (state.state === 'held') jobs.setHeldBy(array, state.by);
  queue.enter(array, factsOf(row), row.demand);
}

/** Of an array that is not ended. */
function loadMember({ jobs }: State, job: number, row: EngineRows['jobs'][number]): void {
  const member = parseMemberId(row.job);
  if (!member) return;
  const array = jobs.slotOf(member.array);
  const pool = jobs.pools.get(array)!;
  jobs.array[job] = array;
  jobs.index[job] = member.index;
  if (row.state.state === 'queued' && row.state.claim === null) pool.again.add(job);
  else pool.out++;
  jobs.sinceMs[job] = Math.max(jobs.sinceMs[job]!, jobs.sinceMs[array]!);
}

function loadJob(all: State, row: EngineRows['jobs'][number]): void {
  const { jobs, queue, clockMs } = all;
  const job = jobs.add(row.job, row.submittedSequence, row.submittedMs);
  const { state } = row;
  jobs.version[job] = row.version;
  jobs.attempt[job] = state.attempt;
  jobs.setPast(job, state);
  if ('notBeforeMs' in state) {
    jobs.notBeforeMs[job] = state.notBeforeMs;
    jobs.sinceMs[job] = state.sinceMs;
  }
  loadMember(all, job, row);
  queue.enter(job, factsOf(row), row.demand);
  if (state.state === 'held') {
    jobs.setHeldBy(job, state.by);
    queue.unqueue(job, held);
  } else if (state.state === 'queued') queue.queue(job, clockMs);
  else queue.unqueue(job, placed);
}

function engineOf(state: State): Engine {
  return {
    get sequence(): number {
      return state.sequence;
    },
    apply: (event: LogEvent): void => apply(state, event),
    decide: (nowMs: number): Plan => decide(state, nowMs),
    explain: (job: JobId, nowMs: number): Explanation | null => explain(state, job, nowMs),
    verdict: (job: JobId, nowMs: number): Verdict | null => verdictOf(state, job, nowMs),
    told: (job: JobId): Verdict | null => toldOf(state, job),
    score: (request, known, nowMs): Score => scoreOf(state, request, known, nowMs),
    consider: (request: JobRequest, nowMs: number): Explanation => consider(state, request, nowMs),
    whatIf: (changes, nowMs, cyclesMax): WhatIf => whatIf(state, changes, nowMs, cyclesMax),
    ledger: (nowMs: number): Ledger => ledger(state, nowMs),
    planned: (nowMs: number) => plannedStarts(state, nowMs),
    fork: (): Engine => engineOf(copyState(state)),
    forget: (): void => forget(state),
    rows: (): EngineRows => rowsOf(state),
    stateHash: (): string => stateHash(state),
  };
}
