// Pods that are gone without our doing, in spite of their finalizer: somebody took it off, or the cluster was restored from a
// backup. That an object is gone proves nothing of a process. It is over when its node is gone too, or when the node's kubelet was
// heard of twice since and the grace has passed: a kubelet ends what it runs and the API server does not list. Until then the task
// is reported as it was seen last, so that its room is held.
import type { TaskExit } from '@muster/model';
import type { ListedReport } from '../listing-driver.ts';
import type { OurPod } from './objects.ts';
import { exitOf, reportsOf } from './reports.ts';

export interface VanishedDeps {
  /** When the node's kubelet last said that it lives, in its own words; null when it cannot be asked. */
  readonly renewal: (node: string) => Promise<string | null>;
  /** Its end is told: it need not be there any more. */
  readonly isForgotten: (pod: OurPod) => boolean;
  readonly nowMs: () => number;
}

interface Ghost {
  readonly pod: OurPod;
  readonly sinceMs: number;
  /** Different words of its kubelet since. */
  readonly heard: Set<string>;
}

const settleMs = 30_000;

export class Vanished {
  readonly #deps: VanishedDeps;
  readonly #ghosts = new Map<string, Ghost>();

  constructor(deps: VanishedDeps) {
    this.#deps = deps;
  }

  /** It is no longer listed. */
  gone(pod: OurPod): void {
    if (!pod.tombstone && pod.node !== null && !this.#deps.isForgotten(pod))
      this.#ghosts.set(pod.uid, { pod, sinceMs: this.#deps.nowMs(), heard: new Set() });
  }

  /** What is to be told of those that are missing. */
  async missing(isNode: (name: string) => boolean): Promise<ListedReport[]> {
    const reports: ListedReport[] = [];
    for (const [uid, ghost] of this.#ghosts)
      if (this.#deps.isForgotten(ghost.pod)) this.#ghosts.delete(uid);
      else reports.push(...(await this.#reportOf(ghost, isNode)));
    return reports;
  }

  /** Of this run that are gone. */
  ghostsOf(run: string): OurPod[] {
    return [...this.#ghosts.values()].map(({ pod }) => pod).filter((pod) => pod.run === run);
  }

  async #reportOf(ghost: Ghost, isNode: (name: string) => boolean): Promise<ListedReport[]> {
    const known = reportsOf([ghost.pod]);
    if (exitOf(ghost.pod)) return known;
    if (!(await this.#isOver(ghost, isNode))) return known;
    const exit = vanishedExit(ghost.pod);
    return known.map((report) => ({ ...report, state: 'ended', exit }));
  }

  async #isOver({ pod, sinceMs, heard }: Ghost, isNode: (name: string) => boolean): Promise<boolean> {
    if (pod.node === null || !isNode(pod.node)) return true;
    const word = await this.#deps.renewal(pod.node);
    if (word !== null) heard.add(word);
    return heard.size > 2 && this.#deps.nowMs() - sinceMs > settleMs;
  }
}

function vanishedExit({ stop, node }: OurPod): TaskExit {
  const ending = { code: null, signal: null };
  if (stop)
    return { ok: false, class: stop.class, ...ending, reason: { code: stop.code, message: stop.reason } };
  const message = `its pod vanished from Kubernetes, and ${node} runs it no more`;
  return { ok: false, class: 'infrastructure', ...ending, reason: { code: 'vanished', message } };
}
