// A verdict with the text that tells whether it is still the same one: kind, code, group and the set of lacks. Counts are
// not part of it, so that a verdict is told again only when its reason changed and not when a number did.
import type { Verdict } from '@muster/model';

export interface Reason {
  readonly binding: string;
  readonly verdict: Verdict;
}

export function reasonOf(verdict: Verdict): Reason {
  return { binding: bindingOf(verdict), verdict };
}

function bindingOf(verdict: Verdict): string {
  if (verdict.kind === 'placed') return 'placed';
  const parts = verdict.reasons.map((reason) => {
    if (reason.code === 'over-ceiling')
      return `${reason.code}(${reason.project}|${reason.key}|${reason.user ?? ''})`;
    const group = 'group' in reason ? reason.group : '';
    const lacks = 'lacks' in reason ? reason.lacks.map(({ lack }) => lack).join(',') : '';
    return `${reason.code}(${group})[${lacks}]`;
  });
  return `${verdict.kind}:${parts.join(';')}`;
}
