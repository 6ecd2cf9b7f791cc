// Who holds what, who lent it, and to whom. Loans are attributed level by level among siblings: what nobody there is
// guaranteed goes first, then the unused guarantees, largest first, then by path; borrowers are served by path. A different
// attribution would be as true, so it is fixed here and nothing is decided by it.
import type { Ledger, LedgerLine, LedgerProject, Loan, UserLine } from '@muster/model';
import { bringUp } from './bring-up.ts';
import { compareText } from './order.ts';
import { none } from './project-amounts.ts';
import type { Project, Projects } from './projects.ts';
import { shareOf } from './shares.ts';
import { runUses, type State } from './state.ts';

export function ledger(state: State, nowMs: number): Ledger {
  bringUp(state, nowMs);
  const { projects } = state;
  const shown = projects.all
    .filter((each) => each !== projects.root)
    .sort((a, b) => compareText(a.path, b.path));
  const loans = allLoans(projects);
  const lent = new Map<string, number>();
  for (const { from, key, amount } of loans)
    if (from !== null) lent.set(`${key}|${from}`, (lent.get(`${key}|${from}`) ?? 0) + amount);
  const keys = keysByText(projects);
  const waiting = state.queue.waitingBelow();
  return {
    sequence: state.sequence,
    nowMs: state.clockMs,
    policyVersion: state.policyVersion,
    healthy: Object.fromEntries(keys.map((key) => [projects.keys.texts[key]!, projects.healthy[key] ?? 0])),
    projects: shown.map((project) => projectLine(projects, project, waiting.get(project) ?? 0)),
    lines: shown.flatMap((project) => keys.flatMap((key) => keyLine(projects, project, key, lent))),
    loans,
    users: userLines(state),
  };
}

function keysByText({ keys }: Projects): number[] {
  return keys.texts.map((_, key) => key).sort((a, b) => compareText(keys.texts[a]!, keys.texts[b]!));
}

function projectLine(projects: Projects, project: Project, waiting: number): LedgerProject {
  const { path, weightMilli } = project;
  return { project: path, weightMilli, share: shareOf(projects, project.id, false), waiting };
}

function keyLine(
  { keys, healthy }: Projects,
  project: Project,
  key: number,
  lent: ReadonlyMap<string, number>,
): LedgerLine[] {
  const text = keys.texts[key]!;
  const { quota } = project;
  const written = project.written(text, healthy[key] ?? 0);
  const guaranteed = orNull(project.guaranteed(key));
  const ceiling = orNull(project.ceiling(key));
  const use = project.use(key);
  const past = keys.shared[key] ? project.past(key) : null;
  const said =
    quota !== null && [quota.guaranteed, quota.ceiling, quota.userCeiling].some((each) => text in each);
  if (!said && guaranteed === null && use === 0 && !past) return [];
  const borrowed = Math.max(0, use - (guaranteed ?? 0));
  return [
    {
      project: project.path,
      key: text,
      written: orNull(written),
      guaranteed,
      ceiling,
      use,
      borrowed,
      lent: lent.get(`${text}|${project.path}`) ?? 0,
      past,
    },
  ];
}

function orNull(amount: number): number | null {
  return amount === none ? null : amount;
}

function allLoans(projects: Projects): Loan[] {
  const loans: Loan[] = [];
  for (const key of keysByText(projects))
    for (const parent of projects.all.toSorted((a, b) => compareText(a.path, b.path)))
      loans.push(...loansBelow(parent, key, projects.keys.texts[key]!));
  return loans;
}

/** Among the children of one project; its own runs beside them have no guarantee, and borrow under its path. */
function loansBelow(parent: Project, key: number, text: string): Loan[] {
  const sides = parent.children.map((child) => ({
    path: child.path,
    guaranteed: Math.max(0, child.guaranteed(key)),
    use: child.use(key),
  }));
  if (sides.length === 0) return [];
  const own = parent.ownUse(key);
  if (own > 0) sides.push({ path: parent.path, guaranteed: 0, use: own });
  const has = Math.max(parent.guaranteed(key), parent.use(key));
  const free = Math.max(0, has - sides.reduce((sum, side) => sum + side.guaranteed, 0));
  const lenders = sides
    .map(({ path, guaranteed, use }) => ({ path: path as string | null, left: guaranteed - use }))
    .filter(({ left }) => left > 0)
    .sort((a, b) => b.left - a.left || compareText(a.path!, b.path!));
  lenders.unshift({ path: null, left: free });
  const loans: Loan[] = [];
  for (const { path, guaranteed, use } of sides.sort((a, b) => compareText(a.path, b.path))) {
    let wants = Math.max(0, use - guaranteed);
    for (const lender of lenders) {
      const amount = Math.min(wants, lender.left);
      if (amount === 0) continue;
      lender.left -= amount;
      wants -= amount;
      loans.push({ key: text, from: lender.path, to: path, amount });
    }
    // More than there is, while nodes are away.
    if (wants > 0) loans.push({ key: text, from: null, to: path, amount: wants });
  }
  return loans;
}

function userLines(state: State): UserLine[] {
  const { keys } = state.projects;
  const sums = new Map<string, { project: Project; user: string; key: number; use: number }>();
  for (const { project, user, ask } of runUses(state)) {
    for (let i = 0; i < ask.keys.length; i++) {
      const key = ask.keys[i]!;
      const name = `${project.id}|${key}|${user}`;
      const sum = sums.get(name) ?? { project, user, key, use: 0 };
      sum.use += ask.amounts[i]!;
      sums.set(name, sum);
    }
  }
  return [...sums.values()]
    .map(({ project, user, key, use }) => ({
      project: project.path,
      user,
      key: keys.texts[key]!,
      use,
      ceiling: orNull(project.userCeiling(key)),
    }))
    .sort(
      (a, b) => compareText(a.project, b.project) || compareText(a.user, b.user) || compareText(a.key, b.key),
    );
}
