// What if: two copies of the state decide until nothing more happens, one of them after the change; the difference is the
// answer. Plans are carried out as a store would on a quiet system, where nothing else happens meanwhile: every unit is
// applied, and a victim ends at once. So the answer is what then happens when the change is really made.
import {
  type EventBody,
  type JobId,
  type LostWork,
  type Plan,
  type PlannedStart,
  type PlanUnit,
  preemptedResult,
  preemptionsKept,
  type RunId,
  type StartUnit,
  savedMsOf,
  type Verdict,
  type WhatIf,
  type WhatIfMove,
  type WhatIfPreemption,
  type WhatIfStart,
  type WhatIfStop,
  type WhatIfVerdict,
} from '@muster/model';
import { apply } from './apply.ts';
import { lostBy } from './damage.ts';
import { plannedStarts, toldOf, verdictOf } from './explain.ts';
import { decide } from './make-plan.ts';
import { compareText } from './order.ts';
import { placeHourMicro } from './place-price.ts';
import { reasonOf } from './reason.ts';
import { copyState, forget, type State } from './state.ts';

export function whatIf(
  state: State,
  changes: readonly EventBody[],
  nowMs: number,
  cyclesMax: number,
): WhatIf {
  const without = new Future(copyState(state), nowMs);
  without.settle(cyclesMax);
  const withIt = new Future(copyState(state), nowMs);
  for (const body of changes) withIt.tell(body);
  withIt.settle(cyclesMax);
  const stops = stopsOf(state, changes, withIt);
  const preempts = missing(withIt.preempted, without.preempted);
  const spares = missing(without.preempted, withIt.preempted);
  return {
    sequence: state.sequence,
    nowMs,
    cycles: Math.max(without.cycles, withIt.cycles),
    settled: without.settled && withIt.settled,
    ...startsOf(without, withIt),
    stops,
    preempts,
    spares,
    cost: {
      lostMicro: lost(stops) + lost(preempts),
      sparedMicro: lost(spares),
      hourMicro: spending(withIt.state) - spending(without.state),
    },
    verdicts: verdictsOf(without, withIt),
  };
}

interface Waiting {
  first: JobId;
  jobs: number;
}

/** One way in which things go on. */
class Future {
  readonly state: State;
  readonly nowMs: number;
  cycles = 0;
  settled = false;
  readonly started = new Map<JobId, WhatIfStart>();
  readonly preempted = new Map<RunId, WhatIfPreemption>();
  /** Jobs that lost their claim, with what they waited for until then. */
  readonly released = new Map<JobId, Verdict | null>();
  /** What every entry was last told. */
  readonly told = new Map<string, Verdict>();
  #planned: ReadonlyMap<JobId, PlannedStart> | null = null;

  constructor(state: State, nowMs: number) {
    this.state = state;
    this.nowMs = nowMs;
    // So that every entry is told, and not only those whose reason changes.
    forget(state);
  }

  tell(body: EventBody): void {
    apply(this.state, { sequence: this.state.sequence + 1, atMs: this.nowMs, body });
  }

  settle(cyclesMax: number): void {
    while (!this.settled && this.cycles < cyclesMax) {
      this.cycles++;
      const plan: Plan = decide(this.state, this.nowMs);
      for (const { entry, verdict } of plan.verdicts) this.told.set(entry, verdict);
      for (const unit of plan.units) this.#carryOut(unit);
      this.settled = plan.units.length === 0;
    }
  }

  /** With the start that is planned for the job in the end, as it would be told when asked. */
  withStart(job: JobId, verdict: Verdict | null): Verdict | null {
    if (verdict?.kind !== 'waits') return verdict;
    this.#planned ??= new Map(
      plannedStarts(this.state, this.nowMs).map(({ job: id, ...start }) => [id, start]),
    );
    const planned = this.#planned.get(job);
    return planned ? { ...verdict, planned } : verdict;
  }

  /** Of a job that waits in the end, in line or not; null of one that runs. */
  reasonToWait(job: JobId): Verdict | null {
    // What its line was told is at hand; to look again for each of many jobs would take long.
    const verdict = toldOf(this.state, job) ?? verdictOf(this.state, job, this.nowMs);
    return verdict?.kind === 'placed' ? null : this.withStart(job, verdict);
  }

  /** The entries that wait in line; a job in its backoff is in none. */
  waiting(): Map<string, Waiting> {
    const { jobs, queue } = this.state;
    const counts = new Map<number, Waiting>();
    for (const slot of jobs.slots.values()) {
      if (!queue.stands(slot)) continue;
      const found = counts.get(jobs.entry[slot]!);
      const id = jobs.ids[slot]!;
      if (!found) counts.set(jobs.entry[slot]!, { first: id, jobs: jobs.weight(slot) });
      else {
        found.jobs += jobs.weight(slot);
        if (compareText(id, found.first) < 0) found.first = id;
      }
    }
    const waiting = new Map<string, Waiting>();
    for (const found of counts.values())
      waiting.set(queue.keyOf(queue.entryOf(jobs.slotOf(found.first))), found);
    return waiting;
  }

  #carryOut(unit: PlanUnit): void {
    switch (unit.kind) {
      case 'start':
        this.#start(unit);
        break;
      case 'preempt': {
        const { job, run, claim, jobVersion } = unit;
        this.tell({ kind: 'job.claimed', job, version: jobVersion + 1, run, claim });
        for (const victim of claim.victims) {
          const project = projectOf(this.state, victim.job);
          const lost = lostBy(this.state.table, this.state.table.slotOf(victim.run), this.nowMs);
          this.preempted.set(victim.run, { ...victim, project, by: job, ...lost });
          this.#stop(victim.job, victim.run, job);
        }
        break;
      }
      case 'release': {
        const { job, jobVersion, reason } = unit;
        this.released.set(job, verdictOf(this.state, job, this.nowMs));
        this.tell({ kind: 'job.unclaimed', job, version: jobVersion + 1, reason });
        break;
      }
    }
  }

  #start(unit: StartUnit): void {
    const { kind: _, jobVersion, nodeGenerations: __, ...facts } = unit;
    this.tell({ kind: 'run.planned', epoch: 0, version: jobVersion + 1, plannedMs: this.nowMs, ...facts });
    const nodes = new Set(unit.tasks.map(({ node }) => node));
    const fleet = this.state.fleets.live;
    const names = [...nodes].map((node) => fleet.facts[fleet.slotOf(node)]!.name);
    this.started.set(unit.job, {
      job: unit.job,
      project: projectOf(this.state, unit.job),
      nodes: names,
      hourMicro: placeHourMicro(this.state, unit.job, unit.tasks),
    });
  }

  #stop(job: JobId, run: RunId, by: JobId): void {
    const { jobs } = this.state;
    const slot = jobs.slotOf(job);
    const result = preemptedResult(`preempted for ${by}`);
    const past = jobs.past(slot);
    const savedMs = past.savedMs + savedMsOf(this.state.runs.get(run)!);
    const preempted = [...past.preempted, { atMs: this.nowMs, by }].slice(-preemptionsKept);
    this.tell({ kind: 'run.ended', run, job, result, endedMs: this.nowMs });
    this.tell({
      kind: 'job.requeued',
      job,
      version: jobs.version[slot]! + 1,
      because: result,
      attempt: jobs.attempt[slot]! + 1,
      sinceMs: this.nowMs,
      notBeforeMs: 0,
      ...past,
      preempted,
      savedMs,
    });
  }
}

function projectOf({ jobs, queue }: State, job: JobId): string {
  return projectIn(queue.keyOf(queue.entryOf(jobs.slotOf(job))));
}

/** A queue entry's key begins with the project, whose name has no bar in it. */
function projectIn(entry: string): string {
  return entry.slice(0, entry.indexOf('|'));
}

function startsOf(without: Future, withIt: Future): Pick<WhatIf, 'starts' | 'startsNot' | 'moves'> {
  const starts: WhatIfStart[] = [];
  const moves: WhatIfMove[] = [];
  for (const start of withIt.started.values()) {
    const other = without.started.get(start.job);
    if (!other) starts.push(start);
    else if (other.nodes.join() !== start.nodes.join())
      moves.push({ job: start.job, project: start.project, from: other.nodes, to: start.nodes });
  }
  const startsNot = [...without.started.values()].filter(({ job }) => !withIt.started.has(job));
  return { starts: starts.sort(byJob), startsNot: startsNot.sort(byJob), moves: moves.sort(byJob) };
}

function stopsOf(state: State, changes: readonly EventBody[], withIt: Future): WhatIfStop[] {
  const requeued = new Set<JobId>();
  for (const body of changes) if (body.kind === 'job.requeued') requeued.add(body.job);
  const stops: WhatIfStop[] = [];
  for (const body of changes) {
    if (body.kind !== 'run.ended') continue;
    const { job, run } = body;
    const lost = lostBy(state.table, state.table.slotOf(run), withIt.nowMs);
    const after = requeued.has(job) ? withIt.reasonToWait(job) : null;
    stops.push({ job, project: projectOf(state, job), run, requeued: requeued.has(job), after, ...lost });
  }
  return stops.sort(byJob);
}

function lost(items: readonly LostWork[]): number {
  return items.reduce((sum, { lostMicro }) => sum + lostMicro, 0);
}

/** What an hour of all that runs costs. */
function spending(state: State): number {
  let micro = 0;
  for (const { job, tasks } of state.runs.values()) micro += placeHourMicro(state, job, tasks);
  return micro;
}

function missing(
  all: ReadonlyMap<RunId, WhatIfPreemption>,
  others: ReadonlyMap<RunId, WhatIfPreemption>,
): WhatIfPreemption[] {
  return [...all.values()].filter(({ run }) => !others.has(run)).sort(byJob);
}

function verdictsOf(without: Future, withIt: Future): WhatIfVerdict[] {
  const before = without.waiting();
  const found: WhatIfVerdict[] = [];
  // Of an entry in which nobody waits any more, the starts and stops tell.
  for (const [entry, { first, jobs }] of withIt.waiting()) {
    const was = before.has(entry) ? (without.told.get(entry) ?? null) : null;
    const is = withIt.told.get(entry) ?? null;
    if (bindingOf(was) === bindingOf(is)) continue;
    const project = projectIn(entry);
    const [from, to] = [without.withStart(first, was), withIt.withStart(first, is)];
    found.push({ project, jobs, job: first, before: from, after: to });
  }
  return [...found, ...releasedOf(without, withIt, found)].sort(byJob);
}

/** Who lost a claim and waits in a line that is told nothing new. */
function releasedOf(without: Future, withIt: Future, told: readonly WhatIfVerdict[]): WhatIfVerdict[] {
  const { queue, jobs } = withIt.state;
  const found: WhatIfVerdict[] = [];
  for (const [job, before] of withIt.released) {
    const slot = jobs.slots.get(job);
    if (without.released.has(job) || slot === undefined || !queue.stands(slot)) continue;
    if (told.some((other) => queue.entryOf(jobs.slotOf(other.job)) === queue.entryOf(slot))) continue;
    found.push({
      project: projectOf(withIt.state, job),
      jobs: 1,
      job,
      before,
      after: withIt.reasonToWait(job),
    });
  }
  return found;
}

function bindingOf(verdict: Verdict | null): string {
  return verdict ? reasonOf(verdict).binding : '';
}

function byJob(a: { readonly job: JobId }, b: { readonly job: JobId }): number {
  return compareText(a.job, b.job);
}
