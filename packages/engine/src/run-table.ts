// Runs as the search for victims sees them: which are on a node, what a lost hour of each costs, since when its work is
// not saved. Columns and linked lists in typed arrays, because a search looks at every run of a hundred thousand and a
// fork copies them. One *link* is one run on one node; the links of a run and those of a node are chained.
import { invariant, type LiveRun, type NodeId, type RunId } from '@muster/model';
import { grown } from './columns.ts';
import { ForkMap } from './fork-map.ts';

export const nowhere = -1;

export class RunTable {
  #slots = new ForkMap<RunId, number>();
  live: (LiveRun | undefined)[] = [];
  /** Slot of its job. */
  job = new Int32Array(0);
  /** What an hour of its devices and cores costs, in micro-money. */
  rate = new Float64Array(0);
  /** -1 before it runs. */
  startedMs = new Float64Array(0);
  /** Since when its work is not saved: its last checkpoint, or its start. */
  savedMs = new Float64Array(0);
  /** When it must have ended at the latest; infinite when nobody knows. */
  endMs = new Float64Array(0);
  durationMs = new Float64Array(0);
  stopping = new Uint8Array(0);
  /** Set within one plan: it is to be stopped by it; and while a search counts it as gone. */
  doomed = new Uint8Array(0);
  gone = new Uint8Array(0);
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
    other.job = this.job.slice();
    other.rate = this.rate.slice();
    other.startedMs = this.startedMs.slice();
    other.savedMs = this.savedMs.slice();
    other.endMs = this.endMs.slice();
    other.durationMs = this.durationMs.slice();
    other.stopping = this.stopping.slice();
    other.doomed = new Uint8Array(this.doomed.length);
    other.gone = new Uint8Array(this.gone.length);
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

  add(run: LiveRun, job: number, rate: number, durationMs: number, nodeSlot: (node: NodeId) => number): void {
    const slot = this.#vacant.pop() ?? this.live.length;
    this.#grow(slot + 1);
    this.#slots.set(run.run, slot);
    this.job[slot] = job;
    this.rate[slot] = rate;
    this.durationMs[slot] = durationMs;
    this.firstLink[slot] = nowhere;
    this.doomed[slot] = 0;
    this.gone[slot] = 0;
    this.update(run);
    let last: NodeId | null = null;
    const seen = run.tasks.length > 1 ? new Set<NodeId>() : null;
    for (const { node } of run.tasks) {
      if (node === last || seen?.has(node)) continue;
      last = node;
      seen?.add(node);
      this.#link(slot, nodeSlot(node));
    }
  }

  /** Its start, its checkpoint or its stop is news. */
  update(run: LiveRun): void {
    const slot = this.slotOf(run.run);
    this.live[slot] = run;
    this.startedMs[slot] = run.startedMs ?? nowhere;
    this.endMs[slot] =
      run.startedMs === null ? Number.POSITIVE_INFINITY : run.startedMs + this.durationMs[slot]!;
    this.savedMs[slot] = run.checkpointMs ?? run.startedMs ?? nowhere;
    this.stopping[slot] = run.stopping ? 1 : 0;
  }

  setRate(run: RunId, rate: number): void {
    this.rate[this.slotOf(run)] = rate;
  }

  remove(run: RunId): void {
    const slot = this.slotOf(run);
    invariant(slot >= 0, `run ${run} is not in the table`);
    for (let link = this.firstLink[slot]!; link >= 0; ) {
      const following = this.linkOfRun[link]!;
      this.#unlink(link);
      link = following;
    }
    this.#slots.delete(run);
    this.live[slot] = undefined;
    this.#vacant.push(slot);
  }

  /** First link of the runs on a node; follow `linkNext`. */
  first(node: number): number {
    return node < this.onNode.length ? this.onNode[node]! - 1 : nowhere;
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
    this.endMs = grown(this.endMs, size);
    this.durationMs = grown(this.durationMs, size);
    this.stopping = grown(this.stopping, size);
    this.doomed = grown(this.doomed, size);
    this.gone = grown(this.gone, size);
    this.firstLink = grown(this.firstLink, size);
  }
}
