// The engine's answer for a queued job. Reasons are values made where the decision is made; CLI, API and web show
// them unchanged through `verdictText`.
import type { JobId, NodeId } from './ids.ts';
import { amountText } from './quota.ts';

/** What a node lacks for one task, in the order it is looked for; a node is counted under the first that holds. */
export type Lack =
  | 'constraint' // a required label or capability does not match
  | 'device-model' // no device of the kind, model and memory asked for
  | 'device-count' // such devices, but never as many on one node
  | 'cpu-total' // never as many cores
  | 'memory-total' // never as much memory
  | 'draining' // an operator keeps new work off it
  | 'quarantined' // Muster does, for what its agent sent
  | 'silent' // not heard from
  | 'devices-busy' // enough devices, not free now
  | 'cpu-busy'
  | 'memory-busy'
  | 'exclusive' // other jobs are on it and this job wants it alone, or the other way round
  | 'ports-busy'
  | 'resource-busy' // its rack, or another domain it is in, has too little of a countable resource left
  | 'topology'; // it could take a task, but its domain cannot take what must be together

/** Lacks that pass when other jobs end or nodes come back; the rest are what the node is. */
export const passingLacks: readonly Lack[] = [
  'draining',
  'quarantined',
  'silent',
  'devices-busy',
  'cpu-busy',
  'memory-busy',
  'exclusive',
  'ports-busy',
  'resource-busy',
  'topology',
];

export type Verdict =
  | { readonly kind: 'placed'; readonly nodes: readonly NodeId[] }
  | {
      readonly kind: 'waits';
      readonly reasons: readonly WaitReason[];
      /** Only of jobs that have one, and only when asked: what is told and stored does not move with time. */
      readonly planned?: PlannedStart;
    }
  | {
      readonly kind: 'impossible';
      readonly reasons: readonly ImpossibleReason[];
      readonly nearest: readonly string[];
    };

/** When a job that waits for room is expected to start, if nothing of higher order comes. */
export interface PlannedStart {
  readonly startMs: number;
  /** Runs on the places it is to get that are expected to end until then. */
  readonly runs: number;
  /** Of those, how many have no time limit and are taken to run as long as their tier's default. */
  readonly assumed: number;
  /** And how many have already run longer than was expected. */
  readonly overdue: number;
}

export interface PlannedJob extends PlannedStart {
  readonly job: JobId;
}

/** As the API tells it, with RFC 3339 for every moment. */
export type VerdictView =
  | Exclude<Verdict, { kind: 'waits' }>
  | {
      readonly kind: 'waits';
      readonly reasons: readonly WaitReasonView[];
      readonly planned?: PlannedStartView;
    };

export interface PlannedStartView extends Omit<PlannedStart, 'startMs'> {
  readonly startsAt: string;
}

export type WaitReasonView =
  | Exclude<WaitReason, { code: 'not-before' | 'near-end' | 'reserved' }>
  | { readonly code: 'not-before'; readonly until: string; readonly failures: number }
  | { readonly code: 'near-end'; readonly job: JobId; readonly endsAt: string | null }
  | { readonly code: 'reserved'; readonly startsAt: string | null };

export type WaitReason =
  | {
      /** The group that does not fit: how many of its tasks could start now, and nodes counted by what is missing. */
      readonly code: 'no-room';
      readonly group: string;
      readonly tasks: number;
      readonly tasksFit: number;
      readonly nodes: number;
      readonly lacks: readonly LackCount[];
    }
  | { readonly code: 'not-before'; readonly untilMs: number; readonly failures: number }
  | { readonly code: 'held'; readonly by: string }
  /** As many members of its array run as may. */
  | { readonly code: 'parallel'; readonly running: number; readonly parallel: number }
  /** Runs of others are stopped for it: how many, and how many of them have not ended yet. */
  | { readonly code: 'preempting'; readonly victims: number; readonly left: number }
  /** It would preempt, but this run ends soon by itself, and that is enough. */
  | { readonly code: 'near-end'; readonly job: JobId; readonly endMs: number | null }
  /** A ceiling of the project or of one above it does not allow it now. */
  | OverCeiling
  /** What is free is kept for a job ahead, which it would delay; without a start nobody may pass that job. */
  | { readonly code: 'reserved'; readonly startMs: number | null }
  /** Jobs ahead took what was free this cycle: starved ones, higher tiers, its own project's, or projects whose turn it is. */
  | {
      readonly code: 'behind';
      /** Waiting jobs that are starved or of higher tiers, and those before it in its own project. */
      readonly ahead: number;
    };

/** Use and ask together are above a ceiling; `user` when it is the ceiling of one user inside the project. */
export interface OverCeiling {
  readonly code: 'over-ceiling';
  readonly project: string;
  readonly user: string | null;
  readonly key: string;
  readonly ceiling: number;
  readonly use: number;
  readonly asks: number;
}

export type ImpossibleReason = NoHardware | OverCeiling;

export interface NoHardware {
  readonly code: 'no-node-fits' | 'gang-too-large' | 'no-nodes';
  readonly group: string;
  readonly tasks: number;
  /** Tasks the whole fleet could hold if it were empty. */
  readonly tasksFit: number;
  readonly nodes: number;
  readonly lacks: readonly LackCount[];
}

export interface LackCount {
  readonly lack: Lack;
  readonly nodes: number;
  /** What is left and what is needed, where a number says more than the words. */
  readonly note?: string;
}

const lackText: Readonly<Record<Lack, string>> = {
  constraint: 'do not match its constraints',
  'device-model': 'have no such device',
  'device-count': 'have too few such devices',
  'cpu-total': 'have too few cores',
  'memory-total': 'have too little memory',
  draining: 'are draining',
  quarantined: 'are quarantined',
  silent: 'are not responding',
  'devices-busy': 'have their devices in use',
  'cpu-busy': 'have their cores in use',
  'memory-busy': 'have their memory in use',
  exclusive: 'are shared or taken exclusively',
  'ports-busy': 'have no free rendezvous port',
  'resource-busy': 'are in a place with too little left',
  topology: 'are in a place too small for the whole',
};

const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;

/** ": of 5 nodes, 3 are draining; ..."; nothing when nothing was counted. */
function lacksText(nodes: number, lacks: readonly LackCount[]): string {
  if (lacks.length === 0) return '';
  const parts = lacks.map(
    ({ lack, nodes: n, note }) =>
      `${n} ${
        n === 1
          ? lackText[lack]
              .replace(/^have/, 'has')
              .replace(/^are/, 'is')
              .replace(/^do not/, 'does not')
              .replace(/\btheir\b/, 'its')
          : lackText[lack]
      }${note === undefined ? '' : ` (${note})`}`,
  );
  return `: of ${count(nodes, 'node')}, ${parts.join('; ')}`;
}

/** A backoff is minutes long, so the day goes without saying. */
function timeOfDay(ms: number): string {
  const seconds = Math.ceil(ms / 1000) % 86_400;
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

function waitText(reason: WaitReason): string {
  switch (reason.code) {
    case 'no-room':
      return `group ${reason.group} needs room for ${count(reason.tasks, 'task')} at once, there is room for ${reason.tasksFit} now${lacksText(reason.nodes, reason.lacks)}`;
    case 'not-before':
      return `retry ${reason.failures} waits for its backoff, until ${timeOfDay(reason.untilMs)} UTC`;
    case 'preempting':
      return `${count(reason.victims, 'run')} of others ${reason.victims === 1 ? 'is' : 'are'} stopped for it; it starts in their place once ${reason.left === 1 ? 'the last of them has' : `${reason.left} more have`} ended`;
    case 'near-end':
      return `preempts nobody, because the end of ${reason.job} is near and gives it room`;
    case 'parallel':
      return `${reason.running} of ${count(reason.parallel, 'member')} that may run at once run already`;
    case 'held':
      return `held by ${reason.by}`;
    case 'over-ceiling':
      return ceilingText(reason);
    case 'reserved':
      return reason.startMs === null
        ? 'a job ahead waits for room, and under the policy nobody passes it'
        : 'what is free, or what its ceilings leave, is kept for a job ahead, which would start later for it; a shorter time limit may let it start';
    case 'behind':
      return reason.ahead === 0
        ? 'it is the turn of other projects, by their shares'
        : `behind ${count(reason.ahead, 'job')} in the order`;
  }
}

function ceilingText({ project, user, key, ceiling, use, asks }: OverCeiling): string {
  const has = asks > ceiling ? 'may never have more than' : `has ${amountText(key, use)} in use and may have`;
  const who = user === null ? `project ${project}` : `user ${user} in project ${project}`;
  return `it asks for ${amountText(key, asks)}; ${who} ${has} ${amountText(key, ceiling)}`;
}

function impossibleText(reason: ImpossibleReason): string {
  switch (reason.code) {
    case 'over-ceiling':
      return ceilingText(reason);
    case 'no-nodes':
      return 'the fleet has no nodes yet';
    case 'no-node-fits':
      return `no node can ever hold a task of group ${reason.group}${lacksText(reason.nodes, reason.lacks)}`;
    case 'gang-too-large':
      return `group ${reason.group} wants ${count(reason.tasks, 'task')} at once; the whole fleet, empty, holds ${reason.tasksFit}`;
  }
}

/** One sentence for people, the same in CLI, API and web. */
export function verdictText(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'placed':
      return `placed on ${count(verdict.nodes.length, 'node')}`;
    case 'waits':
      return `waits: ${verdict.reasons.map(waitText).join('; ')}`;
    case 'impossible': {
      const near = verdict.nearest.length > 0 ? `. Nearest possible: ${verdict.nearest.join('; ')}` : '';
      return `impossible: ${verdict.reasons.map(impossibleText).join('; ')}${near}`;
    }
  }
}
