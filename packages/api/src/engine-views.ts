// From what the engine answers to the JSON of the API: moments are milliseconds there and RFC 3339 here, durations are
// milliseconds in both.
import type {
  AheadJob,
  AheadJobView,
  Explanation,
  ExplanationView,
  HelpfulEnd,
  HelpfulEndView,
  OrderRule,
  OrderRuleView,
  ReplayReport,
  ReplayView,
  Verdict,
  VerdictView,
  WaitReason,
  WaitReasonView,
} from '@muster/model';
import { time, timeOrNull } from './time-text.ts';

export function verdictView(verdict: Verdict): VerdictView {
  if (verdict.kind !== 'waits') return verdict;
  const reasons = verdict.reasons.map(waitReasonView);
  if (!verdict.planned) return { kind: 'waits', reasons };
  const { startMs, ...planned } = verdict.planned;
  return { kind: 'waits', reasons, planned: { startsAt: time(startMs), ...planned } };
}

function waitReasonView(reason: WaitReason): WaitReasonView {
  switch (reason.code) {
    case 'not-before':
      return { code: reason.code, until: time(reason.untilMs), failures: reason.failures };
    case 'near-end':
      return { code: reason.code, job: reason.job, endsAt: timeOrNull(reason.endMs) };
    case 'reserved':
      return { code: reason.code, startsAt: timeOrNull(reason.startMs) };
    default:
      return reason;
  }
}

export function explanationView({ verdict: _, ahead, ends, ...rest }: Explanation): ExplanationView {
  return {
    ahead: ahead && { count: ahead.count, jobs: ahead.jobs.map(aheadView) },
    ...rest,
    ends: { count: ends.count, runs: ends.runs.map(endView) },
  };
}

function aheadView({ job, project, because }: AheadJob): AheadJobView {
  return { job, project, because: orderRuleView(because) };
}

function orderRuleView(because: OrderRule): OrderRuleView {
  switch (because.rule) {
    case 'starved':
      return { rule: because.rule, since: time(because.sinceMs) };
    case 'deadline':
      return { rule: because.rule, latestStart: time(because.latestStartMs) };
    case 'submitted':
      return { rule: because.rule, submittedAt: time(because.submittedMs) };
    default:
      return because;
  }
}

function endView({ endMs, ...end }: HelpfulEnd): HelpfulEndView {
  return { ...end, endsAt: timeOrNull(endMs) };
}

export function replayView({ divergence, ...report }: ReplayReport): ReplayView {
  if (!divergence) return { ...report, divergence };
  const { nowMs, ...rest } = divergence;
  return { ...report, divergence: { ...rest, at: time(nowMs) } };
}
