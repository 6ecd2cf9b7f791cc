// What has to be done to our pods beside commands: what can never start is ended, what does not end by its deadline is deleted,
// and what is over, told and kept long enough is removed, so that a cluster does not fill with objects. Times are counted from
// when something was first seen here; a server that starts anew counts anew.
import type { RunId } from '@muster/model';
import { hopeless, isStuck } from './hopeless.ts';
import type { OurPod, StopFacts } from './objects.ts';
import type { Pods } from './pods.ts';
import { exitOf } from './reports.ts';
import { each } from './submission.ts';

/** Longer than a kubelet takes to see a deadline. */
const deadlineSlackMs = 30_000;
/** Longer than any submit takes: nobody will bind it any more. */
const unboundMs = 10 * 60_000;

type Concern = 'stuck' | 'stopping' | 'unbound' | 'tombstone';

export class Upkeep {
  readonly #pods: Pods;
  readonly #keepMs: number;
  /** When its end was committed. */
  readonly #forgotten = new Map<RunId, number>();
  /** By uid: what it is seen to be, and since when. */
  readonly #concerns = new Map<string, { readonly is: Concern; readonly sinceMs: number }>();

  constructor(pods: Pods, keepMs: number) {
    this.#pods = pods;
    this.#keepMs = keepMs;
  }

  forget(run: RunId): void {
    this.#forgotten.set(run, performance.now());
  }

  isForgotten({ run }: { readonly run: RunId }): boolean {
    return this.#forgotten.has(run);
  }

  async tend(pods: ReadonlyMap<string, OurPod>): Promise<void> {
    const nowMs = performance.now();
    for (const uid of this.#concerns.keys()) if (!pods.has(uid)) this.#concerns.delete(uid);
    const acts: (() => Promise<void>)[] = [];
    for (const pod of pods.values()) {
      const act = this.#actOn(pod, this.#note(pod, nowMs), nowMs);
      if (act) acts.push(act);
    }
    this.#dropKept(pods, nowMs);
    // What fails is tried again at the next look.
    await each(acts, (act) => act().catch(() => {}));
  }

  #note(pod: OurPod, nowMs: number): number {
    const is = concernOf(pod);
    const before = this.#concerns.get(pod.uid);
    if (is === null) this.#concerns.delete(pod.uid);
    else if (before?.is !== is) this.#concerns.set(pod.uid, { is, sinceMs: nowMs });
    return nowMs - (this.#concerns.get(pod.uid)?.sinceMs ?? nowMs);
  }

  #actOn(pod: OurPod, forMs: number, nowMs: number): (() => Promise<void>) | null {
    const given: StopFacts | null = pod.stop === null ? hopeless(pod, forMs) : null;
    if (given) return () => this.#pods.stop(pod, given, pod.graceS);
    switch (this.#concerns.get(pod.uid)?.is) {
      case 'stopping':
        return forMs > pod.graceS * 1000 + deadlineSlackMs ? () => this.#pods.delete(pod, pod.graceS) : null;
      case 'unbound':
        return forMs > unboundMs ? () => this.#pods.discard(pod) : null;
      case 'tombstone':
        return forMs > this.#keepMs ? () => this.#pods.discard(pod) : null;
      default: {
        const overMs = this.#forgotten.get(pod.run);
        const kept = overMs !== undefined && exitOf(pod) !== null && nowMs - overMs >= this.#keepMs;
        return kept ? () => this.#pods.discard(pod) : null;
      }
    }
  }

  /** Told and removed: nothing of it is left to remember. */
  #dropKept(pods: ReadonlyMap<string, OurPod>, nowMs: number): void {
    const there = new Set([...pods.values()].map(({ run }) => run));
    for (const [run, sinceMs] of this.#forgotten)
      if (nowMs - sinceMs >= this.#keepMs && !there.has(run)) this.#forgotten.delete(run);
  }
}

function concernOf(pod: OurPod): Concern | null {
  if (pod.tombstone) return 'tombstone';
  if (exitOf(pod) !== null) return null;
  if (pod.node === null) return 'unbound';
  if (pod.stop !== null && !pod.deleting) return 'stopping';
  return isStuck(pod) ? 'stuck' : null;
}
