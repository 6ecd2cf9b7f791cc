// Muster's own policy: the production engine, fed with the events that a store would log of this fleet. What it plans is
// committed whole and comes back as events; victims end at once, wait again, and lose what the stage says. Asked until it has nothing more to do
// at this moment, because in production every commit wakes the next cycle.
import { type Engine, loadEngine } from '@muster/engine';
import {
  defaultPolicy,
  type EventBody,
  freshPast,
  type JobFacts,
  type JobId,
  type Policy as MusterPolicy,
  type NodeFacts,
  type PlanUnit,
  type PreemptUnit,
  preemptedResult,
  preemptionsKept,
  type RunId,
  type StartUnit,
} from '@muster/model';
import type { Coverage } from '@muster/predict';
import { type Fleet, isCounted } from '../../replay/fleet.ts';
import type { Player, Policy } from '../../replay/replay.ts';
import { Stage } from '../../replay/stage.ts';
import type { Trace } from '../../traces/trace.ts';
import { asked, assumedMs, type Beliefs, type Durations, exact } from '../beliefs.ts';
import { Learning } from '../learned/learning.ts';
import { Demands } from './demands.ts';
import { EngineHolding } from './engine-holding.ts';
import { SavedWork } from './saved-work.ts';
import { nodesOf } from './virtual-nodes.ts';

export interface MusterOptions {
  readonly name: string;
  readonly about: string;
  readonly policy?: MusterPolicy;
  /** What the engine is told of run times: the duration that each job is submitted with, or what is learned beside what was asked. */
  readonly durations: Durations;
  /** A real system's nodes and jobs, instead of those made up from the fleet and the trace. */
  readonly real?: RealWorld;
}

export interface RealWorld {
  readonly nodes: readonly NodeFacts[];
  /** By the number of the job in the trace. */
  readonly facts: readonly JobFacts[];
  /** The moment zero of the trace. */
  readonly originMs: number;
}

export function muster(options: MusterOptions): Policy {
  const { name, about } = options;
  return {
    name,
    about,
    enter: ({ trace, fleet, costs }) => {
      const nodes = options.real?.nodes ?? nodesOf(fleet);
      const stage = new Stage(trace, new EngineHolding(nodes, isCounted(fleet)), costs);
      return { stage, player: new MusterPlayer(stage, fleet, nodes, options) };
    },
  };
}

/** The engine's clock does not begin at zero, where times of nothing lie. */
const epochMs = 1_000_000_000;
const succeeded = { outcome: 'succeeded' } as const;
/** The engine settles long before; more is a plan that undoes itself. */
const cyclesMax = 1000;

/** A policy that says itself what it does with learned run times keeps it. */
function learning(policy: MusterPolicy, { savesWork }: Trace): MusterPolicy {
  if (policy.runTimes.use === 'learned') return policy;
  return {
    ...policy,
    runTimes: { use: 'learned', first: 'expected', stop: savesWork ? 'longer' : 'nobody' },
  };
}

class MusterPlayer implements Player {
  readonly #stage: Stage<EngineHolding>;
  readonly #engine: Engine;
  readonly #policy: MusterPolicy;
  readonly #beliefs: Beliefs;
  /** Null where nothing is learned. */
  readonly #learning: Learning | null;
  readonly #demands: Demands;
  readonly #real: RealWorld | null;
  readonly #numbers = new Map<JobId, number>();
  readonly #ids: JobId[];
  readonly #version: Int32Array;
  readonly #runs: (RunId | null)[];
  #waiting = 0;
  /** Null where nobody asks whether work is saved. */
  readonly #saves: SavedWork | null;
  readonly #savedMs: Float64Array;
  readonly #preempted = new Map<number, { readonly atMs: number; readonly by: JobId }[]>();

  constructor(
    stage: Stage<EngineHolding>,
    fleet: Fleet,
    nodes: readonly NodeFacts[],
    options: MusterOptions,
  ) {
    const { trace } = stage;
    this.#stage = stage;
    const policy = options.policy ?? defaultPolicy;
    // The policies of a real system say themselves whether they use what is learned, or two of them could not be compared.
    const learns = options.real ? policy.runTimes.use === 'learned' : options.durations === 'learned';
    this.#policy = learns ? learning(policy, trace) : policy;
    this.#beliefs = options.durations === 'exact' ? exact(trace) : asked(trace);
    this.#learning = learns ? new Learning(trace) : null;
    this.#real = options.real ?? null;
    this.#saves = this.#policy.runTimes.stop === 'longer' ? new SavedWork(stage) : null;
    this.#savedMs = new Float64Array(trace.count);
    // A gang is of nodes of one size, and the largest makes the fewest tasks.
    const perNode = Math.max(...fleet.pools.map(({ devicesPerNode }) => devicesPerNode));
    this.#demands = new Demands(trace, isCounted(fleet) ? null : perNode);
    this.#ids = Array.from({ length: trace.count });
    this.#version = new Int32Array(trace.count);
    this.#runs = Array.from({ length: trace.count }, () => null);
    this.#engine = loadEngine({
      sequence: 0,
      policyVersion: 1,
      policy: this.#policy,
      nodes,
      arrays: [],
      jobs: [],
      runs: [],
      usage: [],
    });
  }

  get #nowMs(): number {
    return epochMs + this.#stage.nowMs;
  }

  #tell(body: EventBody): void {
    this.#engine.apply({ sequence: this.#engine.sequence + 1, atMs: this.#nowMs, body });
  }

  readonly submitted = (job: number): void => {
    const id = `job_${String(job).padStart(18, '0')}` as JobId;
    this.#ids[job] = id;
    this.#numbers.set(id, job);
    this.#version[job] = 1;
    this.#waiting++;
    const facts = this.#real ? this.#realFacts(this.#real, job) : this.#madeFacts(job);
    this.#learning?.came(job);
    const estimate = this.#learning?.said(job);
    const durationMs = this.#durationMs(job);
    const own = { job: id, version: 1, durationMs, submittedMs: this.#nowMs, ...(estimate && { estimate }) };
    this.#tell({ kind: 'job.submitted', ...facts, ...own, by: facts.user, held: false });
  };

  #madeFacts(job: number) {
    const { trace } = this.#stage;
    const { names } = trace;
    return {
      name: names.programs[trace.program[job]!]!,
      project: names.projects[trace.project[job]!]!,
      tier: this.#policy.defaultTier,
      priority: 0,
      user: names.users[trace.user[job]!]!,
      deadlineMs: null,
      restoreMs: this.#stage.costs.restartMs,
      demand: this.#demands.of(job),
    };
  }

  /** A tier that the policy does not have counts as its usual one. */
  #realFacts({ facts, originMs }: RealWorld, job: number) {
    const { name, project, tier, priority, user, deadlineMs, restoreMs, demand } = facts[job]!;
    const known = this.#policy.tiers.some((one) => one.name === tier);
    return {
      name,
      project,
      tier: known ? tier : this.#policy.defaultTier,
      priority,
      user,
      deadlineMs: deadlineMs === null ? null : Math.max(1, deadlineMs - originMs + epochMs),
      ...(restoreMs !== undefined && { restoreMs }),
      demand,
    };
  }

  /** Nobody knows: then the engine assumes what the tier says, and jobs that ask alike share an entry. */
  #durationMs(job: number): number | null {
    const believedMs = this.#beliefs.runMs(job);
    return believedMs === assumedMs ? null : Math.max(1, Math.round(believedMs));
  }

  readonly ended = (job: number): void => {
    const id = this.#ids[job]!;
    this.#beliefs.ended(job);
    this.#saves?.ended(job);
    this.#learning?.ended(job);
    this.#tell({
      kind: 'run.ended',
      run: this.#runs[job]!,
      job: id,
      result: succeeded,
      endedMs: this.#nowMs,
    });
    this.#tell({ kind: 'job.ended', job: id, version: ++this.#version[job]!, result: succeeded });
    this.#numbers.delete(id);
    this.#runs[job] = null;
  };

  readonly coverage = (): Coverage | null => this.#learning?.coverage() ?? null;

  readonly decide = (): void => {
    this.#saves?.tell((job, ms) => this.#checkpointed(job, ms));
    for (let cycle = 0; cycle < cyclesMax; cycle++) {
      // With nobody waiting there is nothing to decide.
      if (this.#waiting === 0) return;
      const plan = this.#engine.decide(this.#nowMs);
      for (const unit of plan.units) this.#commit(unit);
      if (plan.units.length > 0) continue;
      if (plan.wakeAtMs !== null)
        this.#stage.wakeAt(Math.max(plan.wakeAtMs - epochMs, this.#stage.nowMs + 1));
      this.#stage.wakeAt(this.#saves?.firstMs() ?? Number.POSITIVE_INFINITY);
      return;
    }
    throw new Error(`the engine still changed its mind after ${cyclesMax} cycles at ${this.#stage.nowMs} ms`);
  };

  readonly waiting = (): readonly number[] => [...this.#numbers.values()];

  #commit(unit: PlanUnit): void {
    if (unit.kind === 'start') this.#start(unit);
    else if (unit.kind === 'preempt') this.#preempt(unit);
    else {
      const version = this.#next(unit.job);
      this.#tell({ kind: 'job.unclaimed', job: unit.job, version, reason: unit.reason });
    }
  }

  /** The jobs of a real system say whether they do. */
  #savesWork(job: number): boolean {
    return this.#real ? this.#real.facts[job]!.restoreMs !== undefined : this.#stage.trace.savesWork;
  }

  #checkpointed(job: number, savedMs: number): void {
    const [run, id] = [this.#runs[job]!, this.#ids[job]!];
    this.#tell({
      kind: 'run.checkpointed',
      run,
      job: id,
      checkpointMs: epochMs + savedMs,
      step: null,
      path: null,
    });
  }

  #start(unit: StartUnit): void {
    const { run, job, attempt, exclusive, tasks, port, uses } = unit;
    const places = { exclusive, tasks, port, uses };
    const version = this.#next(job);
    this.#tell({
      kind: 'run.planned',
      version,
      epoch: 1,
      plannedMs: this.#nowMs,
      run,
      job,
      attempt,
      ...places,
    });
    this.#tell({ kind: 'run.running', version: this.#next(job), run, job, startedMs: this.#nowMs });
    const number = this.#numbers.get(job)!;
    this.#runs[number] = run;
    this.#waiting--;
    this.#stage.room.place(number, tasks);
    this.#stage.start(number);
    if (this.#savesWork(number)) this.#saves?.started(number);
  }

  #preempt({ job, run, attempt: _, claim }: PreemptUnit): void {
    const reason = { code: 'preempted', message: '' };
    for (const victim of claim.victims)
      this.#tell({ kind: 'run.stopping', run: victim.run, job: victim.job, reason, preemptor: job });
    this.#tell({ kind: 'job.claimed', job, version: this.#next(job), run, claim });
    for (const victim of claim.victims) this.#requeue(victim.job, victim.run, job);
  }

  #requeue(job: JobId, run: RunId, by: JobId): void {
    const number = this.#numbers.get(job)!;
    const because = preemptedResult('');
    const remainingMs = this.#stage.remainingMs[number]!;
    this.#stage.stop(number);
    this.#saves?.ended(number);
    this.#savedMs[number]! += remainingMs - this.#stage.remainingMs[number]!;
    this.#runs[number] = null;
    this.#waiting++;
    const before = this.#preempted.get(number) ?? [];
    const preempted = [...before, { atMs: this.#nowMs, by }].slice(-preemptionsKept);
    this.#preempted.set(number, preempted);
    this.#tell({ kind: 'run.ended', run, job, result: because, endedMs: this.#nowMs });
    this.#tell({
      kind: 'job.requeued',
      job,
      version: this.#next(job),
      because,
      ...freshPast,
      preempted,
      savedMs: this.#savedMs[number]!,
      attempt: this.#stage.preemptions[number]! + 1,
      sinceMs: this.#nowMs,
      notBeforeMs: 0,
    });
  }

  #next(job: JobId): number {
    return ++this.#version[this.#numbers.get(job)!]!;
  }
}
