// What is told to help is tried for real here: the change is made to the rows, an engine is loaded from them and decides. And
// all single changes are tried, so that none is missed.
import {
  type AcceleratorDemand,
  type Change,
  type ChangeKind,
  type EngineRows,
  type Explanation,
  type GroupDemand,
  type JobDemand,
  type JobId,
  type Policy,
  parseMemberId,
  type Quota,
  type RunId,
  resolveAmount,
  type TopologyDemand,
  type Verdict,
} from '@muster/model';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { arbitrarySteps, type Step, take } from './testing/arbitrary.ts';
import { demand, group, job } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { play, playOn } from './testing/play.ts';
import { isFresh, isFull, withMembers } from './testing/reference-arrays.ts';
import { World } from './testing/world.ts';

const tried = cases(120);
const timeout = timeoutOf(tried);
const arbitraryMode = fc.constantFrom<Policy['backfill']['mode'][]>('skip', 'easy', 'conservative', 'strict');

type JobRow = EngineRows['jobs'][number];

/** How many runs are stopped for the job in this cycle; null when it neither starts nor gets a claim. */
function victims(rows: EngineRows, nowMs: number, job: JobId): number | null {
  const unit = loadEngine(rows)
    .decide(nowMs)
    .units.find((each) => each.job === job);
  if (unit?.kind === 'start') return 0;
  return unit?.kind === 'preempt' ? unit.claim.victims.length : null;
}

function starts(rows: EngineRows, nowMs: number, job: JobId): boolean {
  return victims(rows, nowMs, job) === 0;
}

function withJob(rows: EngineRows, job: JobId, change: (row: JobRow) => JobRow): EngineRows {
  return { ...rows, jobs: rows.jobs.map((row) => (row.job === job ? change(row) : row)) };
}

function withCeiling(
  rows: EngineRows,
  { project, user, key, to }: Extract<ChangeKind, { kind: 'ceiling' }>,
): EngineRows {
  const which = user === null ? 'ceiling' : 'userCeiling';
  const quotas = rows.policy.quotas.map((quota): Quota => {
    if (quota.project !== project) return quota;
    const { [key]: _, ...rest } = quota[which];
    return { ...quota, [which]: to === null ? rest : { ...rest, [key]: to } };
  });
  return { ...rows, policy: { ...rows.policy, quotas } };
}

function withGroup(demand: JobDemand, name: string, change: (group: GroupDemand) => GroupDemand): JobDemand {
  return { ...demand, groups: demand.groups.map((group) => (group.name === name ? change(group) : group)) };
}

function withAlternative(
  demand: JobDemand,
  change: { readonly group: string; readonly alternative: number },
  other: Partial<AcceleratorDemand>,
): JobDemand {
  return withGroup(demand, change.group, (group) => ({
    ...group,
    accelerators: group.accelerators.map((each, i) =>
      i === change.alternative ? { ...each, ...other } : each,
    ),
  }));
}

const level = (topology: TopologyDemand | null, to: string | null): TopologyDemand | null =>
  to === null ? null : { ...topology!, level: to };

const fieldOf = { memory: 'memoryMib', interconnect: 'interconnect', generation: 'generation' } as const;

/** The demand after a change of the job itself. */
function changed(demand: JobDemand, change: ChangeKind): JobDemand {
  switch (change.kind) {
    case 'tasks':
      return withGroup(demand, change.group, (group) => ({ ...group, tasks: change.to }));
    case 'model':
      return withAlternative(demand, change, { model: change.to });
    case 'devices':
      return withAlternative(demand, change, { milli: change.to * 1000 });
    case 'property':
      return withAlternative(demand, change, { [fieldOf[change.property]]: null });
    case 'constraint':
      return { ...demand, constraints: demand.constraints.filter((_, i) => i !== change.index) };
    case 'topology':
      return change.group === null
        ? { ...demand, topology: level(demand.topology, change.to) }
        : withGroup(demand, change.group, (group) => ({
            ...group,
            topology: level(group.topology, change.to),
          }));
    case 'near':
      return withGroup(demand, change.group, (group) => ({
        ...group,
        near: change.to === null ? null : { ...group.near!, level: change.to },
      }));
    case 'exclusive':
      return { ...demand, exclusive: false };
    default:
      return demand;
  }
}

function applied(rows: EngineRows, job: JobId, change: ChangeKind): EngineRows {
  if (change.kind === 'ceiling') return withCeiling(rows, change);
  return withJob(rows, job, (row) => ({
    ...row,
    tier: change.kind === 'tier' ? change.to : row.tier,
    durationMs: change.kind === 'time-limit' ? change.toMs : row.durationMs,
    demand: changed(row.demand, change),
  }));
}

/** Every single change, grouped so that the first of a list that works is the one to be told. */
function* allChanges(rows: EngineRows, row: JobRow): IterableIterator<ChangeKind[]> {
  const { demand, tier } = row;
  const { levels } = rows.policy.topology;
  const models = new Map<string, Set<string>>();
  for (const { state, inventory } of rows.nodes)
    if (state === 'ready' || state === 'silent')
      for (const { kind, model } of inventory.devices)
        models.set(kind, (models.get(kind) ?? new Set()).add(model));
  const down = (from: number): number[] => Array.from({ length: from - 1 }, (_, i) => from - 1 - i);
  const wider = ({ level: name, mode }: TopologyDemand): (string | null)[] => {
    const all: string[] = [...levels, 'node'];
    return mode === 'required' && all.includes(name)
      ? [...all.slice(0, all.indexOf(name)).reverse(), null]
      : [null];
  };
  for (const { name, tasks, topology, near, accelerators } of demand.groups) {
    yield down(tasks).map((to) => ({ kind: 'tasks', group: name, from: tasks, to }));
    for (const [alternative, wanted] of accelerators.entries()) {
      const of = { group: name, alternative };
      const { model: from } = wanted;
      for (const to of from === null ? [] : (models.get(wanted.kind) ?? []))
        if (to !== from) yield [{ kind: 'model', ...of, from: from!, to }];
      if (wanted.milli > 1000)
        yield down(wanted.milli / 1000).map((to) => ({
          kind: 'devices',
          ...of,
          from: wanted.milli / 1000,
          to,
        }));
      for (const property of ['memory', 'interconnect', 'generation'] as const)
        if (wanted[fieldOf[property]] !== null) yield [{ kind: 'property', ...of, property }];
    }
    if (topology)
      yield wider(topology).map((to) => ({ kind: 'topology', group: name, from: topology.level, to }));
    if (near)
      yield wider({ ...near, mode: 'required' }).map((to) => ({
        kind: 'near',
        group: name,
        from: near.level,
        to,
      }));
  }
  for (const [index, rule] of demand.constraints.entries()) yield [{ kind: 'constraint', index, rule }];
  const { topology } = demand;
  if (topology)
    yield wider(topology).map((to) => ({ kind: 'topology', group: null, from: topology.level, to }));
  if (demand.exclusive) yield [{ kind: 'exclusive' }];
  for (const { name: to } of rows.policy.tiers) if (to !== tier) yield [{ kind: 'tier', from: tier, to }];
}

/** How long a job without a time limit is taken to run, so that all limits below can be tried. */
const longMs = 12_000;

/** Whether there is only room that is kept for another job, at its time. */
function isKept(verdict: Verdict): boolean {
  if (verdict.kind !== 'waits') return false;
  return verdict.reasons.some((reason) => reason.code === 'reserved' && reason.startMs !== null);
}

/** A time limit, where the step has one, that is long enough to be told. */
function inSeconds(step: Step): Step {
  return step.do === 'submit' && step.durationMs !== null
    ? { ...step, durationMs: step.durationMs * 30 }
    : step;
}

/** From the longest. */
function secondsBelow(ms: number): number[] {
  return Array.from({ length: Math.ceil(ms / 1000) - 1 }, (_, i) => (Math.ceil(ms / 1000) - 1 - i) * 1000);
}

/** Ceilings above the job, each taken away. */
function* allCeilings(policy: Policy, { project, user }: JobRow): IterableIterator<ChangeKind> {
  for (const quota of policy.quotas) {
    if (project !== quota.project && !project.startsWith(`${quota.project}/`)) continue;
    for (const [which, who] of [
      ['ceiling', null],
      ['userCeiling', user],
    ] as const)
      for (const [key, amount] of Object.entries(quota[which]))
        yield {
          kind: 'ceiling',
          project: quota.project,
          user: who,
          key,
          from: resolveAmount(amount, 0),
          to: null,
        };
  }
}

const name = (change: ChangeKind): string => {
  if (change.kind === 'ceiling') return `ceiling ${change.project} ${change.user} ${change.key}`;
  const { victims: _, ...rest } = change as Change;
  return JSON.stringify(rest);
};

function expectedChanges(rows: EngineRows, nowMs: number, row: JobRow): string[] {
  const found: string[] = [];
  for (const ladder of allChanges(rows, row)) {
    const works = ladder.find((change) => {
      const stopped = victims(applied(rows, row.job, change), nowMs, row.job);
      // Another tier may give the right to stop others.
      return stopped === 0 || (change.kind === 'tier' && stopped !== null);
    });
    if (works) found.push(name(works));
  }
  return found.sort();
}

/** Ceilings that help when they are lifted. One may also help when it is raised only as far as this job needs. */
function liftable(rows: EngineRows, nowMs: number, row: JobRow): string[] {
  return [...allCeilings(rows.policy, row)]
    .filter((change) => starts(applied(rows, row.job, change), nowMs, row.job))
    .map(name);
}

function expectedEnds(world: World, job: JobId): RunId[] {
  return [...world.runs.values()]
    .filter((run) => {
      const fork = world.engine.fork();
      const end = (body: Parameters<typeof world.tell>[0]) =>
        fork.apply({ sequence: fork.sequence + 1, atMs: world.nowMs, body });
      const result = { outcome: 'succeeded' } as const;
      end({ kind: 'run.ended', run: run.run, job: run.job, result, endedMs: world.nowMs });
      end({ kind: 'job.ended', job: run.job, version: world.jobs.get(run.job)!.version + 1, result });
      return starts(fork.rows(), world.nowMs, job);
    })
    .map(({ run }) => run);
}

/** Every waiting job of the world that does not start in this cycle. */
function waiting(world: World): [JobRow, Explanation][] {
  const found: [JobRow, Explanation][] = [];
  for (const row of world.rows().jobs) {
    const { state } = row;
    if (state.state !== 'queued' || state.notBeforeMs > world.nowMs || state.claim) continue;
    const explanation = world.engine.explain(row.job, world.nowMs)!;
    if (explanation.verdict.kind !== 'placed') found.push([row, explanation]);
  }
  return found;
}

describe('for any history', { timeout }, () => {
  test('every change that is told works when it is made', () => {
    fc.assert(
      fc.property(arbitrarySteps, (steps) => {
        const world = play(steps);
        const rows = world.rows();
        for (const [row, { changes, complete }] of waiting(world)) {
          expect(complete).toBe(true);
          for (const change of changes)
            expect(victims(applied(rows, row.job, change), world.nowMs, row.job), name(change)).toBe(
              change.victims,
            );
        }
      }),
      tried,
    );
  });

  test('under every mode of backfill no change is missed', () => {
    fc.assert(
      fc.property(arbitrarySteps, arbitraryMode, (steps, mode) => {
        const world = play(steps);
        world.setPolicy({ ...world.rows().policy, backfill: { mode, depth: 3 } });
        world.decide();
        const rows = world.rows();
        for (const [row, { changes }] of waiting(world)) {
          const told = changes.filter(({ kind }) => kind !== 'ceiling' && kind !== 'time-limit').map(name);
          expect(told.sort()).toEqual(expectedChanges(rows, world.nowMs, row));
          const raised = changes.filter(({ kind }) => kind === 'ceiling').map(name);
          for (const each of liftable(rows, world.nowMs, row)) expect(raised).toContain(each);
        }
      }),
      tried,
    );
  });

  test('under every mode of backfill the time limit that is told is the longest that starts it', () => {
    fc.assert(
      fc.property(arbitrarySteps, arbitraryMode, (steps, mode) => {
        const world = play(steps.map(inSeconds));
        const { policy } = world.rows();
        const tiers = policy.tiers.map((tier) => ({ ...tier, durationMs: longMs }));
        world.setPolicy({ ...policy, tiers, quotas: [], backfill: { mode, depth: 3 } });
        // One that wants all nodes for itself, so that much is kept for it.
        const tasks = [...world.nodes.values()].filter(
          ({ state, drain }) => state === 'ready' && !drain,
        ).length;
        const all = demand(group([], { tasks: Math.max(1, tasks), cpuMilli: 1000 }), { exclusive: true });
        world.submit(job(1_000_000, all, { tier: 'critical', submittedMs: world.nowMs - 1000 }));
        for (const [n, durationMs] of [null, null, 9500, 3000].entries()) {
          const small = demand(group([], { tasks: 1 + (n & 1), cpuMilli: 500, memoryMib: 50 }));
          world.submit(job(1_000_001 + n, small, { durationMs, submittedMs: world.nowMs }));
        }
        world.decide();
        const rows = world.rows();
        for (const [row, { verdict, changes }] of waiting(world)) {
          const told = changes.find(({ kind }) => kind === 'time-limit');
          // For others a limit could only change the order, by way of their deadline.
          const isKnown = tiers.some(({ name: known }) => known === row.tier);
          const limits = isKept(verdict) ? secondsBelow(row.durationMs ?? (isKnown ? longMs : 20_000)) : [];
          const longest = limits.find((toMs) => {
            const change = { kind: 'time-limit', fromMs: row.durationMs, toMs } as const;
            return starts(applied(rows, row.job, change), world.nowMs, row.job);
          });
          expect(told && 'toMs' in told ? told.toMs : undefined).toBe(longest);
        }
      }),
      tried,
    );
  });

  test('every end that is told lets the job start, and none is missed', () => {
    fc.assert(
      fc.property(arbitrarySteps, (steps) => {
        const world = play(steps);
        for (const [row, { ends }] of waiting(world)) {
          const expected = expectedEnds(world, row.job);
          expect(ends.count).toBe(expected.length);
          for (const { run } of ends.runs) expect(expected).toContain(run);
        }
      }),
      tried,
    );
  });

  test('who is ahead is one order of all jobs in line that could start, and the first few are named', () => {
    fc.assert(
      fc.property(arbitrarySteps, (steps) => {
        const world = play(steps);
        const rows = withMembers(world.rows());
        const ids = rows.jobs.flatMap((row) => {
          const { job, state } = row;
          if (state.state !== 'queued' || state.notBeforeMs > world.nowMs || state.claim) return [];
          if (isFull(rows, row)) return [];
          // An array stands in line for all its members that never started.
          return isFresh(row) ? [parseMemberId(job)!.array] : [job];
        });
        const inLine = [...new Set(ids)].flatMap((job) => {
          const { verdict, ahead } = world.engine.explain(job, world.nowMs)!;
          if (!ahead) expect(verdict.kind).toBe('impossible');
          const never =
            verdict.kind === 'impossible' && verdict.reasons.some(({ code }) => code !== 'over-ceiling');
          if (never) expect(ahead).toBe(null);
          return ahead ? [{ job, ahead }] : [];
        });
        const order = inLine.sort((a, b) => a.ahead.count - b.ahead.count);
        expect(order.map(({ ahead }) => ahead.count)).toEqual(order.map((_, i) => i));
        for (const [i, { ahead }] of order.entries())
          expect(ahead.jobs.map(({ job }) => job)).toEqual(
            order.slice(0, Math.min(i, 5)).map(({ job }) => job),
          );
      }),
      tried,
    );
  });

  test('asking leaves every later plan as it would have been, byte for byte', () => {
    fc.assert(
      fc.property(arbitrarySteps, (steps) => {
        const [quiet, asked] = [new World(loadEngine), new World(loadEngine)];
        let n = 0;
        const takeBoth = (world: World, step: Step): void => {
          take(quiet, step);
          take(world, step);
        };
        playOn(asked, steps, takeBoth, () => {
          const jobs = [...asked.jobs.keys()];
          const job = jobs[n++ % Math.max(1, jobs.length)];
          if (!job) return;
          // Both have seen the same times, which a question shows to the engine as well as a decision.
          asked.engine.explain(job, asked.nowMs);
          quiet.engine.verdict(job, quiet.nowMs);
          expect(asked.engine.stateHash()).toBe(quiet.engine.stateHash());
          expect(asked.engine.fork().decide(asked.nowMs)).toEqual(quiet.engine.fork().decide(quiet.nowMs));
        });
      }),
      tried,
    );
  });
});
