// Pods that are gone without our doing, in spite of their finalizer: somebody took it off, or the cluster was restored from a
// backup. That an object is gone proves nothing of a process. It is over when its node is gone too, or when the node's kubelet was
// heard of twice since and the grace has passed: a kubelet ends what it runs and the API server does not list. Until then the task
// is reported as it was seen last, so that its room is held. A pod that is no longer listed because somebody edited its marks is not
// gone: it gets them back, and is listed again.
import type { TaskExit } from '@muster/model';
import type { ListedReport } from '../listing-driver.ts';
import type { OurPod } from './objects.ts';
import { exitOf, reportsOf } from './reports.ts';

export interface VanishedDeps {
  /** When the node's kubelet last said that it lives, in its own words; null when it cannot be asked. */
  readonly renewal: (node: string) => Promise<string | null>;
  /** Its end is told: it need not be there any more. */
  readonly isForgotten: (pod: OurPod) => boolean;
  /** Puts the marks of the very pod back; false when it is not there. */
  readonly restore: (pod: OurPod) => Promise<boolean>;
  readonly nowMs: () => number;
}

interface Ghost {
  readonly pod: OurPod;
  readonly sinceMs: number;
  /** Different words of its kubelet since. */
  readonly heard: Set<string>;
  /** That it is really gone was asked already. */
  sought: boolean;
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
    if (pod.tombstone || pod.node === null || this.#deps.isForgotten(pod)) return;
    this.#ghosts.set(pod.uid, { pod, sinceMs: this.#deps.nowMs(), heard: new Set(), sought: false });
  }

  /** It is listed, again or for the first time. */
  listed({ uid }: OurPod): void {
    this.#ghosts.delete(uid);
  }

  /** What is to be told of those that are missing. */
  async missing(isNode: (name: string) => boolean): Promise<ListedReport[]> {
    for (const [uid, { pod }] of this.#ghosts) if (this.#deps.isForgotten(pod)) this.#ghosts.delete(uid);
    // A namespace that was deleted may have had a thousand pods on a few nodes.
    const words = new Map<string, Promise<string | null>>();
    const wordOf = (node: string): Promise<string | null> => {
      const asked = words.get(node) ?? this.#deps.renewal(node);
      words.set(node, asked);
      return asked;
    };
    const ghosts = [...this.#ghosts.values()];
    return (await Promise.all(ghosts.map((ghost) => this.#reportOf(ghost, isNode, wordOf)))).flat();
  }

  /** Of this run that are gone. */
  ghostsOf(run: string): OurPod[] {
    return [...this.#ghosts.values()].map(({ pod }) => pod).filter((pod) => pod.run === run);
  }

  async #reportOf(
    ghost: Ghost,
    isNode: (name: string) => boolean,
    wordOf: (node: string) => Promise<string | null>,
  ): Promise<ListedReport[]> {
    const known = reportsOf([ghost.pod]);
    if (exitOf(ghost.pod)) return known;
    if (!(await this.#isOver(ghost, isNode, wordOf))) return known;
    const exit = vanishedExit(ghost.pod);
    return known.map((report) => ({ ...report, state: 'ended', exit }));
  }

  async #isOver(
    ghost: Ghost,
    isNode: (name: string) => boolean,
    wordOf: (node: string) => Promise<string | null>,
  ): Promise<boolean> {
    const { pod, sinceMs, heard } = ghost;
    if (pod.node === null || !isNode(pod.node)) return true;
    if (!ghost.sought) ghost.sought = !(await this.#deps.restore(pod));
    if (!ghost.sought) return false;
    const word = await wordOf(pod.node);
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
