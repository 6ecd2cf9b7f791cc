// Constraints that no node of any fleet could meet together, such as two clusters pinned. A lack of hardware is another
// matter: that job is accepted and waits for a fleet that has it.
import type { Constraint } from './demand.ts';

/** Indexes of rules about one label that exclude each other: two where two are enough to show it; null when there are none. */
export function contradiction(rules: readonly Constraint[]): readonly number[] | null {
  if (rules.length < 2) return null;
  const byLabel = Map.groupBy(rules.keys(), (i) => rules[i]?.label);
  for (const about of byLabel.values()) {
    const found = clashing(rules, about);
    if (found !== null) return found;
  }
  return null;
}

function clashing(rules: readonly Constraint[], about: readonly number[]): readonly number[] | null {
  const excluded = (indexes: readonly number[]): boolean => !possible(indexes.flatMap((i) => rules[i] ?? []));
  for (const [n, first] of about.entries())
    for (const second of about.slice(n + 1)) if (excluded([first, second])) return [first, second];
  return excluded(about) ? about : null;
}

/** Whether a label could have a value, or be missing, so that all rules hold. */
function possible(rules: readonly Constraint[]): boolean {
  const absent = rules.every(({ op }) => op === 'absent' || op === 'not-in');
  if (absent) return true;
  if (rules.some(({ op }) => op === 'absent')) return false;
  const named = rules.filter(({ op }) => op === 'in');
  // Without a list to choose from there is always a value that nobody forbids.
  if (named.length === 0) return true;
  const forbidden = rules.filter(({ op }) => op === 'not-in');
  return (named[0]?.values ?? []).some(
    (value) =>
      named.every(({ values }) => values.includes(value)) &&
      !forbidden.some(({ values }) => values.includes(value)),
  );
}
