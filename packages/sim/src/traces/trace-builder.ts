// What an importer writes into: takes jobs row by row, in any order, and keeps count of what was excluded and what was
// bad, so that nothing is silently dropped.
import type { BadRow, Excluded, ReadReport, Trace } from './trace.ts';

export interface TraceRow {
  readonly submitMs: number;
  readonly runMs: number;
  readonly askedMs: number;
  readonly size: number;
  readonly milli: number;
  readonly user: string;
  readonly project: string;
  readonly program: string;
}

/** What a row says: a job, nothing that could be replayed and why, or nothing that can be understood and why. */
export type ToldRow = TraceRow | { readonly excluded: string } | { readonly bad: string };

/** More than these are counted, but not told one by one. */
const badKept = 20;
const weekMs = 7 * 24 * 3_600_000;
/** Sums of waits over a million jobs must stay exact, so times of more than a century are not times. */
const timeLimitMs = 5200 * weekMs;
const sizeLimit = 10_000_000;

export class TraceBuilder {
  readonly #rows: TraceRow[] = [];
  readonly #lines: number[] = [];
  readonly #bad: BadRow[] = [];
  readonly #excluded = new Map<string, { count: number; firstLine: number }>();
  readonly #notes: string[] = [];
  #badCount = 0;
  #rowCount = 0;
  /** What the file says of the machine it is from. */
  machineDevices: number | null = null;
  /** Wall time of moment zero of the file's clock. */
  clockOriginMs: number | null = null;

  take(line: number, told: ToldRow): void {
    this.#rowCount++;
    if ('excluded' in told) this.#exclude(line, told.excluded);
    else {
      const why = 'bad' in told ? told.bad : broken(told);
      if (why !== null) this.#refuse(line, why);
      else {
        this.#rows.push(told as TraceRow);
        this.#lines.push(line);
      }
    }
  }

  #refuse(line: number, why: string): void {
    this.#badCount++;
    if (this.#bad.length < badKept) this.#bad.push({ line, why });
  }

  #exclude(line: number, reason: string): void {
    const known = this.#excluded.get(reason);
    if (known) known.count++;
    else this.#excluded.set(reason, { count: 1, firstLine: line });
  }

  note(sentence: string): void {
    if (!this.#notes.includes(sentence)) this.#notes.push(sentence);
  }

  report(file: string): ReadReport {
    const excluded: Excluded[] = [...this.#excluded].map(([reason, told]) => ({ reason, ...told }));
    return {
      file,
      rows: this.#rowCount,
      jobs: this.#rows.length,
      excluded,
      badCount: this.#badCount,
      bad: this.#bad,
      notes: this.#notes,
    };
  }

  build(name: string, format: string, savesWork = true): Trace {
    const rows = this.#rows;
    // Of two that came at once the one that stands first in the file came first.
    const order = Int32Array.from(rows.keys()).sort((a, b) => rows[a]!.submitMs - rows[b]!.submitMs || a - b);
    const firstMs = order.length === 0 ? 0 : rows[order[0]!]!.submitMs;
    const times = (of: (row: TraceRow) => number) => Float64Array.from(order, (i) => of(rows[i]!));
    const counts = (of: (row: TraceRow) => number) => Int32Array.from(order, (i) => of(rows[i]!));
    const [users, projects, programs] = [new Numbering(), new Numbering(), new Numbering()];
    return {
      name,
      format,
      count: rows.length,
      submitMs: times((row) => row.submitMs - firstMs),
      runMs: times((row) => row.runMs),
      askedMs: times((row) => row.askedMs),
      size: counts((row) => row.size),
      milli: counts((row) => row.milli),
      user: counts((row) => users.of(row.user)),
      project: counts((row) => projects.of(row.project)),
      program: counts((row) => programs.of(row.program)),
      line: Int32Array.from(order, (i) => this.#lines[i]!),
      names: { users: users.names, projects: projects.names, programs: programs.names },
      originMs: this.clockOriginMs === null ? null : this.clockOriginMs + firstMs,
      savesWork,
      machineDevices: this.machineDevices,
    };
  }
}

function broken(row: TraceRow): string | null {
  if (!isTime(row.submitMs)) return `its submit time is ${row.submitMs} ms, not a time`;
  if (!isTime(row.runMs) || row.runMs === 0) return `its run time is ${row.runMs} ms, not a time above zero`;
  if (!isTime(row.askedMs)) return `its asked time is ${row.askedMs} ms, not a time`;
  if (!Number.isInteger(row.size) || row.size < 1 || row.size > sizeLimit)
    return `it asks for ${row.size} devices, not a whole number from 1 to ${sizeLimit}`;
  return null;
}

function isTime(ms: number): boolean {
  return Number.isInteger(ms) && ms >= 0 && ms <= timeLimitMs;
}

class Numbering {
  readonly names: string[] = [];
  readonly #numbers = new Map<string, number>();

  of(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.names.length);
    return this.names.push(name) - 1;
  }
}
