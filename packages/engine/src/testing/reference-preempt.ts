// The naive engine's search for victims (decision 0007, section 5): every step works the world out anew from rows.
import {
  type AcceleratorDemand,
  type Claim,
  type EngineRows,
  type LiveRun,
  leastUses,
  projectCovers,
  type Right,
  type RunId,
  submittedJob,
  type Tier,
} from '@muster/model';
import { withRun } from './reference-claims.ts';
import {
  type Box,
  boxesOf,
  boxRoom,
  choices,
  firstOrder,
  freePort,
  type Gang,
  type JobRow,
  placeGang,
  placeJob,
  type Unit,
} from './reference-place.ts';
import { rightTo } from './reference-rights.ts';
import { ReferenceTenancy } from './reference-tenancy.ts';
import {
  openGround,
  type Required,
  requiredDomains,
  resourceRoom,
  wholeFleet,
} from './reference-topology.ts';

type Choice = readonly (AcceleratorDemand | null)[];

/** How many of the tasks in question a box holds, beside the others. */
type RoomOf = (box: Box, boxes: readonly Box[]) => number;

/** Whether there are victims for such a job, apart from what happened to this one. */
export function hasVictims(rows: EngineRows, row: JobRow, nowMs: number): boolean {
  const fresh = { ...row, state: { ...row.state, failedMs: null, preempted: [] } } as JobRow;
  return (preemptFor(rows, fresh, nowMs, new Set())?.victims.length ?? 0) > 0;
}

export function isCooling({ policy }: EngineRows, { state }: JobRow, nowMs: number): boolean {
  return state.failedMs !== null && nowMs < state.failedMs + policy.preemption.coolingMs;
}

export function preemptFor(
  rows: EngineRows,
  row: JobRow,
  nowMs: number,
  fresh: ReadonlySet<RunId>,
): Claim | null {
  if (isCooling(rows, row, nowMs)) return null;
  // A user's ceiling is never a reason to stop anybody.
  if (new ReferenceTenancy(rows, nowMs).isUserOver(row, leastUses(row.demand))) return null;
  const searches = choices(row.demand.groups).map((choice) => new Search(rows, row, choice, nowMs, fresh));
  if (searches.some((search) => search.waitsForEnds())) return null;
  for (const search of searches) {
    const claim = search.find();
    if (claim) return claim;
  }
  return null;
}

/** Whether runs would move out of the way of such a job, apart from what happened to this one. */
export function mayMove(rows: EngineRows, row: JobRow, nowMs: number): boolean {
  const fresh = { ...row, state: { ...row.state, failedMs: null, preempted: [], avoid: [] } } as JobRow;
  return moveFor(rows, fresh, nowMs, new Set()) !== null;
}

/** Runs that move out of the job's way, all of which have a place elsewhere; null where there are none, or a ceiling is in the way. */
export function moveFor(
  rows: EngineRows,
  row: JobRow,
  nowMs: number,
  fresh: ReadonlySet<RunId>,
): Claim | null {
  const { use, stop } = rows.policy.runTimes;
  if (use === 'asked' || stop === 'nobody' || isCooling(rows, row, nowMs)) return null;
  if (new ReferenceTenancy(rows, nowMs).isOver(row, leastUses(row.demand))) return null;
  const movable = movableFor(rows, row);
  const searches = choices(row.demand.groups).map(
    (choice) => new Search(rows, row, choice, nowMs, fresh, movable),
  );
  if (searches.some((search) => search.waitsForEnds())) return null;
  const [claim] = searches.flatMap((search) => search.find() ?? []);
  return claim && claim.victims.length > 0 ? claim : null;
}

/** Runs of one task of the same tier rank that have saved their work, are smaller, and would have a place as things stand. */
function movableFor(rows: EngineRows, row: JobRow): ReadonlySet<RunId> {
  const { policy } = rows;
  const boxes = boxesOf(rows);
  const rank = (name: string): number | null => policy.tiers.find((tier) => tier.name === name)?.rank ?? null;
  const largest = Math.max(0, ...row.demand.groups.flatMap((g) => g.accelerators.map(({ milli }) => milli)));
  const movable = rows.runs.filter(({ job, tasks, checkpointMs }) => {
    const own = rows.jobs.find((each) => each.job === job)!;
    const [task] = tasks;
    const small = tasks.length === 1 && task!.devices.length * task!.deviceMilli < largest;
    if (checkpointMs === null || !small || rank(own.tier) !== rank(row.tier)) return false;
    return placeJob(boxes, { ...own, state: { ...own.state, avoid: [] } } as JobRow, policy) !== null;
  });
  return new Set(movable.map(({ run }) => run));
}

/** Whether what is claimed would be above a ceiling, with the victims gone. */
export function isClaimOver(rows: EngineRows, row: JobRow, { victims, uses }: Claim, nowMs: number): boolean {
  const runs = rows.runs.filter(({ run }) => !victims.some((victim) => victim.run === run));
  const tenancy = new ReferenceTenancy({ ...rows, runs }, nowMs);
  return new ReferenceTenancy(rows, nowMs).isUserOver(row, uses) || tenancy.over(row, uses).length > 0;
}

class Search {
  readonly #rows: EngineRows;
  readonly #row: JobRow;
  readonly #choice: Choice;
  readonly #nowMs: number;
  readonly #fresh: ReadonlySet<RunId>;
  readonly #movable: ReadonlySet<RunId> | null;
  #out: LiveRun[] = [];
  /** By what right each was taken, as things stood then. */
  readonly #takenBy = new Map<RunId, Right>();
  /** Where victims are looked for; null for everywhere. */
  #domain: Required | null = null;

  /** `movable`: these are not stopped but moved. */
  constructor(
    rows: EngineRows,
    row: JobRow,
    choice: Choice,
    nowMs: number,
    fresh: ReadonlySet<RunId>,
    movable: ReadonlySet<RunId> | null = null,
  ) {
    this.#movable = movable;
    this.#fresh = fresh;
    this.#rows = rows;
    this.#row = row;
    this.#choice = choice;
    this.#nowMs = nowMs;
  }

  /** Whether runs that end soon, or are being stopped for nobody, would leave room enough. */
  waitsForEnds(): boolean {
    const claimed = this.#rows.jobs.flatMap(({ state }) =>
      state.state === 'queued' && state.claim ? state.claim.victims.map(({ run }) => run) : [],
    );
    this.#out = this.#rows.runs
      .filter((run) => (run.stopping ? !claimed.includes(run.run) : this.#isNear(run)))
      .filter((run) => this.#answers(run));
    const waits = this.#out.length > 0 && !this.#isOver() && this.#short() === null;
    this.#out = [];
    return waits;
  }

  /** Where one domain has to hold all: the one with least damage, then fewest victims, then by path. */
  find(): Claim | null {
    const found: { claim: Claim; damage: number }[] = [];
    for (const domain of requiredDomains(this.#gang(this.#boxes())) ?? [null]) {
      this.#domain = domain;
      this.#out = [];
      const claim = this.#findHere();
      const damage = this.#out.reduce((sum, run) => sum + this.#damage(run), 0);
      if (claim) found.push({ claim, damage });
    }
    this.#out = [];
    const [best] = found.sort(
      (a, b) => a.damage - b.damage || a.claim.victims.length - b.claim.victims.length,
    );
    return best?.claim ?? null;
  }

  #findHere(): Claim | null {
    if (!this.#ease()) return null;
    for (let short = this.#short(); short !== null; short = this.#short()) {
      const offer = this.#bestOffer(short);
      if (!offer) return null;
      for (const run of offer.victims) this.#takeOut(run);
    }
    for (const run of this.#out.toSorted((a, b) => this.#compareSparing(a, b))) {
      const all = this.#out;
      this.#out = all.filter((other) => other !== run);
      if (this.#isOver() || this.#short() !== null) this.#out = all;
    }
    const placed = placeJob(this.#boxes(), this.#row, this.#rows.policy);
    if (!placed || (this.#movable && !this.#fitElsewhere(placed.unit))) return null;
    const { exclusive, tasks, port, uses } = placed.unit;
    const victims = this.#out
      .toSorted((a, b) => (a.run < b.run ? -1 : 1))
      .map((run) => ({ job: run.job, run: run.run, right: this.#takenBy.get(run.run)! }));
    return { exclusive, tasks, port, uses, victims };
  }

  #takeOut(run: LiveRun): void {
    this.#takenBy.set(run.run, this.#right(run)!);
    this.#out = [...this.#out, run];
  }

  /** Whether every victim has a place beside the job; the largest chooses first. */
  #fitElsewhere(unit: Unit): boolean {
    const milli = ({ tasks }: LiveRun): number => tasks[0]!.devices.length * tasks[0]!.deviceMilli;
    const left = this.#rows.runs.filter((run) => !this.#out.includes(run));
    let world = withRun({ ...this.#rows, runs: left }, unit, this.#nowMs);
    return this.#out
      .toSorted((a, b) => milli(b) - milli(a) || (a.run < b.run ? -1 : 1))
      .every((run) => {
        const own = placeJob(boxesOf(world), this.#jobOf(run), this.#rows.policy);
        if (own) world = withRun(world, own.unit, this.#nowMs);
        return own !== null;
      });
  }

  /** With the victims gone. */
  #tenancy(): ReferenceTenancy {
    const runs = this.#rows.runs.filter((run) => !this.#out.includes(run));
    return new ReferenceTenancy({ ...this.#rows, runs }, this.#nowMs);
  }

  #isOver(): boolean {
    return this.#tenancy().over(this.#row, leastUses(this.#row.demand)).length > 0;
  }

  /** Where ceilings are in the way: victims below the lowest of them, in their order, until none is. */
  #ease(): boolean {
    const ask = leastUses(this.#row.demand);
    const below = this.#tenancy().over(this.#row, ask)[0]?.path;
    for (
      let over = this.#tenancy().over(this.#row, ask);
      over.length > 0;
      over = this.#tenancy().over(this.#row, ask)
    ) {
      const [next] = this.#rows.runs
        .filter((run) => !this.#out.includes(run) && this.#mayStop(run))
        .filter((run) => projectCovers(below!, this.#jobOf(run).project))
        .filter((run) => over.some(({ key }) => run.uses[key] !== undefined))
        .sort((a, b) => this.#compareVictims(a, b));
      if (!next) return false;
      this.#takeOut(next);
    }
    return true;
  }

  #boxes(without: readonly LiveRun[] = []): Box[] {
    const gone = new Set([...this.#out, ...without].map(({ run }) => run));
    return boxesOf({ ...this.#rows, runs: this.#rows.runs.filter(({ run }) => !gone.has(run)) });
  }

  /** The group that finds no place; null when all do. */
  #short(): number | null {
    const boxes = this.#boxes();
    const { groups } = this.#row.demand;
    const { policy } = this.#rows;
    if (this.#isPlain() && !choices(groups).some((choice) => this.#sum(boxes, 0, choice) >= groups[0]!.tasks))
      return 0;
    if (placeJob(boxes, { ...this.#row, state: { ...this.#row.state, avoid: [] } }, policy)) return null;
    if (this.#isPlain()) return 0;
    const gang = this.#gang(boxes);
    // Of a domain that is looked at by itself, the group that finds no place there.
    const ground = this.#domain?.ground ?? openGround(gang);
    const placed = placeGang({ ...gang, ground }, firstOrder(gang));
    // Together it fits without the topology: more room for the first group to choose is what may help.
    return typeof placed === 'number' ? placed : firstOrder(gang)[0]!;
  }

  /** Nodes do not depend on each other. */
  #isPlain(): boolean {
    const { groups, topology } = this.#row.demand;
    const plain = groups.length === 1 && topology === null && groups[0]!.topology === null;
    return plain && this.#rows.policy.topology.resources.length === 0;
  }

  #gang(boxes: readonly Box[], choice = this.#choice): Gang {
    const { policy } = this.#rows;
    const fresh = { port: null, spread: new Map<string, number>() };
    return {
      row: this.#row,
      policy,
      choice,
      avoid: [],
      ground: wholeFleet,
      boxes: [...boxes],
      ...fresh,
    };
  }

  #sum(boxes: readonly Box[], g: number, choice = this.#choice): number {
    return boxes
      .filter((box) => this.#isHere(box))
      .reduce((sum, box) => sum + this.#room(boxes, box, g, choice), 0);
  }

  #isHere({ facts }: Box): boolean {
    return this.#domain === null || this.#domain.nodes.has(facts.node);
  }

  #room(boxes: readonly Box[], box: Box, g: number, choice = this.#choice): number {
    const gang = this.#gang(boxes, choice);
    const { tasks } = this.#row.demand.groups[g]!;
    return Math.min(tasks, boxRoom(gang, g, box), resourceRoom(gang, g, box));
  }

  /** Where there is room for all tasks, or no more can be made, a port for the first of them is what may be missing. */
  #bestOffer(g: number) {
    const boxes = this.#boxes();
    const { tasks } = this.#row.demand.groups[g]!;
    const first = (box: Box, of: readonly Box[]): number =>
      freePort(box) === null ? 0 : Math.min(1, this.#room(of, box, g));
    if (g === 0 && tasks === 1) return this.#bestOf(boxes, 1, first);
    const missing = Math.max(1, tasks - this.#sum(boxes, g));
    const hasRoom = this.#isPlain() && this.#sum(boxes, g) >= tasks;
    const all = hasRoom ? undefined : this.#bestOf(boxes, missing, (box, of) => this.#room(of, box, g));
    return all ?? (g === 0 ? this.#bestOf(boxes, 1, first) : undefined);
  }

  #bestOf(boxes: readonly Box[], missing: number, room: RoomOf) {
    return boxes
      .filter((box) => box.open && this.#isHere(box))
      .flatMap((box) => this.#offer(boxes, box, missing, room) ?? [])
      .sort(
        (a, b) =>
          a.price - b.price ||
          a.victims.length - b.victims.length ||
          b.counted - a.counted ||
          (a.node < b.node ? -1 : 1),
      )[0];
  }

  /** The fewest of the node's next victims that make room for one more task. */
  #offer(boxes: readonly Box[], box: Box, missing: number, room: RoomOf) {
    const { node } = box.facts;
    const next = this.#rows.runs
      .filter((run) => !this.#out.includes(run) && run.tasks.some((task) => task.node === node))
      .filter((run) => this.#mayStop(run))
      .sort((a, b) => this.#compareVictims(a, b));
    const victims: LiveRun[] = [];
    for (const run of next) {
      // Rights are judged again as victims are added.
      if (this.#right(run, victims) === null) continue;
      victims.push(run);
      // Only what they hold of this node counts.
      const after = this.#boxes(victims).find(({ facts }) => facts === box.facts)!;
      const then = boxes.map((other) => (other === box ? after : other));
      const gain = room(after, then) - room(box, boxes);
      if (gain <= 0) continue;
      const counted = Math.min(gain, missing);
      const damage = victims.reduce((sum, victim) => sum + this.#damage(victim), 0);
      return { node, victims, counted, price: Math.floor(damage / counted) };
    }
    return null;
  }

  #mayStop(run: LiveRun): boolean {
    const right = this.#right(run);
    if (run.stopping || right === null) return false;
    if (this.#row.state.preempted.some(({ by }) => submittedJob(by) === submittedJob(run.job))) return false;
    if (!this.#answers(run) || this.#isNear(run) || this.#fresh.has(run.run)) return false;
    const tier = this.#tierOf(run);
    const minRunMs = tier?.minRunMs ?? 0;
    if (minRunMs > 0 && (run.startedMs === null || this.#nowMs < run.startedMs + minRunMs)) return false;
    // Whoever has saved its work since it started loses little, however often that happens.
    if (right === 'shorter' || right === 'move') return true;
    const { preempted } = this.#jobOf(run).state;
    const { windowMs } = this.#rows.policy.preemption;
    const recent = preempted.filter(({ atMs }) => atMs + windowMs > this.#nowMs).length;
    return recent < (tier?.preemptionsMax ?? Number.POSITIVE_INFINITY);
  }

  #answers(run: LiveRun): boolean {
    return run.tasks.every(
      (task) => this.#rows.nodes.find(({ node }) => node === task.node)?.state === 'ready',
    );
  }

  #isNear(run: LiveRun): boolean {
    const { durationMs } = this.#jobOf(run);
    const { nearEndMs } = this.#rows.policy.preemption;
    if (durationMs === null || run.startedMs === null) return false;
    const endMs = run.startedMs + durationMs;
    return endMs - nearEndMs <= this.#nowMs && this.#nowMs < endMs + nearEndMs;
  }

  /** With everything gone that is being stopped, was taken out or would be. */
  #right(run: LiveRun, more: readonly LiveRun[] = []): Right | null {
    if (this.#movable) return this.#movable.has(run.run) ? 'move' : null;
    const gone = [...this.#out, ...more];
    const runs = this.#rows.runs.filter((other) => !other.stopping && !gone.includes(other));
    return rightTo({ ...this.#rows, runs }, this.#row, this.#jobOf(run), run, this.#nowMs);
  }

  #compareVictims(a: LiveRun, b: LiveRun): number {
    const rank = (run: LiveRun): number => this.#tierOf(run)?.rank ?? Number.MIN_SAFE_INTEGER;
    return (
      rank(a) - rank(b) ||
      this.#damage(a) - this.#damage(b) ||
      (b.startedMs ?? -1) - (a.startedMs ?? -1) ||
      (a.run < b.run ? -1 : 1)
    );
  }

  #compareSparing(a: LiveRun, b: LiveRun): number {
    return (
      this.#damage(b) - this.#damage(a) ||
      (a.startedMs ?? -1) - (b.startedMs ?? -1) ||
      (a.run < b.run ? -1 : 1)
    );
  }

  /** Devices and cores at their price, from the last checkpoint or the start to now, and for going on from a checkpoint. */
  #damage(run: LiveRun): number {
    const sinceMs = run.checkpointMs ?? run.startedMs;
    if (sinceMs === null) return 0;
    const restoreMs = run.checkpointMs === null ? 0 : (this.#jobOf(run).restoreMs ?? 0);
    const lostS = Math.floor((Math.max(0, this.#nowMs - sinceMs) + restoreMs) / 1000);
    const { deviceHourMicro, coreHourMicro } = this.#rows.policy.prices;
    const hourly = run.tasks.reduce(
      (sum, { devices, deviceMilli, cpuMilli }) =>
        sum + Math.floor((devices.length * deviceMilli * deviceHourMicro + cpuMilli * coreHourMicro) / 1000),
      0,
    );
    const rate = Math.floor((hourly / 1000) * (this.#tierOf(run)?.priceMilli ?? 1000));
    return Math.floor(lostS / 3600) * rate + Math.floor((rate * (lostS % 3600)) / 3600);
  }

  #jobOf(run: LiveRun): JobRow {
    return this.#rows.jobs.find(({ job }) => job === run.job)!;
  }

  #tierOf(run: LiveRun): Tier | undefined {
    return this.#tier(this.#jobOf(run).tier);
  }

  #tier(name: string): Tier | undefined {
    return this.#rows.policy.tiers.find((tier) => tier.name === name);
  }
}
