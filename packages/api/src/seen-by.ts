// What a caller sees of an explanation, which may name jobs of others.
import type { Explanation, ExplanationView } from '@muster/model';
import { type Caller, sees } from './auth.ts';
import { explanationView } from './engine-views.ts';

/** Jobs that the caller may not see stay in the counts only. */
export function seenBy(caller: Caller, explanation: Explanation): ExplanationView {
  const isSeen = ({ project }: { readonly project: string }): boolean => sees(caller, project);
  const { ahead, ends, ...rest } = explanationView(explanation);
  return {
    ...rest,
    ahead: ahead && { ...ahead, jobs: ahead.jobs.filter(isSeen) },
    ends: { ...ends, runs: ends.runs.filter(isSeen) },
  };
}
