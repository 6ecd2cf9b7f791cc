// The engine's whole answer for a waiting job: its verdict, who is ahead of it and by which rule, how what is free lies, and
// the single changes that would start it now. Every change was tried on the engine before it is told. Texts for people are
// in explanation-text.ts.
import type { Constraint } from './demand.ts';
import type { JobId, RunId } from './ids.ts';
import type { Verdict } from './verdict.ts';

export interface Explanation {
  readonly verdict: Verdict;
  /** Who stands before it; null for a job that is not in line. */
  readonly ahead: Ahead | null;
  /** How the devices that its group asks for lie; null where that is not what it waits for. */
  readonly room: RoomReport | null;
  /** Changes of the job or of a quota of which each alone would start it now. */
  readonly changes: readonly Change[];
  readonly ends: Ends;
  /** False when trying was cut short at its bound: there may be more that would help. */
  readonly complete: boolean;
}

/** As the API tells it, with RFC 3339 for every moment; the verdict is beside it. */
export interface ExplanationView extends Omit<Explanation, 'verdict' | 'ahead' | 'ends'> {
  readonly ahead: { readonly count: number; readonly jobs: readonly AheadJobView[] } | null;
  readonly ends: { readonly count: number; readonly runs: readonly HelpfulEndView[] };
}

/** What is tried for one answer: steps (a lane lined up, a task placed) for changes and for ends, and how many runs at most. */
export const explainBound = { changeSteps: 40_000, endSteps: 20_000, runs: 1024 } as const;

/** The order as things stand: what is served while a cycle goes on may change the order of projects. */
export interface Ahead {
  /** Waiting jobs before it. */
  readonly count: number;
  /** The first few of them. */
  readonly jobs: readonly AheadJob[];
}

export interface AheadJob {
  readonly job: JobId;
  readonly project: string;
  readonly because: OrderRule;
}

/** The first difference of two jobs in the order of decision 0007, section 2. */
export type OrderRule =
  /** It has waited so long that nothing else counts; since when. */
  | { readonly rule: 'starved'; readonly sinceMs: number }
  | { readonly rule: 'tier'; readonly theirs: string; readonly yours: string }
  /** With its next job the project stays within its guarantee, and the other does not. */
  | { readonly rule: 'guarantee'; readonly theirs: string; readonly yours: string }
  /** Weighted dominant shares, in millionths, of the projects in which the two differ. */
  | {
      readonly rule: 'share';
      readonly theirs: string;
      readonly theirShare: number;
      readonly yours: string;
      readonly yourShare: number;
    }
  /** Equal shares: by the names of the projects. */
  | { readonly rule: 'project-name'; readonly theirs: string; readonly yours: string }
  /** Its deadline is near: the latest start that keeps it. */
  | { readonly rule: 'deadline'; readonly latestStartMs: number }
  /** A higher priority, more than waiting has made up for. */
  | { readonly rule: 'priority'; readonly theirs: number; readonly yours: number }
  /** It is expected to be shorter, by more than waiting has made up for; null where nothing was said of a job. */
  | { readonly rule: 'expected'; readonly theirMs: number | null; readonly yourMs: number | null }
  /** It goes before a job of your project that goes before yours. */
  | { readonly rule: 'own-project' }
  | { readonly rule: 'submitted'; readonly submittedMs: number };

export interface AheadJobView extends Omit<AheadJob, 'because'> {
  readonly because: OrderRuleView;
}

export type OrderRuleView =
  | Exclude<OrderRule, { rule: 'starved' | 'deadline' | 'submitted' }>
  | { readonly rule: 'starved'; readonly since: string }
  | { readonly rule: 'deadline'; readonly latestStart: string }
  | { readonly rule: 'submitted'; readonly submittedAt: string };

export interface RoomReport {
  readonly group: string;
  /** The resource key of what a task asks for: `gpu` or `gpu/H100`. */
  readonly key: string;
  readonly tasks: number;
  /** Thousandths of devices that a task needs on one node. */
  readonly taskMilli: number;
  /** Thousandths that are free on nodes where a task may run, and how many nodes have any. */
  readonly freeMilli: number;
  readonly freeNodes: number;
  /** Nodes that could take a task now. */
  readonly taskNodes: number;
  /** The largest gang of this group that fits now. */
  readonly tasksFit: number;
  /** How many nodes have how much free, the most first; at most eight rows. */
  readonly spread: readonly { readonly freeMilli: number; readonly nodes: number }[];
  /** Of a required level of the topology the place that holds most; null without one. */
  readonly place: {
    readonly level: string;
    readonly name: string;
    readonly freeMilli: number;
    readonly tasksFit: number;
  } | null;
}

export type Change = ChangeKind & {
  /** Runs that it would stop to start; with none it starts at once. */
  readonly victims: number;
};

export type ChangeKind =
  /** The largest number of tasks of a group that starts. */
  | { readonly kind: 'tasks'; readonly group: string; readonly from: number; readonly to: number }
  /** Another model for one alternative of a group; alternatives count from 0. */
  | (OfAlternative & { readonly kind: 'model'; readonly from: string; readonly to: string })
  /** The largest number of devices a task that starts. */
  | (OfAlternative & { readonly kind: 'devices'; readonly from: number; readonly to: number })
  | (OfAlternative & {
      readonly kind: 'property';
      readonly property: 'memory' | 'interconnect' | 'generation';
    })
  /** One rule left out; rules count from 0. */
  | { readonly kind: 'constraint'; readonly index: number; readonly rule: Constraint }
  /** The narrowest wider level that starts; null: without it. `group` is null for the topology of the whole job. */
  | {
      readonly kind: 'topology';
      readonly group: string | null;
      readonly from: string;
      readonly to: string | null;
    }
  | { readonly kind: 'near'; readonly group: string; readonly from: string; readonly to: string | null }
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'tier'; readonly from: string; readonly to: string }
  /** The longest that starts, in whole seconds: it ends before the room is kept for another job. `from` is null without one. */
  | { readonly kind: 'time-limit'; readonly fromMs: number | null; readonly toMs: number }
  /** The ceiling of a project, or of one user in it; to null: none at all. */
  | {
      readonly kind: 'ceiling';
      readonly project: string;
      readonly user: string | null;
      readonly key: string;
      readonly from: number;
      readonly to: number | null;
    };

interface OfAlternative {
  readonly group: string;
  readonly alternative: number;
}

/** Runs of which each alone, by ending, would let the job start. */
export interface Ends {
  /** How many were found. */
  readonly count: number;
  /** The first few, those whose known end is soonest first. */
  readonly runs: readonly HelpfulEnd[];
}

export interface HelpfulEnd {
  readonly job: JobId;
  readonly project: string;
  readonly run: RunId;
  /** When it is expected to end by its time limit or its tier's default; null before it has started. */
  readonly endMs: number | null;
}

export interface HelpfulEndView extends Omit<HelpfulEnd, 'endMs'> {
  readonly endsAt: string | null;
}

export const noEnds: Ends = { count: 0, runs: [] };

/** For a job that is not in line: its verdict says all there is. */
export function onlyVerdict(verdict: Verdict): Explanation {
  return { verdict, ahead: null, room: null, changes: [], ends: noEnds, complete: true };
}
