// Quota, shares and order for the naive engine: every number is summed up anew from rows whenever it is asked for, as
// docs/decisions/0007-one-order-of-policies.md says it in words.

import {
  capacityOf,
  type EngineRows,
  leastUses,
  type Policy,
  parseMemberId,
  pastAt,
  projectCovers,
  type Quota,
  resolveAmount,
  type Uses,
} from '@muster/model';
import { isFresh } from './reference-arrays.ts';

export type JobRow = EngineRows['jobs'][number];

interface Using {
  readonly project: string;
  readonly user: string;
  readonly uses: Uses;
}

export class ReferenceTenancy {
  readonly #rows: EngineRows;
  readonly #policy: Policy;
  readonly #nowMs: number;
  readonly #using: Using[];

  constructor(rows: EngineRows, nowMs: number) {
    this.#rows = rows;
    this.#policy = rows.policy;
    this.#nowMs = nowMs;
    this.#using = rows.runs.map(({ job, uses }) => {
      const { project, user } = rows.jobs.find((row) => row.job === job)!;
      return { project, user, uses };
    });
    for (const row of rows.jobs)
      if (row.state.state === 'queued' && row.state.claim) this.start(row, row.state.claim.uses);
  }

  start(row: JobRow, uses: Uses): void {
    this.#using.push({ project: row.project, user: row.user, uses });
  }

  /** The job that is next among these. */
  next(jobs: readonly JobRow[]): JobRow {
    const starved = jobs.filter((row) => this.isStarved(row));
    if (starved.length > 0) return starved.sort((a, b) => since(a) - since(b) || bySubmission(a, b))[0]!;
    const rank = Math.max(...jobs.map((row) => this.#rank(row)));
    return this.#nextBelow(
      '',
      jobs.filter((row) => this.#rank(row) === rank),
    );
  }

  isStarved(row: JobRow): boolean {
    const after = this.#tier(row)?.starvesAfterMs ?? null;
    return after !== null && since(row) + after <= this.#nowMs;
  }

  /** Whether use and ask together are above a ceiling anywhere. */
  isOver(row: JobRow, uses: Uses): boolean {
    return this.isUserOver(row, uses) || this.over(row, uses).length > 0;
  }

  isUserOver(row: JobRow, uses: Uses): boolean {
    return this.#paths(row.project).some((path) =>
      Object.entries(uses).some(([key, amount]) => {
        const own = this.#amount(this.#quota(path)?.userCeiling, key);
        return own !== null && this.use(path, key, row.user) + amount > own;
      }),
    );
  }

  /** Ceilings of projects that are in the way, from the job's own upwards. */
  over(row: JobRow, uses: Uses): { readonly path: string; readonly key: string }[] {
    return this.#paths(row.project)
      .toReversed()
      .flatMap((path) =>
        Object.entries(uses).flatMap(([key, amount]) => {
          const ceiling = this.#amount(this.#quota(path)?.ceiling, key);
          return ceiling !== null && this.use(path, key) + amount > ceiling ? [{ path, key }] : [];
        }),
      );
  }

  use(path: string, key: string, user?: string): number {
    return this.#using
      .filter((each) => covers(path, each.project) && (user === undefined || each.user === user))
      .reduce((sum, each) => sum + (each.uses[key] ?? 0), 0);
  }

  /** Down the tree: the best of the children and of the project's own jobs, by what each would send next. */
  #nextBelow(path: string, jobs: readonly JobRow[]): JobRow {
    const sides: { path: string; own: boolean; next: JobRow }[] = [];
    for (const [child, rows] of Map.groupBy(jobs, (row) => childToward(path, row.project))) {
      if (child === path) sides.push({ path, own: true, next: this.#nextInProject(rows) });
      else sides.push({ path: child, own: false, next: this.#nextBelow(child, rows) });
    }
    const { use, first } = this.#policy.runTimes;
    const back = (row: JobRow) => row.submittedMs + this.#behind(row);
    sides.sort(
      (a, b) =>
        Number(this.#within(b)) - Number(this.#within(a)) ||
        (use === 'learned' && first === 'expected'
          ? back(a.next) - back(b.next) || bySubmission(a.next, b.next)
          : this.#share(a.path, a.own) - this.#share(b.path, b.own) || (a.path < b.path ? -1 : 1)),
    );
    return sides[0]!.next;
  }

  #nextInProject(rows: readonly JobRow[]): JobRow {
    const { ageing } = this.#policy;
    return rows.toSorted((a, b) => {
      const [one, two] = [this.#latestStart(a), this.#latestStart(b)];
      const [urgent, other] = [one <= this.#nowMs, two <= this.#nowMs];
      if (urgent !== other) return urgent ? -1 : 1;
      const aged = (row: JobRow) => row.submittedMs - row.priority * ageing.pointMs + this.#behind(row);
      return (urgent && one !== two ? one - two : 0) || aged(a) - aged(b) || bySubmission(a, b);
    })[0]!;
  }

  /** Ten times what is expected of it, and twice that and so on once it has done so much; at most two days where nobody is stopped. */
  #behind(row: JobRow): number {
    const { use, stop } = this.#policy.runTimes;
    if (use === 'asked' || (stop === 'nobody' && !row.estimate)) return 0;
    const most = stop === 'longer' ? Number.MAX_SAFE_INTEGER : 2 * 86_400_000;
    return Math.min(most, 10 * referenceLength(this.#rows, row, row.state.savedMs));
  }

  #latestStart(row: JobRow): number {
    if (row.deadlineMs === null) return Number.MAX_SAFE_INTEGER;
    const length = row.durationMs ?? this.#tier(row)?.durationMs ?? 86_400_000;
    return row.deadlineMs - length - this.#policy.deadline.marginMs;
  }

  #within({ path, own, next }: { path: string; own: boolean; next: JobRow }): boolean {
    if (own) return false;
    const asked = Object.entries(leastUses(next.demand)).flatMap(([key, amount]) => {
      const guaranteed = this.guaranteed(path, key);
      return guaranteed === null ? [] : [this.use(path, key) + amount <= guaranteed];
    });
    return asked.length > 0 && asked.every(Boolean);
  }

  /** Scaled down, level by level, to what the parent has. */
  guaranteed(path: string, key: string): number | null {
    const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
    const own = this.#wanted(path, key);
    if (own === null) return null;
    const limit = parent === '' ? this.#healthy(key) : (this.guaranteed(parent, key) ?? 0);
    const sum = this.#children(parent).reduce((total, child) => total + (this.#wanted(child, key) ?? 0), 0);
    return sum > limit ? Number((BigInt(own) * BigInt(limit)) / BigInt(sum)) : own;
  }

  #wanted(path: string, key: string): number | null {
    const quota = this.#quota(path);
    const ceiling = this.#amount(quota?.ceiling, key) ?? Number.MAX_SAFE_INTEGER;
    const written = this.#amount(quota?.guaranteed, key);
    if (written !== null) return Math.min(written, ceiling);
    const below = this.#children(path).flatMap((child) => this.#wanted(child, key) ?? []);
    return below.length === 0
      ? null
      : Math.min(
          ceiling,
          below.reduce((sum, each) => sum + each, 0),
        );
  }

  #share(path: string, own: boolean): number {
    const of = (each: { readonly project: string }) =>
      own ? each.project === path : covers(path, each.project);
    const kinds = new Set(this.#rows.nodes.flatMap((node) => Object.keys(capacityOf(node.inventory))));
    let dominant = 0;
    for (const key of kinds) {
      const healthy = this.#healthy(key);
      if (key.includes('/') || healthy === 0) continue;
      const use = this.#using.filter(of).reduce((sum, each) => sum + (each.uses[key] ?? 0), 0);
      const past = this.#rows.usage.filter(of).reduce((sum, each) => sum + this.#past(each, key), 0);
      dominant = Math.max(dominant, Math.floor(((use + past) * 1_000_000) / healthy));
    }
    return own ? dominant : Math.floor((dominant * 1000) / (this.#quota(path)?.weightMilli ?? 1000));
  }

  #past({ keys }: EngineRows['usage'][number], key: string): number {
    const past = keys[key];
    return past ? pastAt(past, past.use, this.#nowMs, this.#policy.share.halfLifeMs) : 0;
  }

  #healthy(key: string): number {
    return this.#rows.nodes
      .filter(({ state, drain }) => state === 'ready' && drain === null)
      .reduce((sum, node) => sum + (capacityOf(node.inventory)[key] ?? 0), 0);
  }

  #amount(amounts: Quota['ceiling'] | undefined, key: string): number | null {
    const amount = amounts?.[key];
    return amount === undefined ? null : resolveAmount(amount, this.#healthy(key));
  }

  #quota(path: string): Quota | undefined {
    return this.#policy.quotas.find((quota) => quota.project === path);
  }

  #tier(row: JobRow) {
    return this.#policy.tiers.find((tier) => tier.name === row.tier);
  }

  #rank(row: JobRow): number {
    return this.#tier(row)?.rank ?? Number.MIN_SAFE_INTEGER;
  }

  #paths(project: string): string[] {
    const parts = project.split('/');
    return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
  }

  #children(path: string): string[] {
    const all = this.#policy.quotas.map((quota) => quota.project);
    const below = all.filter((each) => each !== path && covers(path, each));
    return [...new Set(below.map((each) => childToward(path, each)))];
  }
}

/** How long a job is expected to be that has done so much: what was said or it may be, or twice as long, four times, ... */
export function referenceLength({ policy }: EngineRows, row: JobRow, doneMs: number): number {
  const { estimate, durationMs, tier } = row;
  const atMost = durationMs ?? policy.tiers.find(({ name }) => name === tier)?.durationMs ?? 86_400_000;
  const lengths = Array.from({ length: 50 }, (_, i) => Math.max(1, estimate?.expectedMs ?? atMost) * 2 ** i);
  return lengths.find((ms) => ms > doneMs)!;
}

/** The last word: submit sequence; of one array, those that wait again before those that never started, each by index. */
function bySubmission(a: JobRow, b: JobRow): number {
  const index = (row: JobRow): number => parseMemberId(row.job)?.index ?? 0;
  const first = (row: JobRow): number => Number(row.submittedSequence) + (isFresh(row) ? 0.5 : 0);
  return first(a) - first(b) || index(a) - index(b);
}

function since(row: JobRow): number {
  return 'sinceMs' in row.state ? row.state.sinceMs : 0;
}

function covers(path: string, project: string): boolean {
  return path === '' || projectCovers(path, project);
}

/** The child of `path` that the project is in or below; `path` itself for its own. */
function childToward(path: string, project: string): string {
  if (project === path) return path;
  const rest = path === '' ? project : project.slice(path.length + 1);
  const name = rest.split('/')[0]!;
  return path === '' ? name : `${path}/${name}`;
}
