// When to beat: every `beatMs`, and at once when a start command came. One beat at a time: what comes meanwhile goes with
// the next one, right after the answer. The time a beat was SENT is what its renewals count from.
import type { RunId } from '@muster/model';

export interface SentBeat {
  readonly keys: readonly RunId[];
  /** Boot clock, read before sending: the run's time begins no later than the server's. */
  readonly sentMs: number;
}

export interface BeatDeps {
  readonly keys: () => readonly RunId[];
  readonly send: (beat: number, keys: readonly RunId[]) => void;
  readonly nowMs: () => number;
  /** No answer came in time; the connection is of no use. */
  readonly silent: () => void;
}

const shortestPatienceMs = 10_000;

export class Beats {
  readonly #deps: BeatDeps;
  #beatMs: number;
  #number = 0;
  #inFlight: SentBeat | null = null;
  #again = false;
  #stopped = false;
  #timer: NodeJS.Timeout | null = null;
  #patience: NodeJS.Timeout | null = null;

  constructor(beatMs: number, deps: BeatDeps) {
    this.#beatMs = beatMs;
    this.#deps = deps;
    this.now();
  }

  now(): void {
    if (this.#stopped) return;
    if (this.#inFlight) {
      this.#again = true;
      return;
    }
    this.#clear();
    const keys = this.#deps.keys();
    this.#inFlight = { keys, sentMs: this.#deps.nowMs() };
    this.#deps.send(++this.#number, keys);
    this.#patience = setTimeout(this.#deps.silent, Math.max(shortestPatienceMs, 2 * this.#beatMs));
  }

  /** Null for an answer to no beat of ours. */
  renewed(beat: number, beatMs: number): SentBeat | null {
    if (beat !== this.#number || !this.#inFlight) return null;
    const sent = this.#inFlight;
    this.#inFlight = null;
    this.#beatMs = beatMs;
    this.#clear();
    if (this.#again) {
      this.#again = false;
      // After the caller has acted on this answer.
      setImmediate(() => this.now());
    } else {
      this.#timer = setTimeout(() => this.now(), Math.max(10, beatMs - (this.#deps.nowMs() - sent.sentMs)));
    }
    return sent;
  }

  stop(): void {
    this.#stopped = true;
    this.#clear();
  }

  #clear(): void {
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#patience) clearTimeout(this.#patience);
    this.#timer = null;
    this.#patience = null;
  }
}
