// The one total order of everything the engine chooses between. No decision rests on anything else.
//
// Jobs:   tier rank (higher first), priority (higher first), submit sequence, job id.
//         Jobs of equal project, tier, priority and demand share an entry; an entry stands where its first job stands.
//         Once one job of a shape does not fit, all jobs of that shape wait for the rest of the cycle, so that a later job
//         never passes an earlier one that asks the same. Jobs of other shapes go on (there is no reservation yet).
// Score:  what an hour of a task's work costs on a node, in micro-money: the price of its devices and of cores asked for, by the
//         speed of the alternative; preferences that are not met; trust that is missing. See price.ts. The cheapest nodes
//         are filled first, whatever else; everything below is among nodes of equal score. With the default policy all
//         nodes have the same, unless a job has preferences.
// Nodes:  of those that hold the most of the tasks still to place, the one where they open the fewest untouched devices (parts
//         of devices go to devices that are in use already), then the one with the least left over afterwards: untouched
//         devices (of all kinds), thousandths of devices, cores, memory; then the lowest node id. See fit.ts.
// Groups: inside one gang, by devices a task (more first), then as written, but after the groups they must be near to; one
//         that finds no place is moved to the front with those and all are tried again. Ranks follow the written order.
// Domains: the room of a domain is how many tasks of a group its nodes hold, no more than its countable resources allow (by the
//         least a task needs of them anywhere). Among domains that hold all, least room first, then the path of names; a
//         gang that needs several takes, again and again, the one with least room that holds all that is left, else the
//         one with most room. The job's own topology counts the group that chooses first; `preferred` goes from its level
//         up, level by level, to the whole fleet. At most 64 domains of a level are tried.
//         Spread: one task after the other to the domain with the fewest tasks, then least room left, then the path; so
//         two domains differ by more than one only where the one with fewer has no room. A group's own topology stands
//         in place of the job's spread, and inside the job's domain otherwise. Domains are filled by path.
// Alternatives: of those that fit now, the choice of one alternative a group whose tasks cost least together; of equal ones the
//         first as written, where earlier groups keep their preference longest. See shape.ts.
// Devices and ports: devices.ts, and the lowest free port.
// Texts compare by code units.
import type { JobTable } from './jobs.ts';

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** First in, first out; the order of jobs that differ in nothing else. */
export function compareSubmitted(jobs: JobTable, a: number, b: number): number {
  return jobs.submitted[a]! - jobs.submitted[b]! || (a === b ? 0 : compareText(jobs.ids[a]!, jobs.ids[b]!));
}

/** Where a tier and a priority stand; jobs of equal standing are served first come, first served. */
export interface Standing {
  readonly rank: number;
  readonly priority: number;
}

export function compareStanding(a: Standing, b: Standing): number {
  return b.rank - a.rank || b.priority - a.priority;
}
