// Planned starts for the naive engine: what the fleet looks like at a moment is worked out anew from everything that holds
// room then, and a job that would still run when a planned one starts is placed into what is free at both moments.
import type { Claim, EngineRows, LiveRun, NodeId } from '@muster/model';
import { withClaim } from './reference-claims.ts';
import {
  type Box,
  boxesOf,
  boxRoom,
  fillNodes,
  freePort,
  type Gang,
  type JobRow,
  placeJob,
  type Unit,
  unitOf,
} from './reference-place.ts';
import { ReferenceTenancy } from './reference-tenancy.ts';
import { requiredDomain, wholeFleet } from './reference-topology.ts';

interface Running {
  readonly run: LiveRun;
  readonly startMs: number;
  readonly endMs: number;
}

export interface ReferencePlanned extends Running {
  readonly row: JobRow;
  /** Of a job that fits wherever there is room: the nodes that had it first, and what ran when they were found. */
  readonly ready?: { readonly nodes: ReadonlySet<NodeId>; readonly before: readonly Running[] };
}

export class ReferenceFuture {
  #rows: EngineRows;
  readonly #nowMs: number;
  #running: Running[];
  readonly #depth: number;
  planned: ReferencePlanned[] = [];
  #again = 0;
  /** Jobs that got a planned start, or would if there were one. */
  readonly #tried: JobRow[] = [];

  constructor(rows: EngineRows, nowMs: number) {
    const { mode, depth } = rows.policy.backfill;
    this.#rows = rows;
    this.#nowMs = nowMs;
    this.#depth = mode === 'skip' ? 0 : mode === 'conservative' ? depth : 1;
    this.#running = rows.runs.map((run) => {
      const startMs = run.startedMs ?? run.plannedMs;
      const row = rows.jobs.find(({ job }) => job === run.job)!;
      return { run, startMs, endMs: this.#expectedEnd(startMs, this.duration(row)) };
    });
    for (const { state } of rows.jobs) if (state.state === 'queued' && state.claim) this.#keep(state.claim);
  }

  get active(): boolean {
    return this.#depth > 0;
  }

  get open(): boolean {
    return this.#tried.length < this.#depth;
  }

  duration(row: JobRow): number {
    const tier = this.#rows.policy.tiers.find(({ name }) => name === row.tier);
    return row.durationMs ?? tier?.durationMs ?? 86_400_000;
  }

  /** By which it may pass a planned start. */
  likely(row: JobRow): number {
    const { runTimes } = this.#rows.policy;
    if (runTimes.use === 'asked' || !row.estimate) return this.duration(row);
    return Math.min(row.durationMs ?? Number.MAX_SAFE_INTEGER, row.estimate.p90Ms);
  }

  /** Who passes a planned start counts for the rest of this plan as it did when it was let pass. */
  start(row: JobRow, unit: Unit): void {
    const run = runOf(unit, this.#nowMs);
    const lengthMs = this.planned.length > 0 ? this.likely(row) : this.duration(row);
    this.#running.push({ run, startMs: this.#nowMs, endMs: this.#nowMs + lengthMs });
  }

  /** What victims hold is claimed, so that nobody waits for it; all starts are planned once more. */
  claim(row: JobRow, claim: Claim): void {
    this.#rows = withClaim(this.#rows, row, claim);
    this.#keep(claim);
    this.planned = [];
    for (const each of this.#tried) this.#find(each);
  }

  #keep({ victims }: Claim): void {
    this.#running = this.#running.map((each) =>
      victims.some(({ run }) => run === each.run.run) ? { ...each, endMs: Number.POSITIVE_INFINITY } : each,
    );
  }

  /** Where the job could be from a moment on, all its time; when that is nowhere, what is in its way. */
  place(row: JobRow, atMs = this.#nowMs): Unit | 'over' | 'kept' | 'quota-kept' | 'no-room' {
    const endMs = atMs + (atMs === this.#nowMs ? this.likely(row) : this.duration(row));
    const meets = this.planned.filter(({ startMs }) => startMs > atMs && startMs < endMs);
    const now = boxesOf(this.#at(atMs));
    const later = meets.map((each) => ({ boxes: boxesOf(this.#at(each.startMs)), loads: this.#loads(each) }));
    const boxes = common([{ boxes: now, loads: now }, ...later]);
    const { policy } = this.#rows;
    if (!placeJob(boxes, row, policy)) return placeJob(now, row, policy) ? 'kept' : 'no-room';
    // An alternative that would be over a ceiling is passed over.
    const placed = placeJob(boxes, row, policy, (uses) => !this.#isOver(row, { uses }, this.#at(atMs)));
    if (!placed) return 'over';
    const { unit } = placed;
    return meets.some((each) => this.#isOver(row, unit, this.#using(each))) ? 'quota-kept' : unit;
  }

  /** Whether the reservations are whole, and stay so when all is planned once more beside the job. */
  admits(row: JobRow, unit: Unit): boolean {
    const endMs = this.#nowMs + this.likely(row);
    const before = this.planned;
    if (before.length === 0) return true;
    if (before.length === 1 && before[0]!.startMs >= endMs) return true;
    if (before.every((each) => (this.#depth === 1 ? isPlain(each.row) : isSteady(each.row)))) return true;
    if (++this.#again > 16) return before.every(({ startMs }) => startMs >= endMs);
    this.start(row, unit);
    this.planned = [];
    const again = before.map((each) => this.#find(each.row));
    const stays = again.every((each, i) => each !== null && each.startMs <= before[i]!.startMs);
    if (!stays) this.planned = before;
    this.#running.pop();
    return stays;
  }

  /** Whether it would fit if every run had ended. */
  fitsIdle(row: JobRow): boolean {
    return placeJob(boxesOf(idle(this.#rows)), row, this.#rows.policy) !== null;
  }

  /** False when it gets no planned start: enough have one, or more than ends is in its way. */
  plan(row: JobRow): boolean {
    if (!this.open || !this.fitsIdle(row)) return false;
    this.#tried.push(row);
    this.#find(row);
    return true;
  }

  #find(row: JobRow): ReferencePlanned | null {
    const ready = this.#depth === 1 && isPlain(row) ? this.#findReady(row) : null;
    if (ready) {
      this.planned.push(ready);
      return ready;
    }
    const ends = [...this.#running, ...this.planned]
      .map(({ endMs }) => endMs)
      .filter(Number.isFinite)
      .sort((a, b) => a - b);
    for (const startMs of ends) {
      const unit = this.place(row, startMs);
      if (typeof unit === 'string') continue;
      const planned = { row, run: runOf(unit, startMs), startMs, endMs: startMs + this.duration(row) };
      this.planned.push(planned);
      return planned;
    }
    return null;
  }

  /** The rows as they will be. */
  #at(ms: number): EngineRows {
    const runs = [
      ...this.#running.filter(({ endMs }) => endMs > ms),
      ...this.planned.filter(({ startMs, endMs }) => startMs <= ms && endMs > ms),
    ];
    return { ...this.#rows, runs: runs.map(({ run }) => run) };
  }

  /**
   * The earliest moment with room for all tasks, in one domain where that is required, on the nodes that have it first: by
   * time, then by node.
   */
  #findReady(row: JobRow): ReferencePlanned | null {
    const [group] = row.demand.groups;
    const moments = [this.#nowMs, ...this.#running.map(({ endMs }) => endMs).filter(Number.isFinite)].sort(
      (a, b) => a - b,
    );
    let best: { atMs: number; choice: Gang['choice']; tasksOn: Map<NodeId, number> } | null = null;
    for (const option of group!.accelerators.length === 0 ? [null] : group!.accelerators) {
      const gains: { readonly node: NodeId; readonly domain: string; readonly more: number }[] = [];
      const rooms = new Map<NodeId, number>();
      const found = moments.find((atMs) => {
        const gang = this.#gang(row, [option], boxesOf(this.#at(atMs)));
        return gang.boxes.some((box) => {
          const { node } = box.facts;
          const room = Math.min(group!.tasks, boxRoom(gang, 0, box));
          const more = room - (rooms.get(node) ?? 0);
          const domain = requiredDomain(gang, box);
          if (more <= 0 || domain === null) return false;
          rooms.set(node, room);
          gains.push({ node, domain, more });
          const inDomain = gains.filter((gain) => gain.domain === domain);
          return inDomain.reduce((sum, gain) => sum + gain.more, 0) >= group!.tasks;
        });
      });
      if (found === undefined || (best && found >= best.atMs)) continue;
      const { domain } = gains.at(-1)!;
      const tasksOn = new Map<NodeId, number>();
      let left = group!.tasks;
      for (const gain of gains) {
        const tasks = gain.domain === domain ? Math.min(left, gain.more) : 0;
        if (tasks > 0) tasksOn.set(gain.node, (tasksOn.get(gain.node) ?? 0) + tasks);
        left -= tasks;
      }
      best = { atMs: found, choice: [option], tasksOn };
    }
    return best && best.atMs > this.#nowMs ? this.#reserve(row, best) : null;
  }

  #reserve(
    row: JobRow,
    found: { atMs: number; choice: Gang['choice']; tasksOn: Map<NodeId, number> },
  ): ReferencePlanned | null {
    const { atMs, choice, tasksOn } = found;
    const then = boxesOf(this.#at(atMs));
    const boxes = boxesOf(this.#at(this.#nowMs)).map((box, i) =>
      tasksOn.has(box.facts.node) ? then[i]! : box,
    );
    const first = [...tasksOn.keys()].find(
      (node) => freePort(boxes.find(({ facts }) => facts.node === node)!) !== null,
    );
    if (!first) return null;
    const gang = this.#gang(row, choice, boxes);
    const tasks = [];
    for (const node of new Set([first, ...tasksOn.keys()])) {
      const filled = fillNodes(gang, 0, new Set([node]), tasksOn.get(node)!);
      if (filled.length < tasksOn.get(node)!) return null;
      tasks.push(...filled);
    }
    const unit = unitOf(gang, tasks);
    if (this.#isOver(row, unit, this.#at(this.#nowMs))) return null;
    const endMs = atMs + this.duration(row);
    const ready = { nodes: new Set(tasksOn.keys()), before: [...this.#running] };
    return { row, run: runOf(unit, atMs), startMs: atMs, endMs, ready };
  }

  #gang(row: JobRow, choice: Gang['choice'], boxes: Box[]): Gang {
    const { policy } = this.#rows;
    return { row, policy, choice, avoid: [], ground: wholeFleet, boxes, port: null, spread: new Map() };
  }

  /** What counts for ceilings when the job starts: of one with ready nodes, all that ran when they were found. */
  #using({ startMs, ready }: ReferencePlanned): EngineRows {
    if (!ready) return this.#at(startMs);
    const since = this.#running.filter((each) => !ready.before.includes(each) && each.endMs > startMs);
    const planned = this.planned.filter((each) => each.startMs <= startMs && each.endMs > startMs);
    return { ...this.#rows, runs: [...ready.before, ...since, ...planned].map(({ run }) => run) };
  }

  /** What counts for the resources of domains: the same, except on its own nodes. */
  #loads(planned: ReferencePlanned): Box[] {
    const then = boxesOf(this.#at(planned.startMs));
    return boxesOf(this.#using(planned)).map((box, i) =>
      planned.ready && !planned.ready.nodes.has(box.facts.node) ? box : then[i]!,
    );
  }

  #isOver(row: JobRow, unit: Pick<Unit, 'uses'>, rows: EngineRows): boolean {
    return new ReferenceTenancy(rows, this.#nowMs).isOver(row, unit.uses);
  }

  #expectedEnd(startMs: number, durationMs: number): number {
    let lengthMs = durationMs;
    while (startMs + lengthMs <= this.#nowMs) lengthMs += Math.max(60_000, Math.floor(lengthMs / 10));
    return startMs + lengthMs;
  }
}

/** Without runs and claims. */
function idle(rows: EngineRows): EngineRows {
  const unclaimed = (row: JobRow): JobRow =>
    row.state.state === 'queued' ? { ...row, state: { ...row.state, claim: null } } : row;
  return { ...rows, runs: [], jobs: rows.jobs.map(unclaimed) };
}

function isSteady(row: JobRow): boolean {
  return isPlain(row) && row.demand.topology === null && row.demand.groups[0]!.topology === null;
}

function isPlain({ demand }: JobRow): boolean {
  const [group, ...others] = demand.groups;
  return others.length === 0 && group!.near === null;
}

function runOf(unit: Unit, plannedMs: number): LiveRun {
  const { run, job, attempt, exclusive, tasks, port, uses } = unit;
  const facts = { run, job, attempt, exclusive, tasks, port, uses };
  return { ...facts, plannedMs, startedMs: null, checkpointMs: null, stopping: false };
}

/** Boxes with what is free at all of these moments; `loads` count for the resources of domains. */
function common(
  moments: readonly { readonly boxes: readonly Box[]; readonly loads: readonly Box[] }[],
): Box[] {
  const [now, ...later] = moments;
  if (later.length === 0) return [...now!.boxes];
  return now!.boxes.map((box, i) => {
    const all = moments.map(({ boxes }) => boxes[i]!);
    const taken = new Map<number, number>();
    for (const each of all)
      for (const [index, milli] of each.taken) taken.set(index, Math.max(milli, taken.get(index) ?? 0));
    const base = { tasks: box.tasks, taken: new Map(taken) };
    const loads = moments.map((each) => each.loads[i]!);
    return {
      ...box,
      cpuMilli: Math.min(...all.map(({ cpuMilli }) => cpuMilli)),
      memoryMib: Math.min(...all.map(({ memoryMib }) => memoryMib)),
      taken,
      ports: new Set(all.flatMap(({ ports }) => [...ports])),
      jobs: new Set(all.flatMap(({ jobs }) => [...jobs])),
      exclusive: all.some(({ exclusive }) => exclusive),
      beside: { base, moments: loads.map((load) => ({ tasks: load.tasks, taken: load.taken })) },
    };
  });
}
