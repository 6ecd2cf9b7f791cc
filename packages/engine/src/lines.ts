// Lines: all waiting jobs of a project and a tier rank in their order, to count who is ahead of whom. Starved jobs stand in none.
import type { Project } from './projects.ts';
import { SortedInts } from './sorted-ints.ts';

export interface Line {
  readonly project: Project;
  readonly rank: number;
  readonly jobs: SortedInts;
}

export class Lines {
  readonly #compare: (a: number, b: number) => number;
  readonly #byProject = new Map<Project, Line[]>();
  /** Jobs in line by tier rank. */
  readonly #counts = new Map<number, number>();

  constructor(compare: (a: number, b: number) => number) {
    this.#compare = compare;
  }

  of(project: Project, rank: number): Line {
    const known = this.#byProject.get(project)?.find((line) => line.rank === rank);
    if (known) return known;
    const line = { project, rank, jobs: new SortedInts(this.#compare) };
    this.#add(line);
    return line;
  }

  join({ rank, jobs }: Line, job: number): void {
    jobs.insert(job);
    this.#counts.set(rank, (this.#counts.get(rank) ?? 0) + 1);
  }

  leave({ rank, jobs }: Line, job: number): void {
    jobs.remove(job);
    this.#counts.set(rank, this.#counts.get(rank)! - 1);
  }

  /** Lines of a tier rank in which jobs wait; in no order that a decision may rest on. */
  *at(rank: number): IterableIterator<Line> {
    for (const lines of this.#byProject.values())
      for (const line of lines) if (line.rank === rank && line.jobs.size > 0) yield line;
  }

  /** Tier ranks in which jobs wait, highest first. */
  ranks(): number[] {
    const ranks = [...this.#counts].flatMap(([rank, count]) => (count > 0 ? [rank] : []));
    return ranks.sort((a, b) => b - a);
  }

  /** Jobs in line of a tier rank. */
  waitingAt(rank: number): number {
    return this.#counts.get(rank) ?? 0;
  }

  /** Takes up the lines of another queue's jobs, for copies of its projects; tells which line became which. */
  copyFrom(from: Lines, twinOf: (project: Project) => Project): ReadonlyMap<Line, Line> {
    const twins = new Map<Line, Line>();
    for (const own of from.#byProject.values())
      for (const line of own) {
        const jobs = line.jobs.copy(this.#compare);
        const twin = { project: twinOf(line.project), rank: line.rank, jobs };
        twins.set(line, twin);
        this.#add(twin);
      }
    for (const [rank, count] of from.#counts) this.#counts.set(rank, count);
    return twins;
  }

  #add(line: Line): void {
    const lines = this.#byProject.get(line.project);
    if (lines) lines.push(line);
    else this.#byProject.set(line.project, [line]);
  }
}
