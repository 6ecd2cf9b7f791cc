// Runs as the search for victims sees them: which are on a node, what a lost hour of each costs, since when its work is
// not saved. Columns and linked lists in typed arrays, because a search looks at every run of a hundred thousand and a
// fork copies them. One *link* is one run on one node; the links of a run and those of a node are chained. Runs that nobody
// stops are also chained by project, tier and keys, because rights are to those: who looks for victims starts there.
import type { LiveRun, NodeId, RunId } from '@muster/model';
import { grown } from './columns.ts';
import { ForkMap } from './fork-map.ts';
import { type Ask, areEqual } from './resource-keys.ts';
import { SortedInts } from './sorted-ints.ts';

export const nowhere = -1;

/** What the table is told of a run beside the run itself. */
export interface RunOwner {
  readonly job: number;
  /** Id of the job's project. */
  readonly project: number;
  readonly tier: string;
  readonly uses: Ask;
  /** What an hour of its devices and cores costs, in micro-money. */
  readonly rate: number;
  readonly durationMs: number;
  /** What its job takes to go on from a checkpoint. */
  readonly restoreMs: number;
}

/**
 * Runs of one project and tier that use the same keys and are not being stopped; in no order that a decision may rest on. Who
 * has a right to one of them by tier or to reclaim has it to all.
 */
export interface RunGroup {
  readonly id: number;
  readonly project: number;
  readonly tier: string;
  readonly keys: readonly number[];
  first: number;
  count: number;
}

export class RunTable {
  #slots = new ForkMap<RunId, number>();
  live: (LiveRun | undefined)[] = [];
  /** What it uses. */
  uses: (Ask | undefined)[] = [];
  /** Slot of its job. */
  job = new Int32Array(0);
  /** What an hour of its devices and cores costs, in micro-money. */
  rate = new Float64Array(0);
  /** -1 before it runs. */
  startedMs = new Float64Array(0);
  /** Since when its work is not saved: its last checkpoint, or its start. */
  savedMs = new Float64Array(0);
  /** What going on from its last checkpoint takes; 0 for one that has none and begins anew. */
  restoreMs = new Float64Array(0);
  #restoreMs = new Float64Array(0);
  /** When it must have ended at the latest; infinite when nobody knows. */
  endMs = new Float64Array(0);
  durationMs = new Float64Array(0);
  stopping = new Uint8Array(0);
  /** Set within one plan: it is to be stopped by it; and while a search counts it as gone. */
  doomed = new Uint8Array(0);
  gone = new Uint8Array(0);
  groups: RunGroup[] = [];
  /** The same by project. */
  groupsOf: (RunGroup[] | undefined)[] = [];
  /** Runs that are being stopped. */
  stopped = new Set<number>();
  /** Runs with a known end, earliest first. */
  ends = new SortedInts((a, b) => this.#compareEnds(a, b));
  /** The group of each run, and its neighbours there. */
  #group = new Int32Array(0);
  nextOfGroup = new Int32Array(0);
  #previousOfGroup = new Int32Array(0);
  firstLink = new Int32Array(0);
  linkRun = new Int32Array(0);
  linkNode = new Int32Array(0);
  linkOfRun = new Int32Array(0);
  linkNext = new Int32Array(0);
  linkPrevious = new Int32Array(0);
  /** First link of each node. */
  onNode = new Int32Array(0);
  #vacant: number[] = [];
  #links = 0;
  #vacantLink = nowhere;

  copy(): RunTable {
    const other = new RunTable();
    other.#slots = this.#slots.fork();
    other.live = this.live.slice();
    other.uses = this.uses.slice();
    other.job = this.job.slice();
    other.rate = this.rate.slice();
    other.startedMs = this.startedMs.slice();
    other.savedMs = this.savedMs.slice();
    other.restoreMs = this.restoreMs.slice();
    other.#restoreMs = this.#restoreMs.slice();
    other.endMs = this.endMs.slice();
    other.durationMs = this.durationMs.slice();
    other.stopping = this.stopping.slice();
    other.doomed = new Uint8Array(this.doomed.length);
    other.gone = new Uint8Array(this.gone.length);
    other.groups = this.groups.map((group) => ({ ...group }));
    for (const group of other.groups) pushTo(other.groupsOf, group);
    other.stopped = new Set(this.stopped);
    other.ends = this.ends.copy((a, b) => other.#compareEnds(a, b));
    other.#group = this.#group.slice();
    other.nextOfGroup = this.nextOfGroup.slice();
    other.#previousOfGroup = this.#previousOfGroup.slice();
    other.firstLink = this.firstLink.slice();
    other.linkRun = this.linkRun.slice();
    other.linkNode = this.linkNode.slice();
    other.linkOfRun = this.linkOfRun.slice();
    other.linkNext = this.linkNext.slice();
    other.linkPrevious = this.linkPrevious.slice();
    other.onNode = this.onNode.slice();
    other.#vacant = this.#vacant.slice();
    other.#links = this.#links;
    other.#vacantLink = this.#vacantLink;
    return other;
  }

  get size(): number {
    return this.#slots.size;
  }

  slotOf(run: RunId): number {
    return this.#slots.get(run) ?? nowhere;
  }

  /** Returns its slot. */
  add(run: LiveRun, owner: RunOwner, nodeSlot: (node: NodeId) => number): number {
    const slot = this.#vacant.pop() ?? this.live.length;
    this.#grow(slot + 1);
    this.#slots.set(run.run, slot);
    this.job[slot] = owner.job;
    this.uses[slot] = owner.uses;
    this.rate[slot] = owner.rate;
    this.durationMs[slot] = owner.durationMs;
    this.#restoreMs[slot] = owner.restoreMs;
    this.firstLink[slot] = nowhere;
    this.doomed[slot] = 0;
    this.gone[slot] = 0;
    this.#group[slot] = this.#groupOf(owner);
    this.#write(slot, run);
    let last: NodeId | null = null;
    const seen = run.tasks.length > 1 ? new Set<NodeId>() : null;
    for (const { node } of run.tasks) {
      if (node === last || seen?.has(node)) continue;
      last = node;
      seen?.add(node);
      this.#link(slot, nodeSlot(node));
    }
    return slot;
  }

  /** Its start, its checkpoint or its stop is news. */
  update(slot: number, run: LiveRun): void {
    this.#erase(slot);
    this.#write(slot, run);
  }

  #write(slot: number, run: LiveRun): void {
    this.live[slot] = run;
    this.startedMs[slot] = run.startedMs ?? nowhere;
    this.endMs[slot] =
      run.startedMs === null ? Number.POSITIVE_INFINITY : run.startedMs + this.durationMs[slot]!;
    this.savedMs[slot] = run.checkpointMs ?? run.startedMs ?? nowhere;
    this.restoreMs[slot] = run.checkpointMs === null ? 0 : this.#restoreMs[slot]!;
    this.stopping[slot] = run.stopping ? 1 : 0;
    if (this.endMs[slot] !== Number.POSITIVE_INFINITY) this.ends.insert(slot);
    if (run.stopping) this.stopped.add(slot);
    else this.#join(slot);
  }

  /** Out of the lists that `#write` put it in. */
  #erase(slot: number): void {
    if (this.endMs[slot] !== Number.POSITIVE_INFINITY) this.ends.remove(slot);
    if (this.stopping[slot] === 1) this.stopped.delete(slot);
    else this.#part(slot);
  }

  setRate(run: RunId, rate: number): void {
    this.rate[this.slotOf(run)] = rate;
  }

  remove(slot: number): void {
    const { run } = this.live[slot]!;
    for (let link = this.firstLink[slot]!; link >= 0; ) {
      const following = this.linkOfRun[link]!;
      this.#unlink(link);
      link = following;
    }
    this.#erase(slot);
    this.#slots.delete(run);
    this.live[slot] = undefined;
    this.uses[slot] = undefined;
    this.#vacant.push(slot);
  }

  /** First link of the runs on a node; follow `linkNext`. */
  first(node: number): number {
    return node < this.onNode.length ? this.onNode[node]! - 1 : nowhere;
  }

  /** Each node on which the run has tasks. */
  tellNodes(run: number, tell: (node: number) => void): void {
    for (let link = this.firstLink[run]!; link >= 0; link = this.linkOfRun[link]!) tell(this.linkNode[link]!);
  }

  /** Whether all its tasks are on one node. */
  isOnOne(run: number): boolean {
    return this.linkOfRun[this.firstLink[run]!] === nowhere;
  }

  readonly #compareEnds = (a: number, b: number): number => this.endMs[a]! - this.endMs[b]! || a - b;

  #groupOf({ project, tier, uses }: RunOwner): number {
    const { keys } = uses;
    // A project has few: as many as there are tiers and kinds of devices that it uses.
    for (const group of this.groupsOf[project] ?? [])
      if (group.tier === tier && areEqual(group.keys, keys)) return group.id;
    const group = { id: this.groups.length, project, tier, keys, first: nowhere, count: 0 };
    this.groups.push(group);
    pushTo(this.groupsOf, group);
    return group.id;
  }

  #join(slot: number): void {
    const group = this.groups[this.#group[slot]!]!;
    this.nextOfGroup[slot] = group.first;
    this.#previousOfGroup[slot] = nowhere;
    if (group.first >= 0) this.#previousOfGroup[group.first] = slot;
    group.first = slot;
    group.count++;
  }

  #part(slot: number): void {
    const group = this.groups[this.#group[slot]!]!;
    const next = this.nextOfGroup[slot]!;
    const previous = this.#previousOfGroup[slot]!;
    if (next >= 0) this.#previousOfGroup[next] = previous;
    if (previous >= 0) this.nextOfGroup[previous] = next;
    else group.first = next;
    group.count--;
  }

  #link(run: number, node: number): void {
    let link = this.#vacantLink;
    if (link >= 0) this.#vacantLink = this.linkNext[link]!;
    else {
      link = this.#links++;
      this.linkRun = grown(this.linkRun, this.#links);
      this.linkNode = grown(this.linkNode, this.#links);
      this.linkOfRun = grown(this.linkOfRun, this.#links);
      this.linkNext = grown(this.linkNext, this.#links);
      this.linkPrevious = grown(this.linkPrevious, this.#links);
    }
    this.onNode = grown(this.onNode, node + 1);
    const next = this.onNode[node]! - 1;
    this.linkRun[link] = run;
    this.linkNode[link] = node;
    this.linkOfRun[link] = this.firstLink[run]!;
    this.firstLink[run] = link;
    this.linkNext[link] = next;
    this.linkPrevious[link] = nowhere;
    if (next >= 0) this.linkPrevious[next] = link;
    // Stored one higher, so that a fresh column of zeros says "none".
    this.onNode[node] = link + 1;
  }

  #unlink(link: number): void {
    const next = this.linkNext[link]!;
    const previous = this.linkPrevious[link]!;
    if (next >= 0) this.linkPrevious[next] = previous;
    if (previous >= 0) this.linkNext[previous] = next;
    else this.onNode[this.linkNode[link]!] = next + 1;
    this.linkNext[link] = this.#vacantLink;
    this.#vacantLink = link;
  }

  #grow(size: number): void {
    this.job = grown(this.job, size);
    this.rate = grown(this.rate, size);
    this.startedMs = grown(this.startedMs, size);
    this.savedMs = grown(this.savedMs, size);
    this.restoreMs = grown(this.restoreMs, size);
    this.#restoreMs = grown(this.#restoreMs, size);
    this.endMs = grown(this.endMs, size);
    this.durationMs = grown(this.durationMs, size);
    this.stopping = grown(this.stopping, size);
    this.doomed = grown(this.doomed, size);
    this.gone = grown(this.gone, size);
    this.#group = grown(this.#group, size);
    this.nextOfGroup = grown(this.nextOfGroup, size);
    this.#previousOfGroup = grown(this.#previousOfGroup, size);
    this.firstLink = grown(this.firstLink, size);
  }
}

function pushTo(groupsOf: (RunGroup[] | undefined)[], group: RunGroup): void {
  const known = groupsOf[group.project];
  if (known) known.push(group);
  else groupsOf[group.project] = [group];
}
