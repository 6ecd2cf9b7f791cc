// Who may end whose run (decision 0007, section 5). The search asks for every run it looks at, and tells which runs it counts
// as gone, because use and with it rights change as victims are added. What is being stopped already counts as gone too:
// otherwise two jobs would take from a project what it borrows only once.
import { type Right, type Tier, tierNamed } from '@muster/model';
import { none, type Project } from './projects.ts';
import type { Entry } from './queue.ts';
import type { Ask } from './resource-keys.ts';
import type { State } from './state.ts';

export interface Rights {
  /** Whether the job could have a right to any run at all; asked before anything is looked at. */
  any(job: number): boolean;
  /** By what right the job may end the run; null for none. `run` is a slot of the run table. */
  mayTake(job: number, run: number): Right | null;
  /** The run counts as gone from here on. True when the job's rights to other runs may have changed with it. */
  taken(job: number, run: number): boolean;
  putBack(run: number): void;
  /** Changes when the job's rights may have, through anything but the runs it was told of. */
  standing(job: number): string;
}

/** Whether a job could have a right to any run, by what the policy says. */
export function mightPreempt(state: State, job: number): boolean {
  return entryMightPreempt(state, state.queue.entryOf(job));
}

function entryMightPreempt({ policy }: State, { facts, lane }: Entry): boolean {
  if ((tierNamed(policy, facts.tier)?.preempts.length ?? 0) > 0) return true;
  if (lane.project.quota?.preemptWithin === 'lower-priority') return true;
  return policy.quotas.some(({ guaranteed }) => Object.keys(guaranteed).length > 0);
}

/** What the policy says of the tier of each entry, looked up once. */
export class TierBook {
  readonly #state: State;
  readonly #byEntry: (Tier | null | undefined)[] = [];

  constructor(state: State) {
    this.#state = state;
  }

  /** The tier of the job's entry; null when the policy has it no more. */
  of(job: number): Tier | null {
    const { jobs, queue, policy } = this.#state;
    const id = jobs.entry[job]!;
    let tier = this.#byEntry[id];
    if (tier === undefined) {
      tier = tierNamed(policy, queue.entries[id]!.facts.tier);
      this.#byEntry[id] = tier;
    }
    return tier;
  }
}

/** The children of the lowest common project towards job and victim; null for the common project's own jobs. */
interface Fork {
  readonly own: Project | null;
  readonly other: Project | null;
}

export class QuotaRights implements Rights {
  readonly #state: State;
  readonly #tiers: TierBook;
  readonly #forks = new Map<number, Fork>();
  readonly #asks: (Ask | undefined)[] = [];
  /** Moves when rights may have changed through what a plan gave to somebody. */
  epoch = 0;
  /** Whether rights follow use; without guarantees they are the same for all runs of an entry. */
  readonly #follows: boolean;
  readonly #fixed = new Map<number, (Right | null | undefined)[]>();

  constructor(state: State, tiers: TierBook) {
    this.#state = state;
    this.#tiers = tiers;
    this.#follows = state.policy.quotas.some(({ guaranteed }) => Object.keys(guaranteed).length > 0);
  }

  any(job: number): boolean {
    return this.anyOf(this.#state.queue.entryOf(job));
  }

  anyOf(entry: Entry): boolean {
    return entryMightPreempt(this.#state, entry);
  }

  mayTake(job: number, run: number): Right | null {
    if (this.#follows) return this.#judge(job, run);
    const { jobs, table } = this.#state;
    let known = this.#fixed.get(jobs.entry[job]!);
    if (!known) {
      known = [];
      this.#fixed.set(jobs.entry[job]!, known);
    }
    const other = jobs.entry[table.job[run]!]!;
    let right = known[other];
    if (right === undefined) {
      right = this.#judge(job, run);
      known[other] = right;
    }
    return right;
  }

  #judge(job: number, run: number): Right | null {
    const { table, queue } = this.#state;
    const mine = queue.entryOf(job);
    const theirs = queue.entryOf(table.job[run]!);
    const tier = this.#tiers.of(job);
    const other = this.#tiers.of(table.job[run]!);
    const sameProject = mine.lane.project === theirs.lane.project;
    const fork = sameProject ? null : this.#forkOf(mine.lane.project, theirs.lane.project);
    if (tier !== null && this.#byTier(tier, other) && !this.#isProtected(fork, other, run)) return 'tier';
    if (fork !== null && this.#reclaims(fork, mine.lane.shape.ask, other, run)) return 'reclaim';
    if (!sameProject || mine.lane.project.quota?.preemptWithin !== 'lower-priority') return null;
    return mine.rank === theirs.rank && theirs.facts.priority < mine.facts.priority ? 'priority' : null;
  }

  taken(job: number, run: number): boolean {
    if (!this.#follows) return false;
    const ask = this.#askOf(run);
    const { project } = this.#projectOf(run);
    const changes = this.#crosses(project, ask, this.#state.queue.entryOf(job).lane.shape.ask);
    this.#state.projects.leave(project, ask, 1);
    return changes;
  }

  /** The project uses so much more: its runs may be borrowed room from here on. */
  used(project: Project, { keys, amounts }: Ask): void {
    if (!this.#follows) return;
    for (let at: Project | null = project; at !== null && at.parent !== null; at = at.parent)
      for (let i = 0; i < keys.length; i++) {
        const guaranteed = Math.max(0, at.guaranteed[keys[i]!] ?? none);
        const after = useNow(at, keys[i]!);
        if (after > guaranteed && after - amounts[i]! <= guaranteed) this.epoch++;
      }
  }

  putBack(run: number): void {
    if (!this.#follows) return;
    this.#state.projects.leave(this.#projectOf(run).project, this.#askOf(run), -1);
  }

  /** Which projects above the job stay within their guarantee with it. */
  standing(job: number): string {
    const { project, shape } = this.#state.queue.entryOf(job).lane;
    let text = '';
    for (let at: Project | null = project; at !== null && at.parent !== null; at = at.parent)
      text += staysWithinNow(at, shape.ask) ? '1' : '0';
    return text;
  }

  /** A tier that the policy has no more ranks below all. */
  #byTier(tier: Tier, other: Tier | null): boolean {
    if (other === null) return tier.preempts.length > 0;
    return other.rank < tier.rank && tier.preempts.includes(other.name);
  }

  /** A guaranteed tier's run of another project that is within its guarantee for all the run uses. */
  #isProtected(fork: Fork | null, other: Tier | null, run: number): boolean {
    if (fork === null || fork.other === null || !other?.guaranteed) return false;
    const { keys } = this.#askOf(run);
    let any = false;
    for (const key of keys) {
      const guaranteed = fork.other.guaranteed[key] ?? none;
      if (guaranteed === none) continue;
      if (useNow(fork.other, key) > guaranteed) return false;
      any = true;
    }
    return any;
  }

  /** Within its own guarantee with this job, a project takes back what others borrow of the same. */
  #reclaims({ own, other }: Fork, ask: Ask, tier: Tier | null, run: number): boolean {
    if (own === null || !staysWithinNow(own, ask)) return false;
    const used = this.#askOf(run).keys;
    const shared = ask.keys.filter((key) => (own.guaranteed[key] ?? none) !== none && used.includes(key));
    if (shared.length === 0) return false;
    if (!tier?.guaranteed) return true;
    return shared.some(
      (key) => other === null || useNow(other, key) > Math.max(0, other.guaranteed[key] ?? none),
    );
  }

  /** Whether a project above the run gets within its guarantee when it is gone; or makes room for the job in one. */
  #crosses(project: Project, gone: Ask, ask: Ask): boolean {
    for (let at: Project | null = project; at !== null && at.parent !== null; at = at.parent) {
      for (let i = 0; i < gone.keys.length; i++) {
        const key = gone.keys[i]!;
        const guaranteed = Math.max(0, at.guaranteed[key] ?? none);
        const before = useNow(at, key);
        const after = before - gone.amounts[i]!;
        if (before > guaranteed && after <= guaranteed) return true;
        const asked = ask.amounts[ask.keys.indexOf(key)] ?? 0;
        if (before + asked > guaranteed && after + asked <= guaranteed) return true;
      }
    }
    return false;
  }

  #forkOf(mine: Project, theirs: Project): Fork {
    const key = mine.id * 0x10_0000 + theirs.id;
    let fork = this.#forks.get(key);
    if (!fork) {
      fork = findFork(mine, theirs);
      this.#forks.set(key, fork);
    }
    return fork;
  }

  #projectOf(run: number) {
    return this.#state.queue.entryOf(this.#state.table.job[run]!).lane;
  }

  #askOf(run: number): Ask {
    let ask = this.#asks[run];
    if (!ask) {
      ask = this.#state.projects.keys.ask(this.#state.table.live[run]!.uses);
      this.#asks[run] = ask;
    }
    return ask;
  }
}

/** Use without what is being stopped. */
function useNow(project: Project, key: number): number {
  return (project.use[key] ?? 0) - (project.leaving[key] ?? 0);
}

function staysWithinNow(project: Project, { keys, amounts }: Ask): boolean {
  let any = false;
  for (let i = 0; i < keys.length; i++) {
    const guaranteed = project.guaranteed[keys[i]!] ?? none;
    if (guaranteed === none) continue;
    if (useNow(project, keys[i]!) + amounts[i]! > guaranteed) return false;
    any = true;
  }
  return any;
}

function findFork(mine: Project, theirs: Project): Fork {
  const above = new Map<Project, Project | null>();
  let below: Project | null = null;
  for (let at: Project | null = mine; at !== null; at = at.parent) {
    above.set(at, below);
    below = at;
  }
  below = null;
  for (let at: Project | null = theirs; at !== null; at = at.parent) {
    const own = above.get(at);
    if (own !== undefined) return { own, other: below };
    below = at;
  }
  return { own: null, other: null };
}
