// Arrays for the naive engine: every member that never started is a job of its own, with a row like any other.
import { type EngineRows, freshPast, type JobId, memberId, parseMemberId } from '@muster/model';

type JobRow = EngineRows['jobs'][number];

/** A member that never started: the store knows it as an index only, so it stands at its array's version. */
const fresh = new WeakSet<JobRow>();

export function isFresh(row: JobRow): boolean {
  return fresh.has(row);
}

/** The rows with one for each member; those of an array that is held are held. */
export function withMembers(rows: EngineRows): EngineRows {
  const members = rows.arrays.flatMap(({ array: _, state, ...facts }) => {
    const sinceMs = 'sinceMs' in state ? state.sinceMs : 0;
    const waiting = { attempt: 1, sinceMs, notBeforeMs: 0, ...freshPast };
    return state.waiting.flatMap(([first, last]) =>
      Array.from({ length: last - first + 1 }, (_, i): JobRow => {
        const job = memberId(facts.job, first + i);
        const row: JobRow = { ...facts, job, state: { state: 'queued', claim: null, ...waiting } };
        fresh.add(row);
        return row;
      }),
    );
  });
  return {
    ...rows,
    jobs: [...rows.jobs.map((row) => waitsAnew(rows, row)), ...members].map((row) => heldWith(rows, row)),
  };
}

function arrayOf(rows: EngineRows, job: JobId) {
  const member = parseMemberId(job);
  return member && rows.arrays.find((row) => row.job === member.array)!;
}

/** Whoever waits while its array is released waits from then on. */
function waitsAnew(rows: EngineRows, row: JobRow): JobRow {
  const array = arrayOf(rows, row.job);
  if (!array || row.state.state !== 'queued' || !('sinceMs' in array.state)) return row;
  return { ...row, state: { ...row.state, sinceMs: Math.max(row.state.sinceMs, array.state.sinceMs) } };
}

function heldWith(rows: EngineRows, row: JobRow): JobRow {
  const array = arrayOf(rows, row.job);
  if (array?.state.state !== 'held' || row.state.state !== 'queued') return row;
  const { claim: _, ...waiting } = row.state;
  return { ...row, state: { ...waiting, state: 'held', by: array.state.by } };
}

/** Whether as many members of the job's array are placed, or have a claim, as may be at once. `world` has what was decided so far. */
export function isFull(world: EngineRows, row: JobRow): boolean {
  const array = arrayOf(world, row.job);
  const parallel = array?.array.parallel ?? null;
  if (!array || parallel === null) return false;
  const own = (job: JobId): boolean => parseMemberId(job)?.array === array.job;
  const placed = world.runs.filter(({ job }) => own(job)).length;
  const claimed = world.jobs.filter(
    ({ job, state }) => own(job) && state.state === 'queued' && state.claim !== null,
  ).length;
  return placed + claimed >= parallel;
}
