// The one total order of everything the engine chooses between. No decision rests on anything else. Why it is this one:
// docs/decisions/0007-one-order-of-policies.md.
//
// Jobs:   in line are jobs that wait, are due, whose shape fits the fleet as it stands when the walk begins and whose lane is
//         within its ceilings then. Of those, the walk takes (turns.ts):
//         1. starved ones: longest waiting, submit sequence, job id;
//         2. the highest tier rank;
//         3. down the project tree, of siblings the one that stays within its guarantee with the job it would send next, then
//            the lower weighted share (shares.ts), then the path; where the policy says so, in place of both the sum of
//            submit time and what the job stands back by, submit sequence, job id. A project's own jobs stand beside its children, under
//            its own path, with no guarantee and weight 1;
//         4. in a project: urgent jobs by latest start; then `submitted - priority x pointMs`, and with learned run times what it
//            stands back by (expected-run.ts); submit sequence; job id.
//         Members of one array: those that wait again by index, then those that never started by index.
//         When one does not fit or is over a ceiling, all of its lane (project, user, demand) leave the line at once; jobs of
//         the same shape in other lanes leave when their turn comes, so that a later job never passes an earlier one that
//         asks the same. Jobs of other shapes go on.
//         Jobs whose shape does not fit are in line too when the policy plans starts, but only to be given one
//         (reservations.ts). A job that finds only room that is kept for another leaves with its entry; from then on no
//         job of its shape that runs as long or longer is tried. Strict: after the first that waits for room, nobody is.
// Score:  what an hour of a task's work costs on a node, in micro-money: the price of its devices and of cores asked for, by the
//         speed of the alternative; preferences that are not met; trust that is missing. See price.ts. The cheapest nodes
//         are filled first, whatever else; everything below is among nodes of equal score. With the default policy all
//         nodes have the same, unless a job has preferences.
//         Fragmentation is a term for a group of one task that may go anywhere, while jobs of several kinds are known: by how
//         much the node's free devices without the cores that go with them become more or fewer, at the policy's price
//         of a device. How many cores go with a device is what the jobs that wait and run ask for together (mix.ts).
//         It is not counted when alternatives are compared.
// Nodes:  of those that hold the most of the tasks still to place, the one where they open the fewest untouched devices (parts
//         of devices go to devices that are in use already), then the one with the least left over afterwards: untouched
//         devices (of all kinds), thousandths of devices, cores, memory; then the lowest node id. See fit.ts.
// Groups: inside one gang, by devices a task (more first), then as written, but after the groups they must be near to; one
//         that finds no place is moved to the front with those and all are tried again. Ranks follow the written order.
// Domains: the room of a domain is how many tasks of a group its nodes hold, no more than its countable resources allow (by the
//         least a task needs of them anywhere). Among domains that hold all, least room first, then the path of names; a
//         gang that needs several takes, again and again, the one with least room that holds all that is left, else the
//         one with most room. The job's own topology counts the group that chooses first, in domains with room for each of the
//         groups; `preferred` goes from its level up, level by level, to the whole fleet, and where tasks may take another
//         amount of a resource than they are counted for, at last there as if nothing were preferred. Where groups that must be near each
//         other find no place so, they are tried together in one domain of that level after the other, the same way, and of
//         several levels the widest first. At most 64 domains of a level are tried, and the
//         one with most room.
//         Spread: one task after the other to the domain with the fewest tasks, then least room left, then the path; so
//         two domains differ by more than one only where the one with fewer has no room. A group's own topology stands
//         in place of the job's spread, and inside the job's domain otherwise. Domains are filled by path.
//         The first task of all goes only where a node with room has a free port: of several domains, and when it is spread,
//         one that has such a node is chosen, as above, and filled first.
// Alternatives: of those that fit now, and stay within every ceiling where they do, the choice of one alternative a group whose
//         tasks cost least together; of equal ones the first as written, where earlier groups keep their preference longest. See shape.ts.
// Devices and ports: devices.ts (under conservative backfill the lowest ones with room), and the lowest free port.
// Texts compare by code units.
import type { JobTable } from './jobs.ts';

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The last word between two jobs. */
export function compareSequence(jobs: JobTable, a: number, b: number): number {
  return (
    jobs.submitted[a]! - jobs.submitted[b]! ||
    (a === b ? 0 : jobs.index[a]! - jobs.index[b]! || compareText(jobs.ids[a]!, jobs.ids[b]!))
  );
}

/** First come, first served: the order of jobs that differ in nothing else. */
export function compareSubmitted(jobs: JobTable, a: number, b: number): number {
  return jobs.submittedMs[a]! - jobs.submittedMs[b]! || compareSequence(jobs, a, b);
}

/** First come, first served in line, where a job that did more than was expected of it came later. */
export function compareTurns(jobs: JobTable, a: number, b: number): number {
  return jobs.turnMs[a]! - jobs.turnMs[b]! || compareSequence(jobs, a, b);
}

/** Among starved jobs. */
export function compareWaiting(jobs: JobTable, a: number, b: number): number {
  return jobs.sinceMs[a]! - jobs.sinceMs[b]! || compareSequence(jobs, a, b);
}

/** Where an entry's jobs stand in their project. */
export interface Standing {
  readonly urgent: boolean;
  readonly latestStartMs: number;
  /** What its priority is worth, less what it stands back by for the time it is expected to run. */
  readonly aheadMs: number;
}

/** Between projects of a tier rank, where what is expected comes before shares. */
export function compareExpected(
  jobs: JobTable,
  a: number,
  behindMs: number,
  b: number,
  otherMs: number,
): number {
  return jobs.turnMs[a]! + behindMs - (jobs.turnMs[b]! + otherMs) || compareSequence(jobs, a, b);
}

/** Inside a project and a tier rank. */
export function compareStanding(jobs: JobTable, a: number, of: Standing, b: number, other: Standing): number {
  if (of.urgent !== other.urgent) return of.urgent ? -1 : 1;
  if (of.urgent && of.latestStartMs !== other.latestStartMs) return of.latestStartMs - other.latestStartMs;
  return jobs.turnMs[a]! - of.aheadMs - (jobs.turnMs[b]! - other.aheadMs) || compareSequence(jobs, a, b);
}
