// Our pods by run, and what is to be told of them by node. It is told of every change, so a look costs what has changed and not what
// exists: a cluster may have fifty thousand pods, and is looked at several times a second.
import type { RunId } from '@muster/model';
import type { ListedReport, ReportsByNode } from '../listing-driver.ts';
import type { OurPod } from './objects.ts';
import { reportsOf } from './reports.ts';

export class PodBook {
  readonly #pods = new Map<RunId, Map<string, OurPod>>();
  /** What was told of a run at the last look, by node. */
  readonly #told = new Map<RunId, ReadonlyMap<string, readonly ListedReport[]>>();
  readonly #byNode = new Map<string, Map<RunId, readonly ListedReport[]>>();
  readonly #listed = new Map<string, readonly ListedReport[]>();
  readonly #changedRuns = new Set<RunId>();
  readonly #isForgotten: (run: RunId) => boolean;

  constructor(isForgotten: (run: RunId) => boolean) {
    this.#isForgotten = isForgotten;
  }

  change(before: OurPod | null, after: OurPod | null): void {
    if (before !== null) {
      const held = this.#pods.get(before.run);
      held?.delete(before.uid);
      if (held?.size === 0) this.#pods.delete(before.run);
      this.#changedRuns.add(before.run);
    }
    if (after === null) return;
    const held = this.#pods.get(after.run) ?? new Map<string, OurPod>();
    this.#pods.set(after.run, held.set(after.uid, after));
    this.#changedRuns.add(after.run);
  }

  of(run: RunId): readonly OurPod[] {
    return [...(this.#pods.get(run)?.values() ?? [])];
  }

  /** What is told of it changes without a change of its pods: it is forgotten from now on. */
  touch(run: RunId): void {
    this.#changedRuns.add(run);
  }

  /** The list of a node is the same object while nothing in it changed. */
  reports(): ReportsByNode {
    const nodes = new Set<string>();
    for (const run of this.#changedRuns) this.#retell(run, nodes);
    this.#changedRuns.clear();
    for (const node of nodes) this.#relist(node);
    return this.#listed;
  }

  #retell(run: RunId, changed: Set<string>): void {
    for (const node of this.#told.get(run)?.keys() ?? []) {
      this.#byNode.get(node)?.delete(run);
      changed.add(node);
    }
    this.#told.delete(run);
    if (this.#isForgotten(run)) return;
    const reports = reportsOf(this.of(run));
    if (reports.length === 0) return;
    const byNode = Map.groupBy(reports, ({ node }) => node);
    this.#told.set(run, byNode);
    for (const [node, own] of byNode) {
      const held = this.#byNode.get(node) ?? new Map<RunId, readonly ListedReport[]>();
      this.#byNode.set(node, held.set(run, own));
      changed.add(node);
    }
  }

  #relist(node: string): void {
    const runs = this.#byNode.get(node);
    if (runs && runs.size > 0) this.#listed.set(node, [...runs.values()].flat());
    else {
      this.#byNode.delete(node);
      this.#listed.delete(node);
    }
  }
}
