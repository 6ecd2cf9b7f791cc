// On which nodes of a cluster each run is reported, kept as the lists of the nodes change.
import type { ReportsByNode } from '@muster/drivers';
import type { RunId } from '@muster/model';

type Reports = readonly { readonly run: RunId }[];

export class RunPlaces {
  readonly #lists = new Map<string, Reports>();
  readonly #nodes = new Map<RunId, Set<string>>();

  see(reports: ReportsByNode): void {
    for (const node of [...this.#lists.keys()]) if (!reports.has(node)) this.#replace(node, []);
    for (const [node, list] of reports) if (this.#lists.get(node) !== list) this.#replace(node, list);
  }

  has(run: RunId): boolean {
    return this.#nodes.has(run);
  }

  of(run: RunId): readonly string[] {
    return [...(this.#nodes.get(run) ?? [])];
  }

  #replace(node: string, list: Reports): void {
    for (const { run } of this.#lists.get(node) ?? []) {
      const nodes = this.#nodes.get(run);
      nodes?.delete(node);
      if (nodes?.size === 0) this.#nodes.delete(run);
    }
    for (const { run } of list) this.#nodes.set(run, (this.#nodes.get(run) ?? new Set()).add(node));
    if (list.length > 0) this.#lists.set(node, list);
    else this.#lists.delete(node);
  }
}
