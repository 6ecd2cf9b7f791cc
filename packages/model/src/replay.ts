// What a replay is asked and what it answers. A replay makes logged decisions again, from a snapshot and the log alone.
import type { Policy } from './policy.ts';

export interface ReplayRequest {
  /** The first decision asked about was made at this sequence or later, or at this time or later; null for the oldest there is. */
  readonly fromSequence: number | null;
  readonly fromMs: number | null;
  /** The last one was made at this sequence or before; null for all. */
  readonly toSequence: number | null;
  /** Decide under this policy instead of those that were in force. */
  readonly policy: Policy | null;
  /** With a policy: go on after the first difference, each time from the recorded history, and count. */
  readonly count: boolean;
  /** At most this many decisions. */
  readonly limit: number;
}

export interface ReplayProgress {
  readonly decisions: number;
  readonly sequence: number;
  readonly toSequence: number;
}

export interface ReplayReport {
  /** The snapshot it started from, and the version of the engine that decided again. */
  readonly snapshot: number;
  readonly engineVersion: string;
  /** Versions of the engines that had decided. */
  readonly recordedVersions: readonly string[];
  /** The sequences of the first and last decision that was compared; null when there was none. */
  readonly from: number | null;
  readonly to: number | null;
  /** Decisions compared, and how many of them came out as they were recorded. */
  readonly decisions: number;
  readonly same: number;
  /** Made again only to come to the first that was asked about. */
  readonly leadIn: number;
  readonly divergence: Divergence | null;
  /** More decisions were there than the limit. */
  readonly cut: boolean;
}

/** As the API tells it, with RFC 3339 for every moment. */
export interface ReplayView extends Omit<ReplayReport, 'divergence'> {
  readonly divergence: DivergenceView | null;
}

export interface DivergenceView extends Omit<Divergence, 'nowMs'> {
  readonly at: string;
}

/** The first decision that came out otherwise. */
export interface Divergence {
  readonly decision: number;
  readonly sequence: number;
  readonly nowMs: number;
  readonly recordedVersion: string;
  readonly recordedHash: string;
  readonly hash: string;
  /** What differs, in sentences, the first few; none when what was recorded is known by its hash only. */
  readonly words: readonly string[];
  /** Lines of the plan that only the record has, and only the replay. */
  readonly recorded: readonly string[];
  readonly replayed: readonly string[];
  /** False when what the record told the queue is known by its hash only. */
  readonly recordedVerdictsKnown: boolean;
}
