// What has to be done to our pods beside commands: what can never start is ended, what does not end by its deadline is deleted,
// and what is over, told and kept long enough is removed, so that a cluster does not fill with objects. Times are counted from
// when something was first seen here; a server that starts anew counts anew.
import type { RunId } from '@muster/model';
import { hopeless, isStuck } from './hopeless.ts';
import { finalizer, type OurPod, type StopFacts } from './objects.ts';
import type { Pods } from './pods.ts';
import { exitOf } from './reports.ts';
import { each } from './submission.ts';

/** Longer than a kubelet takes to see a deadline. */
const deadlineSlackMs = 30_000;
/** Longer than any submit takes: nobody will bind it any more. */
const unboundMs = 10 * 60_000;

type Concern = 'stuck' | 'stopping' | 'unbound' | 'tombstone';

interface Concerned {
  readonly pod: OurPod;
  readonly is: Concern;
  readonly sinceMs: number;
}

export class Upkeep {
  readonly #pods: Pods;
  readonly #keepMs: number;
  /** When its end was committed; the oldest come first. */
  readonly #forgotten = new Map<RunId, number>();
  /** By uid: those of which something is to be done, now or later. */
  readonly #concerned = new Map<string, Concerned>();

  constructor(pods: Pods, keepMs: number) {
    this.#pods = pods;
    this.#keepMs = keepMs;
  }

  forget(run: RunId): void {
    if (!this.#forgotten.has(run)) this.#forgotten.set(run, performance.now());
  }

  isForgotten(run: RunId): boolean {
    return this.#forgotten.has(run);
  }

  change(before: OurPod | null, after: OurPod | null): void {
    const is = after && concernOf(after);
    if (after === null || is === null) {
      this.#concerned.delete((after ?? before)?.uid ?? '');
      return;
    }
    const known = this.#concerned.get(after.uid);
    const sinceMs = known?.is === is ? known.sinceMs : performance.now();
    this.#concerned.set(after.uid, { pod: after, is, sinceMs });
  }

  /** `podsOf`: those of a run that are still there. */
  async tend(podsOf: (run: RunId) => readonly OurPod[]): Promise<void> {
    const nowMs = performance.now();
    const acts: (() => Promise<void>)[] = [];
    for (const concerned of this.#concerned.values()) {
      const act = this.#actOn(concerned, nowMs - concerned.sinceMs);
      if (act) acts.push(act);
    }
    for (const [run, sinceMs] of this.#forgotten) {
      if (nowMs - sinceMs < this.#keepMs) break;
      const left = podsOf(run);
      // Told and removed: nothing of it is left to remember.
      if (left.length === 0) this.#forgotten.delete(run);
      for (const pod of left)
        if (exitOf(pod) !== null && !isLetGo(pod)) acts.push(() => this.#pods.discard(pod));
    }
    // What fails is tried again at the next look.
    await each(acts, (act) => act().catch(() => {}));
  }

  #actOn({ pod, is }: Concerned, forMs: number): (() => Promise<void>) | null {
    const given: StopFacts | null = pod.stop === null ? hopeless(pod, forMs) : null;
    if (given) return () => this.#pods.stop(pod, given, pod.graceS);
    switch (is) {
      case 'stopping':
        return forMs > (pod.graceS + (pod.askedWaitS ?? 0)) * 1000 + deadlineSlackMs
          ? () => this.#pods.delete(pod, pod.graceS)
          : null;
      case 'unbound':
        return forMs > unboundMs ? () => this.#pods.discard(pod) : null;
      case 'tombstone':
        return forMs > this.#keepMs ? () => this.#pods.discard(pod) : null;
      case 'stuck':
        return null;
    }
  }
}

/** All was done; somebody else still holds the object. */
function isLetGo({ deleting, finalizers }: OurPod): boolean {
  return deleting && !finalizers.includes(finalizer);
}

function concernOf(pod: OurPod): Concern | null {
  if (pod.tombstone) return 'tombstone';
  if (exitOf(pod) !== null) return null;
  if (pod.node === null) return 'unbound';
  if (pod.stop !== null && !pod.deleting) return 'stopping';
  return isStuck(pod) ? 'stuck' : null;
}
